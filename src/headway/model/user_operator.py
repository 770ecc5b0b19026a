"""The class behind a user-defined operator: one implementation for the vehicle engine and for
Spark.

An engine creates an instance per vehicle, calls :meth:`UserOperator.open` once, then ``process``
for each execution. State lives in the instance and is handed out and taken back as plain
JSON-able data, so that an engine can keep it anywhere and no engine ever needs pickle."""

from __future__ import annotations

import importlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import QueryError
from headway.model.operators import Parameter
from headway.model.schema import Schema

Row = tuple[Any, ...]
"""A tuple of the stream: ``timestamp`` (microseconds since the epoch) first, then the schema's
fields."""

State = dict[str, Any]
"""JSON-able: None, booleans, numbers, strings, lists and dicts with string keys."""


ItemByItem = Generator[None, None, Iterable[Row]]
"""An execution in pieces: yields between two of them, returns the output rows."""


@dataclass(frozen=True, kw_only=True)
class OperatorContext:
    """What an operator is told about itself."""

    name: str
    inputs: Mapping[str, Schema]
    output: Schema
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    windows: Mapping[str, Any] = field(default_factory=dict)
    """a fusion operator's ``front`` and ``rear`` (nanoseconds), ``object_key`` and
    ``sensor_key``"""


class UserOperator(ABC):
    """Subclass this, name it in a query as ``package.module:Class``.

    ``process`` gets the tuples of this execution by port, each port's in arrival order: one tuple
    in all for an operator without a timeout; all that has come for one with a timeout. It returns
    the output rows. The engine gives every output row's timestamp the meaning of the model (the
    oldest of the inputs): a row may carry a timestamp of its own in position 0, or None to take
    the oldest input's. ``now`` is the engine's time in nanoseconds, never the wall clock."""

    def open(self, context: OperatorContext) -> None:
        """Called once, before the first tuple."""
        self.context = context

    @abstractmethod
    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        """One execution with the tuples that are there."""

    def on_timeout(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        """One execution whose timeout is over; some ports are empty."""
        return self.process(inputs, now)

    def in_items(
        self, inputs: Mapping[str, Sequence[Row]], now: int, *, timed_out: bool
    ) -> ItemByItem:
        """One execution item by item, for a query that says ``preempt: between_items``: a
        generator that yields wherever others may go first, and returns the output rows.

        Override it if an execution is long; without it an execution is one piece. It must give
        and keep what ``process`` (``on_timeout`` if ``timed_out``) does, so best let that run it
        to its end (:func:`run_to_end`); one that a subclass overrides is believed more, and
        then ``in_items`` is not used. Between two pieces only other operators run: this one is not
        called, not even for a more urgent tuple, before the execution has ended. Virtual time
        charges item by item but makes one call."""
        return no_items(self, inputs, now, timed_out)

    def refine(self, rows: Sequence[Row], now: int) -> Iterator[Sequence[Row]]:
        """The optional part of an execution (``optional:`` in the query; imprecise computation):
        yields the execution's output rows again and again, better each time. Each step is a piece
        that is not interrupted. The rows of the last step that was run go out; how many steps that
        is depends on what else there is to do and on the deadline, so it may be none."""
        return iter(())

    def take_refused(self) -> Sequence[tuple[str, str, Row]]:
        """Tuples it could not use, since the last call: (reason, port, row). The engine puts them
        on the side output; a reason of ``late`` counts them as late."""
        return ()

    def snapshot(self) -> State:
        """The state as plain data; an operator without state has none."""
        return {}

    def restore(self, state: State) -> None:
        """Takes up a state that :meth:`snapshot` gave; an operator with state must override it."""
        if state:
            raise TypeError(f"{type(self).__name__} was given state but does not override restore")


# -------------------------------------------------------------------- item by item


def no_items(
    user: UserOperator, inputs: Mapping[str, Sequence[Row]], now: int, timed_out: bool
) -> ItemByItem:
    """An execution of one piece."""
    yield from ()
    return (user.on_timeout if timed_out else user.process)(inputs, now)


def run_to_end(pieces: ItemByItem) -> Iterable[Row]:
    """All pieces at once; gives the output rows."""
    while True:
        try:
            next(pieces)
        except StopIteration as ended:
            rows: Iterable[Row] = ended.value
            return rows


def goes_by_items(user: UserOperator) -> bool:
    """Whether the class has an ``in_items`` of its own, and none of its subclasses another way to
    execute."""
    for one in type(user).__mro__:
        if one is UserOperator:
            return False
        if "in_items" in vars(one):
            return True
        if "process" in vars(one) or "on_timeout" in vars(one):
            return False
    return False


# -------------------------------------------------------------------- finding the class


def find_modules_beside(file: Path) -> None:
    """Modules and headers that a query or a plan names are looked for beside it, too: after all
    other places, so that nothing installed is hidden by a file of the same name."""
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)


def load_class(implementation: str) -> type[UserOperator]:
    """The class that ``package.module:Class`` names; QueryError when it is not one that can be
    run."""
    module_name, _, path = implementation.partition(":")
    try:
        found: Any = importlib.import_module(module_name)
    except ImportError as error:
        raise _wrong(f"module {module_name!r} cannot be imported: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise _wrong(f"module {module_name!r} has no {path!r}")
        found = getattr(found, part)
    if not (isinstance(found, type) and issubclass(found, UserOperator)):
        raise _wrong(
            f"{implementation!r} is not a class for operators",
            want="derive it from headway.model.user_operator.UserOperator",
        )
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))
        raise _wrong(f"{implementation!r} does not define {missing}")
    return found


def _wrong(what: str, want: str = "") -> QueryError:
    return QueryError(what, at="implementation", want=want)
