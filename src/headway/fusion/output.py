"""Estimates as rows of the output's schema; the schema chooses which columns it wants."""

from __future__ import annotations

from math import atan2
from struct import Struct

from headway.errors import Problem, QueryError
from headway.fusion.columns import KEY_TYPES
from headway.fusion.state import FilterState, confidence, length
from headway.fusion.track import Key
from headway.model.schema import DataType
from headway.model.user_operator import OperatorContext, Row

_FLOATS = (DataType.FLOAT, DataType.DOUBLE)
COLUMNS: dict[str, tuple[DataType, ...]] = {
    "id": KEY_TYPES,
    "sensor": (DataType.STRING,),
    "own": (DataType.BOOLEAN,),
    "at": (DataType.TIMESTAMP,),
    "x": _FLOATS,
    "y": _FLOATS,
    "vx": _FLOATS,
    "vy": _FLOATS,
    "var_x": _FLOATS,
    "var_y": _FLOATS,
    "var_vx": _FLOATS,
    "var_vy": _FLOATS,
    "speed": _FLOATS,
    "heading": _FLOATS,
    "conf": _FLOATS,
}
"""What an estimate can tell: ``at`` is the moment it is for; ``speed`` and ``heading`` (radians
from the x axis towards y) are those of its velocity; ``conf`` is
:func:`headway.fusion.state.confidence`."""


class EstimateOutput:
    """Makes rows. They take the oldest input's timestamp (None in front), as the model has it."""

    def __init__(self, context: OperatorContext, sensor: str, text_key: bool) -> None:
        """``text_key``: whether objects' keys are text."""
        names = list(COLUMNS)
        aliases = {
            context.windows.get("object_key"): "id",
            context.windows.get("sensor_key"): "sensor",
        }
        problems: list[Problem] = []
        self._places: list[int] = []
        floats: list[int] = []
        for place, field in enumerate(context.output.fields, start=1):
            name = aliases.get(field.name, field.name)
            if name not in COLUMNS:
                problems.append(
                    Problem(
                        f"a fusion operator has nothing to put into column {field.name!r}",
                        at="schema",
                        want=f"it can give: {', '.join(names)}",
                    )
                )
            elif field.type not in COLUMNS[name]:
                problems.append(
                    Problem(
                        f"column {field.name!r} has the wrong type",
                        at="schema",
                        got=field.type.value,
                        want=f"make it {' or '.join(COLUMNS[name])}",
                    )
                )
            elif name == "id" and (field.type is DataType.STRING) != text_key:
                problems.append(
                    Problem(
                        f"column {field.name!r} cannot hold the objects' keys",
                        at="schema",
                        got=field.type.value,
                        want=f"the keys are {'text' if text_key else 'whole numbers'}",
                    )
                )
            elif name == "sensor" and len(sensor.encode()) > field.size_bytes:
                problems.append(
                    Problem(
                        f"column {field.name!r} is too short for {sensor!r}",
                        at="schema",
                        got=field.describe(),
                        want="make it longer, or set the parameter 'sensor'",
                    )
                )
            else:
                self._places.append(names.index(name))
                if field.type is DataType.FLOAT:
                    floats.append(place)
        if problems:
            raise QueryError(problems)
        self._floats = tuple(floats)
        self._struct = Struct(f"{len(floats)}f")
        self._derived = any(names[place] in ("speed", "heading", "conf") for place in self._places)
        self.sensor = sensor

    @property
    def columns(self) -> list[str]:
        """What each column of the output tells: one of :data:`COLUMNS`."""
        names = list(COLUMNS)
        return [names[place] for place in self._places]

    def row(self, state: FilterState, object: Key, own: bool) -> Row:
        _, x, y, vx, vy, var_x, _, _, _, var_y, _, _, var_vx, _, var_vy, _, _ = state
        at = state.timestamp
        values: Row = (object, self.sensor, own, at, x, y, vx, vy, var_x, var_y, var_vx, var_vy)
        if self._derived:
            values += (length(vx, vy), atan2(vy, vx), confidence(state))
        row = [None, *[values[place] for place in self._places]]
        if self._floats:
            # A `float` holds 32 bits on both engines.
            rounded = self._struct.unpack(self._struct.pack(*[row[i] for i in self._floats]))
            for place, value in zip(self._floats, rounded, strict=True):
                row[place] = value
        return tuple(row)
