"""What every car with a radio knows of itself: type 1 fusion of its GPS and speed sensor.

In the papers a V2V tuple is what the sender's own query gave as output1: its fused own position,
and what its radar saw, added to that. Running the fusion operator for every car and cycle would
cost seconds a drive. But the operator, once it has settled, is linear: the error e of its estimate
follows

    e' = M (F e + d) + B n

with F the motion over one cycle, d the part of the true motion that is not straight on, n the noise
of GPS x, y, heading and speed. M and B are taken from the operator itself, by moving its state and
its measurements a little and looking at what comes out, in the frame of a car going along x.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.linalg import solve_discrete_lyapunov

from headway.fusion.own_vehicle import Fix, OwnVehicleFusion, Speed
from headway.fusion.state import FilterState
from headway.fusion.track import Measurement
from headway.model.schema import Schema, parse_field
from headway.model.user_operator import OperatorContext
from headway.world.car_sensors import CYCLE, Readings, SensorModel
from headway.world.traffic import Array, Motion

CYCLE_US = round(CYCLE * 1e6)
SETTLING = 600
"""cycles after which the operator's variances stand still, near enough"""
STEP = 1e-4
STATES = 5
"""x, y, vx, vy and the scale of the speed sensor"""
MOTION = np.eye(STATES)
MOTION[0, 2] = MOTION[1, 3] = CYCLE
"""F"""


@dataclass(frozen=True, slots=True)
class Settled:
    """The operator in the long run, for a car along x."""

    keep: Array
    """M: what stays of the predicted error, shape (5, 5)"""
    take: Array
    """B: what comes in of the noise of x, y, heading, speed, shape (5, 4)"""
    along: tuple[float, float]
    """variances of position and velocity along the way"""
    across: tuple[float, float]


class OwnEstimates(NamedTuple):
    """All cars in all cycles: arrays of shape (cycles, cars)."""

    x: Array
    y: Array
    vx: Array
    vy: Array
    var_x: Array
    var_y: Array
    var_vx: Array
    var_vy: Array


def estimate_own(
    motion: Motion, readings: Readings, sensors: SensorModel, speed: float, random: Generator
) -> OwnEstimates:
    """What the cars know of themselves; ``speed`` (m/s) is where the operator is made linear.

    Every car has driven before: where it appears, its error is drawn from the law it has in the
    long run.
    """
    settled = settle(round(max(speed, 1.0), 1))
    direction = np.arctan2(motion.vy, motion.vx)
    cosine, sine = np.cos(direction), np.sin(direction)
    truth = np.stack([motion.x, motion.y, motion.vx, motion.vy, np.zeros_like(motion.x)])
    noise = np.stack(
        [
            readings.x - motion.x,
            readings.y - motion.y,
            _turned(readings.heading - direction),
            readings.speed - np.hypot(motion.vx, motion.vy),
        ]
    )
    _rotate(noise[:2], cosine, -sine)
    errors = np.zeros_like(truth)
    error = np.full(truth.shape[::2], np.nan)
    beginning = _long_run(settled, sensors, truth.shape[2], random)
    for cycle in range(truth.shape[1]):
        predicted = MOTION @ error
        if cycle:
            predicted += MOTION @ truth[:, cycle - 1] - truth[:, cycle]
        _rotate(predicted[:2], cosine[cycle], -sine[cycle])
        _rotate(predicted[2:4], cosine[cycle], -sine[cycle])
        corrected = settled.keep @ predicted + settled.take @ noise[:, cycle]
        error = np.where(np.isfinite(corrected), corrected, beginning)
        _rotate(error[:2], cosine[cycle], sine[cycle])
        _rotate(error[2:4], cosine[cycle], sine[cycle])
        errors[:, cycle] = error
    along, across = cosine**2, sine**2
    x, y, vx, vy = truth[:4] + errors[:4]
    return OwnEstimates(
        x,
        y,
        vx,
        vy,
        along * settled.along[0] + across * settled.across[0],
        across * settled.along[0] + along * settled.across[0],
        along * settled.along[1] + across * settled.across[1],
        across * settled.along[1] + along * settled.across[1],
    )


