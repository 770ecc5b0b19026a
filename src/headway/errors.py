"""The exception tree of Headway.

    HeadwayError
    ├── InputError            something a person wrote or passed in is wrong (exit code 2)
    │   ├── FileError         a file is missing, unreadable or not of the expected form
    │   ├── QueryError        a query does not hold together
    │   ├── ExpressionError   an SQL expression is wrong
    │   ├── VehicleError      a vehicle does not hold together
    │   ├── PlacementError    no placement respects the capacities
    │   ├── GraphError        a task graph or its network does not hold together
    │   ├── TaskSetError      a task set does not hold together, or its hard load does not fit
    │   ├── UnsupportedError  an engine was asked for what it declares it cannot do
    │   └── DataError         the tuples do not have the promised form
    ├── EnvironmentMissing    the machine lacks something that is needed (exit code 2)
    └── NodeFailed            a node's process cannot go on (exit code 1)

Every message says what is wrong, where, what was got and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Place:
    """A position in a file people write; line and column count from 1."""

    file: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.line, self.column) if part)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    ``at`` is the dotted path of the element (``operators.join1.on``); the layer that read the file
    turns it into a ``place``. ``offset`` is the character inside an expression.
    """

    what: str
    at: str = ""
    got: str = ""
    want: str = ""
    offset: int | None = None
    place: Place | None = None

    def __str__(self) -> str:
        where = ": ".join(str(part) for part in (self.place, self.at) if part)
        text = f"{where}: {self.what}" if where else self.what
        if self.got:
            text += f"; got {self.got}"
        if self.want:
            text += f"; {self.want}"
        return text

    def within(self, prefix: str) -> Problem:
        """The same problem, seen from one level further out."""
        return replace(self, at=f"{prefix}.{self.at}" if self.at else prefix)


class HeadwayError(Exception):
    """Base of all that Headway raises on purpose."""


class InputError(HeadwayError):
    """One or more problems in what a person gave us; one may be given as :class:`Problem` is."""

    def __init__(
        self,
        problems: Problem | str | Iterable[Problem],
        *,
        at: str = "",
        got: str = "",
        want: str = "",
        offset: int | None = None,
        place: Place | None = None,
    ) -> None:
        if isinstance(problems, str):
            problems = Problem(problems, at, got, want, offset, place)
        self.problems: tuple[Problem, ...] = (
            (problems,) if isinstance(problems, Problem) else tuple(problems)
        )
        super().__init__("\n".join(str(problem) for problem in self.problems))


class FileError(InputError):
    """A file is missing, unreadable or not of the expected form."""


class QueryError(InputError):
    """A query does not hold together."""


class ExpressionError(InputError):
    """An SQL expression cannot be parsed or does not fit its schemas."""


class VehicleError(InputError):
    """A vehicle does not hold together."""


class PlacementError(InputError):
    """No placement of the operators respects the vehicle's capacities."""


class GraphError(InputError):
    """A task graph, or the network it is to run on, does not hold together.

    The subclasses name the fault: see :mod:`headway.model.taskgraph` and
    :mod:`headway.model.static_network`."""


class TaskSetError(InputError):
    """A set of hard and soft tasks does not hold together, or its hard load does not fit."""


class UnsupportedError(InputError):
    """An engine was asked for something it declares it cannot do."""


class DataError(InputError):
    """Tuples do not have the form their stream promises."""


class EnvironmentMissing(HeadwayError):
    """The machine lacks something that is needed: a program, an optional package."""


class NodeFailed(HeadwayError):
    """A node's process cannot go on, through no fault of what it was given."""
