"""Type 2: own and surrounding vehicles from on-board sensors and V2V (AEDSMS section 5.7).

Every input has the same columns: the object's key (``object:`` in the query), ``x``, ``y`` (m),
their variances ``var_x`` and ``var_y`` (or ``var_pos`` for both), which travel with the tuples, and
where it has them ``vx``, ``vy`` (m/s) with ``var_vx`` and ``var_vy`` (or ``var_v``). The own
vehicle is the one whose tuples say true in a column ``own``, or the one named by the parameter
``own_id``. Tuples are of the same object when they have the same key, and only then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headway.errors import QueryError
from headway.fusion.columns import (
    KEY_TYPES,
    Columns,
    number,
    positive_parameters,
    row_value,
    variance,
)
from headway.fusion.kalman import (
    observe_dependent,
    observe_position,
    observe_velocity,
    position_distance,
    predict,
    velocity_distance,
)
from headway.fusion.operator import SensorFusion
from headway.fusion.output import EstimateOutput
from headway.fusion.state import FilterState, start
from headway.fusion.track import Key, Measurement
from headway.model.schema import DataType
from headway.model.user_operator import OperatorContext, Row, State

PARAMETERS = {"acceleration_variance": 4.0, "velocity_variance": 400.0}
"""m²/s⁴ (see :func:`predict`); m²/s², of an object whose velocity was never measured."""


class Sighting(NamedTuple):
    """What one tuple says about its object."""

    x: float
    y: float
    var_x: float
    var_y: float
    velocity: tuple[float, float, float, float] | None
    """vx, vy and their variances"""


class Places(NamedTuple):
    """Where an input's columns stand in its rows."""

    object: int
    x: int
    y: int
    var_x: int
    var_y: int
    velocity: tuple[int | None, ...]
    own: int | None


class SurroundingsFusion(SensorFusion[Sighting]):
    """One estimate for every object measured in this execution, and always the own vehicle's.

    All estimates of an execution are for the same moment, its newest measurement (column ``at``),
    and carry the same timestamp, so a join on either brings them together. The own vehicle comes
    first.
    """

    takes_correlated = True

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self.settings = positive_parameters(context, PARAMETERS, others=("own_id", "sensor"))
        self._acceleration_variance = self.settings["acceleration_variance"]
        self._velocity_variance = self.settings["velocity_variance"]
        object_key = context.windows.get("object_key")
        if object_key is None:
            raise QueryError(
                "this operator needs to know which object a tuple is about",
                at="object",
                want="name the column, such as 'object: id'",
            )
        columns = Columns(context)
        self.places = {port: _places(columns, port, object_key) for port in context.inputs}
        columns.check()
        self._own: Key | None = None
        own_id = context.parameters.get("own_id")
        if isinstance(own_id, str | int):
            self._own = own_id
        elif all(places.own is None for places in self.places.values()):
            raise QueryError(
                "no input tells which vehicle is our own",
                at="inputs",
                want="add a boolean column 'own' to one, or the parameter 'own_id'",
            )
        key = next(iter(context.inputs.values())).find(object_key)
        text_key = key is not None and key.type is DataType.STRING
        sensor = str(context.parameters.get("sensor", "fused"))
        self.output = EstimateOutput(context, sensor, text_key)

    def read(self, port: str, row: Row) -> Sighting | None:
        places = self.places[port]
        x, y = number(row[places.x]), number(row[places.y])
        var_x, var_y = variance(row[places.var_x]), variance(row[places.var_y])
        if x is None or y is None or var_x is None or var_y is None:
            return None
        at_vx, at_vy, at_var_vx, at_var_vy = places.velocity
        vx, vy = number(row_value(row, at_vx)), number(row_value(row, at_vy))
        var_vx, var_vy = variance(row_value(row, at_var_vx)), variance(row_value(row, at_var_vy))
        velocity = None
        if vx is not None and vy is not None and var_vx is not None and var_vy is not None:
            velocity = (vx, vy, var_vx, var_vy)
        if row_value(row, places.own) is True:
            self._own = row[places.object]
        return Sighting(x, y, var_x, var_y, velocity)

    def first(self, object: Key, measurement: Measurement[Sighting]) -> FilterState:
        x, y, var_x, var_y, velocity = measurement.reading
        unknown = self._velocity_variance
        vx, vy, var_vx, var_vy = velocity or (0.0, 0.0, unknown, unknown)
        return start(measurement.timestamp, (x, y), (var_x, var_y), (vx, vy), (var_vx, var_vy))

    def predict(self, state: FilterState, to: int) -> FilterState:
        return predict(state, to, self._acceleration_variance)

    def update(self, state: FilterState, measurement: Measurement[Sighting]) -> FilterState:
        x, y, var_x, var_y, velocity = measurement.reading
        if self.correlated:
            return observe_dependent(state, x, y, var_x, var_y, velocity)
        state = observe_position(state, x, y, var_x, var_y)
        return state if velocity is None else observe_velocity(state, *velocity)

    def distance(
        self, state: FilterState, measurement: Measurement[Sighting]
    ) -> tuple[float, int] | None:
        x, y, var_x, var_y, velocity = measurement.reading
        squared = position_distance(state, x, y, var_x, var_y)
        if velocity is None:
            return squared, 2
        state = observe_position(state, x, y, var_x, var_y)
        return squared + velocity_distance(state, *velocity), 4

    def emit(self, at: int, measured: Sequence[Key]) -> Iterable[Row]:
        own = self._own
        objects = measured if own is None else [own, *[key for key in measured if key != own]]
        return [
            self.output.row(state, object, object == own)
            for object in objects
            if (state := self.estimate(object, at)) is not None
        ]

    def snapshot(self) -> State:
        return {**super().snapshot(), "own": self._own}

    def restore(self, state: State) -> None:
        super().restore(state)
        self._own = state["own"]


def _places(columns: Columns, port: str, object_key: str) -> Places:
    return Places(
        object=columns.required(port, object_key, types=KEY_TYPES),
        x=columns.required(port, "x"),
        y=columns.required(port, "y"),
        var_x=columns.required(port, "var_x", "var_pos"),
        var_y=columns.required(port, "var_y", "var_pos"),
        velocity=(
            columns.optional(port, "vx"),
            columns.optional(port, "vy"),
            columns.optional(port, "var_vx", "var_v"),
            columns.optional(port, "var_vy", "var_v"),
        ),
        own=columns.optional(port, "own", types=(DataType.BOOLEAN,)),
    )
