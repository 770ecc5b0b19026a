"""User-defined and fusion operators: the user's class, found by name and held to its schema.

An execution that raises gives no rows; its inputs go to the side list as FAILED. A row that does
not fit the output's schema goes there alone, its neighbours pass. The class keeps its state
either way.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from headway.errors import DataError, Problem, QueryError
from headway.model.operators import Fusion, UserDefined
from headway.model.schema import Schema
from headway.model.user_operator import OperatorContext, UserOperator
from headway.runtime.operators.base import DropKind, Row, State, StatefulOperator, failure
from headway.runtime.operators.conform import conform_function


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
    return QueryError(Problem(what, at="implementation", want=want))


class CustomOperator(StatefulOperator):
    """An opened instance of the user's class.

    ``inputs`` always has all ports, empty where nothing came. A row that carries no timestamp of
    its own takes the oldest of the execution's inputs. Late tuples are given to the class like
    others.
    """

    own_timestamps = True

    def __init__(
        self, operator: UserDefined | Fusion, inputs: Mapping[str, Schema], output: Schema
    ) -> None:
        super().__init__(operator.name)
        self._ports = tuple(inputs)
        self._implementation = operator.implementation
        self._conform = conform_function(output)
        self._context = OperatorContext(
            name=operator.name,
            inputs=dict(inputs),
            output=output,
            parameters=dict(operator.parameters),
            windows=operator.windows,
        )
        try:
            self._class = load_class(operator.implementation)
            self.user = self._opened()
        except QueryError as error:
            at = f"operators.{operator.name}"
            raise QueryError(problem.within(at) for problem in error.problems) from error
        except Exception as error:
            raise QueryError(
                Problem(
                    f"{operator.implementation} cannot be opened: {type(error).__name__}: {error}",
                    at=f"operators.{operator.name}.implementation",
                )
            ) from error

    def _opened(self) -> UserOperator:
        user = self._class()
        user.open(self._context)
        return user

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        """An execution with one tuple, for an operator without a timeout."""
        return self.execute({port: [row]}, now)

    def execute(
        self, inputs: Mapping[str, Sequence[Row]], now: int, timed_out: bool = False
    ) -> list[Row]:
        """One execution with the tuples of a batch."""
        given = {port: inputs.get(port, ()) for port in self._ports}
        try:
            call = self.user.on_timeout if timed_out else self.user.process
            results = list(call(given, now))
        except Exception as error:  # noqa: BLE001 - the user's class may raise anything
            for port, rows in given.items():
                for row in rows:
                    reason = str(failure(f"{self.name} ({self._implementation})", row, error))
                    self.drop(DropKind.FAILED, row, reason, port)
            return []
        for why, port, row in self.user.take_refused():
            kind = DropKind.LATE if why == DropKind.LATE else DropKind.FAILED
            self.drop(kind, row, str(why), port)
        if not results:
            return results
        oldest = min((row[0] for rows in given.values() for row in rows), default=None)
        checked = (self._checked(result, oldest) for result in results)
        return [row for row in checked if row is not None]

    def _checked(self, result: Any, oldest: int | None) -> Row | None:
        row = result
        if isinstance(result, (tuple, list)) and result and result[0] is None:
            row = (oldest, *result[1:])
        try:
            return self._conform(row)
        except DataError as error:
            at = f"operator {self.name!r} ({self._implementation})"
            problems = (problem.within(at) for problem in error.problems)
            kept = tuple(result) if isinstance(result, (tuple, list)) else (result,)
            self.drop(DropKind.FAILED, kept, "\n".join(map(str, problems)))
            return None

    def snapshot(self) -> State:
        return {"user": self.user.snapshot()}

    def restore(self, state: State) -> None:
        self.user = self._opened()  # a class that keeps nothing need not know how to forget
        self.user.restore(state["user"])
