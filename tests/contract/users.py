"""User-defined operators and functions of the contract's queries. Columns: timestamp, k, v."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import OperatorContext, Row, State, UserOperator

HERE = "tests.contract.users"


def half(value: float | None, timestamp: int) -> float | None:
    """Raises for some values: such a tuple is lost, its neighbours are not."""
    if value == 40.0:
        raise ValueError("forty")
    return None if value is None else value / 2 + timestamp % 7


def is_small(value: float | None, timestamp: int) -> bool | None:
    if value == 70.0:
        raise ValueError("seventy")
    return None if value is None else value < 50


class Batch(UserOperator):
    """One row an execution: depends on all its tuples, their order, and the one before."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._last = 0

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        keys = [row[1] or 0 for rows in inputs.values() for row in rows]
        folded = self._last
        for key in keys:
            folded = (folded * 3 + key + 1) % 1009
        self._last = folded
        return [(None, len(keys) % 3, float(folded + now // 1000 % 13))]

    def on_timeout(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return [(when, key, value if value is None else -value)
                for when, key, value in self.process(inputs, now)]  # fmt: skip

    def snapshot(self) -> State:
        return {"last": self._last}

    def restore(self, state: State) -> None:
        self._last = state["last"]


class Spread(UserOperator):
    """One row for each tuple, with timestamps of their own; keeps nothing."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return [row for rows in inputs.values() for row in rows]


class Change(Batch):
    """Differences of neighbours: depends on the order of arrival."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        ((_, key, value),) = inputs["input"]
        change = (key or 0) - self._last
        self._last = key or 0
        return [] if change == 0 else [(None, key, value), (None, change, float(change))]


class Remember(UserOperator):
    """Gives every third tuple with the timestamp of the first of the three: older than windows
    may still wait for."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._kept: list[int] = []

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        ((when, key, value),) = inputs["input"]
        self._kept.append(when)
        if len(self._kept) < 3:
            return []
        first, self._kept = self._kept[0], []
        return [(first, key, value), (when, key, 1.0)]

    def snapshot(self) -> State:
        return {"kept": self._kept}

    def restore(self, state: State) -> None:
        self._kept = list(state["kept"])
