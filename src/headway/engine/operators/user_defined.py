"""User-defined and fusion operators: the user's class, found by name and held to its schema, and
the gathering of its inputs where it has a timeout.

An execution that raises gives no rows; its inputs go to the side list as FAILED. A row that does
not fit the output's schema goes there alone, its neighbours pass. The class keeps its state
either way.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from enum import Enum, auto
from typing import Any

from headway.engine.operators.conform import conform_function
from headway.engine.operators.operator_base import BatchOperator, DropKind, failure
from headway.errors import DataError, QueryError
from headway.model.operator_kinds import only_native
from headway.model.operators import Fusion, Gather, UserDefined
from headway.model.schema import Schema
from headway.model.user_operator import (
    OperatorContext,
    Row,
    State,
    UserOperator,
    goes_by_items,
    load_class,
)

LOG = logging.getLogger("headway.operators")


class Signal(Enum):
    """What a tuple does to the batch it joins."""

    NOTHING = auto()
    FIRST = auto()
    """It opens a batch: start the timer."""
    READY = auto()
    """Every input has a tuple: stop the timer if one runs, take the batch and run the operator."""


class Gathering:
    """The open batch of one operator. Its owner calls :meth:`take` at the release, that is when
    it is told READY or when the timer is over; tuples after that start a new batch."""

    def __init__(self, ports: Sequence[str], gather: Gather) -> None:
        self._ports = tuple(ports)
        self._all = gather is Gather.ALL
        self._batch: dict[str, list[Row]] = {}

    def offer(self, port: str, row: Row) -> Signal:
        batch = self._batch
        first = not batch
        rows = batch.get(port)
        if rows is not None:
            rows.append(row)
            return Signal.NOTHING
        batch[port] = [row]
        if self._all and len(batch) == len(self._ports):
            return Signal.READY
        return Signal.FIRST if first else Signal.NOTHING

    def take(self) -> dict[str, list[Row]]:
        """Closes the batch: its rows by port, in arrival order; ports without a tuple are empty."""
        batch, self._batch = self._batch, {}
        return {port: batch.get(port, []) for port in self._ports}

    def output_watermark(self, watermark_us: int) -> int:
        """No later batch has an older tuple than this."""
        waiting = [row[0] for rows in self._batch.values() for row in rows]
        return min(watermark_us, *waiting) if waiting else watermark_us

    def size(self) -> int:
        return sum(map(len, self._batch.values()))

    def snapshot(self) -> State:
        return {"batch": {port: [list(row) for row in rows] for port, rows in self._batch.items()}}

    def restore(self, state: State) -> None:
        self._batch = {port: [tuple(row) for row in rows] for port, rows in state["batch"].items()}


# -------------------------------------------------------------------- the user's class


class CustomOperator(BatchOperator):
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
        if operator.implementation is None:
            raise QueryError([only_native(operator)])
        self._ports = tuple(inputs)
        self._implementation = operator.implementation
        self._conform = conform_function(output)
        self._most = operator.most_outputs
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
                f"{operator.implementation} cannot be opened: {type(error).__name__}: {error}",
                at=f"operators.{operator.name}.implementation",
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
            return self._failed(given, error)
        return self._results(given, results)

    def execute_in_items(
        self, inputs: Mapping[str, Sequence[Row]], now: int, timed_out: bool = False
    ) -> Generator[None, None, list[Row]]:
        """The same in pieces: yields between two of them. No other execution may begin before
        this one has ended."""
        given = {port: inputs.get(port, ()) for port in self._ports}
        try:
            results = list((yield from self.user.in_items(given, now, timed_out=timed_out)))
        except Exception as error:  # noqa: BLE001 - the user's class may raise anything
            return self._failed(given, error)
        return self._results(given, results)

    def check_refines(self) -> None:
        """QueryError for a class without the optional part that its query declares."""
        if type(self.user).refine is UserOperator.refine:
            raise QueryError(
                f"{self._implementation} has no optional part",
                at=f"operators.{self.name}.optional",
                want="override refine, or leave out 'optional'",
            )

    def refine(self, rows: list[Row], now: int) -> Iterator[list[Row]]:
        """The optional part after an execution that gave these rows: better and better ones. What
        the class raises, or gives in another form than its schema, ends it."""
        try:
            oldest = min(row[0] for row in rows)
            for refined in self.user.refine(rows, now):
                yield [
                    self._conform((oldest, *row[1:]) if row[0] is None else tuple(row))
                    for row in refined
                ]
        except Exception as error:  # noqa: BLE001 - the user's class may raise anything
            LOG.warning("%s", failure(f"{self.name} ({self._implementation})", rows[0], error))

    @property
    def by_items(self) -> bool:
        """Whether the class can execute in pieces."""
        return goes_by_items(self.user)

    def _failed(self, given: Mapping[str, Sequence[Row]], error: Exception) -> list[Row]:
        for port, rows in given.items():
            for row in rows:
                reason = str(failure(f"{self.name} ({self._implementation})", row, error))
                self.drop(DropKind.FAILED, row, reason, port)
        return []

    def _results(self, given: Mapping[str, Sequence[Row]], results: list[Any]) -> list[Row]:
        for why, port, row in self.user.take_refused():
            kind = DropKind.LATE if why == DropKind.LATE else DropKind.FAILED
            self.drop(kind, row, str(why), port)
        if not results:
            return results
        if self._most is not None:
            more = len(results) - self._most * sum(map(len, given.values()))
            if more > 0:
                self.beyond += more
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
