"""Type 1: the own vehicle's position and velocity from GPS and speed sensor (AEDSMS section 5.7).

Input ``gps``: ``x``, ``y`` (m); its variances ``var_x`` and ``var_y``, or ``var_pos`` for both, or
the parameter ``position_variance``; where it has them a velocity ``vx``, ``vy`` (``var_vx`` and
``var_vy``, or ``var_v``) and a direction of motion: ``heading`` (from the x axis towards y,
radians) or ``bearing`` (from the y axis, north, towards x, degrees); a declared unit ``rad`` or
``deg`` counts more than these defaults.

Input ``speed``: ``v`` (m/s) along the direction of motion; its variance ``var_v`` or the parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import cos, pi, radians, sin
from typing import NamedTuple

from headway.fusion import kalman
from headway.fusion.columns import Columns, number, positive_parameters, row_value, variance
from headway.fusion.operator import SINGLE_OBJECT, SensorFusion
from headway.fusion.output import EstimateOutput
from headway.fusion.state import FilterState, SpeedScale, length, start
from headway.fusion.track import Key, Measurement
from headway.model.schema import DataType
from headway.model.user_operator import OperatorContext, Row

PARAMETERS = {
    "acceleration_variance": 1.0,
    "position_variance": 9.0,
    "speed_variance": 0.04,
    "scale_variance": 0.0004,
    "heading_variance": 0.0025,
    "velocity_variance": 400.0,
    "least_speed": 1.0,
    "shared_variance": 0.0,
}
"""In m²/s⁴ (see :func:`predict`); m²; m²/s², besides the scale; 1, of the speed sensor's scale
(2 %); rad²; m²/s², before anything is known of the velocity; m/s, the speed below which the
direction of the estimate is not trusted; m², of the error that all fixes of a drive share (that of
the receiver's clock and of the sky): no filter of fixes can show it, so it is in no estimate, but
in the variances and the confidence that go out."""
SCALE_MEMORY = 600.0
"""Seconds in which the speed sensor's scale becomes as uncertain again as it was at first."""


class Fix(NamedTuple):
    """What a GPS tuple says."""

    x: float
    y: float
    var_x: float
    var_y: float
    velocity: tuple[float, float, float, float] | None
    """vx, vy and their variances"""
    heading: float | None


class Speed(NamedTuple):
    """What a speed tuple says."""

    speed: float
    variance: float


class OwnPlaces(NamedTuple):
    """Where the columns stand in the inputs' rows, None for those that are not there; and what the
    heading's numbers mean."""

    position: tuple[int, int]
    position_variance: tuple[int | None, int | None]
    velocity: tuple[int | None, int | None]
    velocity_variance: tuple[int | None, int | None]
    heading: int | None
    speed: tuple[int, int | None]
    """the speed and its variance"""
    clockwise: bool
    degrees: bool


class OwnVehicleFusion(SensorFusion[Fix | Speed]):
    """One estimate per execution, for its newest measurement. Needs a GPS tuple to start.

    A speed is a measurement along the direction of motion. That direction is the estimated
    velocity's, where it is faster than ``least_speed`` and than its own standard deviation; else
    the heading last measured; without one the velocity is anywhere on a circle: (0, 0), variance
    v²/2 more per axis. A heading also says that the velocity across it is nil, within
    heading_variance · speed².
    """

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self.settings = positive_parameters(context, PARAMETERS, others=("id", "sensor"))
        columns = Columns(context)
        columns.ports("gps", "speed")
        self._position = (columns.required("gps", "x"), columns.required("gps", "y"))
        self._position_variance = _variances(columns, "gps", "x", "y", "pos")
        self._velocity = (columns.optional("gps", "vx"), columns.optional("gps", "vy"))
        self._velocity_variance = _variances(columns, "gps", "vx", "vy", "v")
        self._heading = columns.optional("gps", "heading", "bearing")
        self._speed = (columns.required("speed", "v"), columns.optional("speed", "var_v"))
        columns.check()
        self._clockwise, self._degrees = False, False
        if self._heading is not None:
            field = context.inputs["gps"].fields[self._heading - 1]
            self._clockwise = field.name == "bearing"
            self._degrees = field.unit in ("deg", "°") or (self._clockwise and field.unit != "rad")
        own_id = context.parameters.get("id", 0)
        self.own_id: Key = own_id if isinstance(own_id, str | int) else int(own_id)
        sensor = str(context.parameters.get("sensor", "own"))
        object_key = context.windows.get("object_key")
        key = None if object_key is None else context.inputs["gps"].find(object_key)
        text_key = isinstance(self.own_id, str) if key is None else key.type is DataType.STRING
        self.output = EstimateOutput(context, sensor, text_key)
        self._acceleration_variance = self.settings["acceleration_variance"]
        self._scale_drift = self.settings["scale_variance"] / SCALE_MEMORY

    @property
    def places(self) -> OwnPlaces:
        """What :meth:`open` found."""
        return OwnPlaces(
            self._position,
            self._position_variance,
            self._velocity,
            self._velocity_variance,
            self._heading,
            self._speed,
            self._clockwise,
            self._degrees,
        )

    def read(self, port: str, row: Row) -> Fix | Speed | None:
        if port == "speed":
            speed = number(row[self._speed[0]])
            spread = self._variance(row, self._speed[1], "speed_variance")
            return None if speed is None or spread is None else Speed(speed, spread)
        x, y = number(row[self._position[0]]), number(row[self._position[1]])
        var_x = self._variance(row, self._position_variance[0], "position_variance")
        var_y = self._variance(row, self._position_variance[1], "position_variance")
        if x is None or y is None or var_x is None or var_y is None:
            return None
        velocity = None
        vx, vy = (number(row_value(row, place)) for place in self._velocity)
        var_vx = self._variance(row, self._velocity_variance[0], "speed_variance")
        var_vy = self._variance(row, self._velocity_variance[1], "speed_variance")
        if vx is not None and vy is not None and var_vx is not None and var_vy is not None:
            velocity = (vx, vy, var_vx, var_vy)
        heading = number(row_value(row, self._heading))
        if heading is not None:
            heading = radians(heading) if self._degrees else heading
            heading = pi / 2 - heading if self._clockwise else heading
        return Fix(x, y, var_x, var_y, velocity, heading)

    def first(self, object: Key, measurement: Measurement[Fix | Speed]) -> FilterState | None:
        fix = measurement.reading
        if isinstance(fix, Speed):
            return None
        unknown = self.settings["velocity_variance"]
        vx, vy, var_vx, var_vy = fix.velocity or (0.0, 0.0, unknown, unknown)
        state = start(
            measurement.timestamp,
            (fix.x, fix.y),
            (fix.var_x, fix.var_y),
            (vx, vy),
            (var_vx, var_vy),
        )
        scale = SpeedScale(0.0, self.settings["scale_variance"])
        return state._replace(heading=fix.heading, scale=scale)

    def predict(self, state: FilterState, to: int) -> FilterState:
        return kalman.predict(state, to, self._acceleration_variance, self._scale_drift)

    def update(self, state: FilterState, measurement: Measurement[Fix | Speed]) -> FilterState:
        reading = measurement.reading
        if isinstance(reading, Speed):
            return self._update_speed(state, reading)
        state = kalman.observe_position(state, reading.x, reading.y, reading.var_x, reading.var_y)
        if reading.velocity is not None:
            state = kalman.observe_velocity(state, *reading.velocity)
        if reading.heading is not None:
            state = self._update_heading(state, reading.heading)
        return state

    def distance(
        self, state: FilterState, measurement: Measurement[Fix | Speed]
    ) -> tuple[float, int] | None:
        """Of the position: a speed says nothing of where the vehicle is."""
        fix = measurement.reading
        if isinstance(fix, Speed):
            return None
        return kalman.position_distance(state, fix.x, fix.y, fix.var_x, fix.var_y), 2

    def _update_speed(self, state: FilterState, measured: Speed) -> FilterState:
        _, _, _, vx, vy, _, _, _, _, _, _, _, var_vx, _, var_vy, heading, _ = state
        speed = length(vx, vy)
        if speed > self.settings["least_speed"] and speed * speed > var_vx + var_vy:
            return kalman.observe_scaled(state, vx / speed, vy / speed, *measured)
        if heading is not None:
            return kalman.observe_scaled(state, cos(heading), sin(heading), *measured)
        spread = measured.variance + measured.speed * measured.speed / 2
        return kalman.observe_velocity(state, 0.0, 0.0, spread, spread)

    def _update_heading(self, state: FilterState, heading: float) -> FilterState:
        speed = max(length(state.vx, state.vy), self.settings["least_speed"])
        spread = self.settings["heading_variance"] * speed * speed
        state = kalman.observe_along(state, -sin(heading), cos(heading), 0.0, spread)
        return state._replace(heading=heading)

    def emit(self, at: int, measured: Sequence[Key]) -> Iterable[Row]:
        shared = self.settings["shared_variance"]
        for object in measured:
            state = self.estimate(object, at)
            if state is not None:
                id = object if object != SINGLE_OBJECT else self.own_id
                if shared:
                    state = state._replace(var_x=state.var_x + shared, var_y=state.var_y + shared)
                yield self.output.row(state, id, True)

    def _variance(self, row: Row, place: int | None, setting: str) -> float | None:
        return variance(self.settings[setting] if place is None else row[place])


def _variances(
    columns: Columns, port: str, first: str, second: str, both: str
) -> tuple[int | None, int | None]:
    return (
        columns.optional(port, f"var_{first}", f"var_{both}"),
        columns.optional(port, f"var_{second}", f"var_{both}"),
    )