def _long_run(settled: Settled, sensors: SensorModel, cars: int, random: Generator) -> Array:
    """Errors (5, cars) after a long drive straight on, in the frame of the car: their covariance P
    solves P = A P Aᵀ + B R Bᵀ with A = M F."""
    spread = np.diag(
        np.square([sensors.gps, sensors.gps, sensors.heading, sensors.speed], dtype=np.float64)
    )
    covariance = solve_discrete_lyapunov(
        settled.keep @ MOTION, settled.take @ spread @ settled.take.T
    )
    # The covariance may be singular (a sensor without noise): its root by eigenvalues.
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn: Array = root @ random.standard_normal((STATES, cars))
    return drawn


def _rotate(pair: Array, cosine: Array, sine: Array) -> None:
    """Turns vectors (2, ...) in place."""
    first = cosine * pair[0] - sine * pair[1]
    pair[1] = sine * pair[0] + cosine * pair[1]
    pair[0] = first


def _turned(angle: Array) -> Array:
    """The same angle between −π and π."""
    return (angle + np.pi) % (2 * np.pi) - np.pi


@cache
def settle(speed: float) -> Settled:
    """Lets the operator run along x at ``speed`` without noise, then looks how it answers."""
    operator = _operator()
    state = operator.first("", _measured(0, _fix(0.0, 0.0, 0.0, operator)))
    assert state is not None, "a fix starts an estimate"
    for cycle in range(1, SETTLING):
        x = speed * CYCLE * cycle
        state = _cycle(operator, state, np.array([x, 0.0, 0.0, speed]))
    x = speed * CYCLE * SETTLING
    start = np.array([x - speed * CYCLE, 0.0, speed, 0.0, 0.0])
    seen = np.array([x, 0.0, 0.0, speed])
    settled = _with(state, start)

    def answer(moved: Array, measured: Array) -> Array:
        return _vector(_cycle(operator, _with(settled, start + moved), seen + measured))

    def slope(states: int, which: int) -> Array:
        columns = []
        for place in range(states):
            step = np.zeros(states)
            step[place] = STEP
            nothing = np.zeros(4 if which == 0 else STATES)
            up = answer(step, nothing) if which == 0 else answer(nothing, step)
            down = answer(-step, nothing) if which == 0 else answer(nothing, -step)
            columns.append((up - down) / (2 * STEP))
        return np.stack(columns, axis=1)

    return Settled(
        slope(STATES, 0) @ np.linalg.inv(MOTION),
        slope(4, 1),
        (state.var_x, state.var_vx),
        (state.var_y, state.var_vy),
    )


def _operator() -> OwnVehicleFusion:
    """Type 1 with its default parameters, as the example's query uses it."""
    fields = {name: parse_field(name, "double") for name in ("x", "y", "heading", "v")}
    operator = OwnVehicleFusion()
    operator.open(
        OperatorContext(
            name="own",
            inputs={
                "gps": Schema((fields["x"], fields["y"], fields["heading"])),
                "speed": Schema((fields["v"],)),
            },
            output=Schema((fields["x"], fields["y"])),
            windows={"front": 200_000_000, "rear": 1_000_000_000},
        )
    )
    return operator


def _fix(x: float, y: float, heading: float, operator: OwnVehicleFusion) -> Fix:
    variance = operator.settings["position_variance"]
    return Fix(x, y, variance, variance, None, heading)


def _measured(timestamp: int, reading: Fix | Speed) -> Measurement[Fix | Speed]:
    port = "gps" if isinstance(reading, Fix) else "speed"
    return Measurement(timestamp, port, 0, port, (), reading)


def _cycle(operator: OwnVehicleFusion, state: FilterState, measured: Array) -> FilterState:
    """One execution: predict, fix, speed, in the operator's own order."""
    x, y, heading, speed = measured.tolist()
    to = state.timestamp + CYCLE_US
    state = operator.predict(state, to)
    state = operator.update(state, _measured(to, _fix(x, y, heading, operator)))
    return operator.update(state, _measured(to, Speed(speed, operator.settings["speed_variance"])))


def _vector(state: FilterState) -> Array:
    scale = state.scale.value if state.scale else 0.0
    return np.array([state.x, state.y, state.vx, state.vy, scale])


def _with(state: FilterState, values: Array) -> FilterState:
    """The same covariances around other values."""
    x, y, vx, vy, scale = values.tolist()
    assert state.scale is not None, "type 1 estimates the scale"
    return state._replace(
        x=x, y=y, vx=vx, vy=vy, heading=0.0, scale=state.scale._replace(value=scale)
    )
