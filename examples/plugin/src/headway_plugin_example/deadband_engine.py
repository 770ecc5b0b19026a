"""``deadband`` in the vehicle engine, and inside Spark's tasks."""

from __future__ import annotations

from collections.abc import Mapping

from headway.engine.operators.operator_base import Key, StatefulOperator, key_function, restored_key
from headway.model.schema import Schema
from headway.model.user_operator import Row, State

from headway_plugin_example.deadband import Deadband


class DeadbandOperator(StatefulOperator):
    """Keeps the value of the last tuple that passed, by key."""

    def __init__(self, operator: Deadband, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator.name)
        (schema,) = inputs.values()
        self._place = [field.name for field in schema.columns].index(operator.of)
        self._width = operator.width
        self._key_of = key_function(schema, operator.by)
        self._last: dict[Key, float | None] = {}

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        key, value = self._key_of(row), row[self._place]
        if key in self._last:
            last = self._last[key]
            if value is None or last is None:
                if value is last:
                    return []
            elif abs(value - last) <= self._width:
                return []
        self._last[key] = value
        return [row]

    def size(self) -> int:
        return len(self._last)

    def snapshot(self) -> State:
        return {"last": [[list(key), value] for key, value in self._last.items()]}

    def restore(self, state: State) -> None:
        self._last = {restored_key(key): value for key, value in state["last"]}
