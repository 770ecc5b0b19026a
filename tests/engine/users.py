"""User-defined operators of the random queries. Streams have the columns timestamp, k, v."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import Row, UserOperator

HERE = "tests.engine.users"


class Merge(UserOperator):
    """One row an execution: the key of the first tuple, the sum of all values."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        rows = [row for port in inputs.values() for row in port]
        return [(None, rows[0][1], sum(row[2] for row in rows))]


class PassAll(UserOperator):
    """One row for each tuple, with the oldest timestamp of the execution."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return [(None, *row[1:]) for port in inputs.values() for row in port]


class Twice(UserOperator):
    """Two rows for each tuple."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return [(None, *row[1:]) for port in inputs.values() for row in port for _ in range(2)]
