"""``thin`` in the vehicle engine."""

from __future__ import annotations

from collections.abc import Mapping

from tests.outside.thin_kind import Thin

from headway.model.schema import Schema
from headway.runtime.operators.base import Row, State, StatefulOperator
from headway.runtime.operators.keys import Key, key_function, restored_key


class ThinOperator(StatefulOperator):
    def __init__(self, operator: Thin, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator.name)
        (schema,) = inputs.values()
        self._nth = operator.nth
        self._key_of = key_function(schema, operator.by)
        self._counts: dict[Key, int] = {}

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        key = self._key_of(row)
        count = self._counts[key] = (self._counts.get(key, 0) + 1) % self._nth
        return [row] if count == 0 else []

    def snapshot(self) -> State:
        return {"counts": [[list(key), count] for key, count in self._counts.items()]}

    def restore(self, state: State) -> None:
        self._counts = {restored_key(key): count for key, count in state["counts"]}
