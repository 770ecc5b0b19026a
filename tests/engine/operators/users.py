"""Functions and classes that the tests name in queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import Row, State, UserOperator

HERE = "tests.engine.operators.users"


def reciprocal(value: float | None) -> float | None:
    return None if value is None else 1.0 / value


def is_small(value: int | None) -> bool:
    if value is None:
        raise ValueError("no value")
    return value < 10


class Summing(UserOperator):
    """A running sum of the second column over all ports."""

    def __init__(self) -> None:
        self.total = 0.0
        self.calls: list[tuple[str, dict[str, list[Row]], int]] = []

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        self.calls.append(("process", {port: list(rows) for port, rows in inputs.items()}, now))
        self.total += sum(row[1] for rows in inputs.values() for row in rows)
        yield (None, self.total)

    def on_timeout(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        self.calls.append(("timeout", {port: list(rows) for port, rows in inputs.items()}, now))
        return [(None, -1.0)]

    def snapshot(self) -> State:
        return {"total": self.total}

    def restore(self, state: State) -> None:
        self.total = state["total"]


class Odd(UserOperator):
    """Gives good and bad rows by what it gets."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        (row,) = inputs["input"]
        if row[1] < 0:
            raise RuntimeError("negative")
        return [(None, row[1]), (None, "text"), (None,), (7, 1), 5]  # type: ignore[list-item]


class Unfinished(UserOperator):
    pass


class Unopenable(UserOperator):
    def __init__(self, needed: int) -> None:
        self.needed = needed

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return []


not_a_class = 3
