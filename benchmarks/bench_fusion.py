"""Speed of the fusion operators and of the filter under them, against filterpy in the same run.

    python benchmarks/bench_fusion.py [--seconds 1]

filterpy is optional (``pip install filterpy``); its step is the same 4-state filter, predict and
update with a measured position. A tuple of type 2 brings a position and a velocity. Each line is
the best of five runs, so that other work on the machine counts least. "Late" puts one tuple more
into each execution, one period old, so that what came after it is fused again.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import count

import numpy as np

from headway.fusion.kalman import observe_position, predict
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.state import start
from headway.fusion.surroundings import SurroundingsFusion
from headway.model.quantities import SECOND
from headway.model.schema import Schema, schema
from headway.model.user_operator import OperatorContext, Row

PERIOD = 100_000
VEHICLE = schema(
    id="bigint",
    sensor="string(5)",
    own="boolean",
    x="float [m]",
    y="float [m]",
    vx="float [m/s]",
    vy="float [m/s]",
    var_x="float",
    var_y="float",
    var_vx="float",
    var_vy="float",
)
GPS = schema(x="float [m]", y="float [m]", heading="float [rad]")
SPEED = schema(v="float [m/s]")

Step = Callable[[int], object]


def rate(step: Step, seconds: float) -> float:
    """Calls per second, the best of five runs."""
    numbers = count(1)
    best = 0.0
    for _ in range(5):
        done, begin = 0, time.perf_counter()
        while (elapsed := time.perf_counter() - begin) < seconds / 5:
            for _ in range(50):
                step(next(numbers))
            done += 50
        best = max(best, done / elapsed)
    return best


def context(
    inputs: Mapping[str, Schema], object_key: str | None, sensor_key: str | None
) -> OperatorContext:
    windows = {
        "front": SECOND,
        "rear": SECOND,
        "object_key": object_key,
        "sensor_key": sensor_key,
    }
    return OperatorContext(name="bench", inputs=inputs, output=VEHICLE, windows=windows)


def filter_step() -> Step:
    state = start(0, (0.0, 0.0), (9.0, 9.0), (0.0, 0.0), (400.0, 400.0))

    def step(number: int) -> None:
        nonlocal state
        moved = predict(state, number * PERIOD, 1.0)
        state = observe_position(moved, number * 2.0, number * 1.0, 9.0, 9.0)

    return step


def filterpy_step() -> Step | None:
    try:
        kalman = import_module("filterpy.kalman")
    except ImportError:
        return None
    peer = kalman.KalmanFilter(dim_x=4, dim_z=2)
    dt = PERIOD * 1e-6
    peer.F = np.array([[1, 0, dt, 0], [0, 1, 0, dt], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    peer.H = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0]])
    peer.R = np.diag([9.0, 9.0])
    peer.P = np.diag([9.0, 9.0, 400.0, 400.0])
    axis = np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    peer.Q = np.kron(axis, np.eye(2))

    def step(number: int) -> None:
        peer.predict()
        peer.update(np.array([number * 2.0, number * 1.0]))

    return step


def type1() -> Step:
    fusion = OwnVehicleFusion()
    fusion.open(context({"gps": GPS, "speed": SPEED}, None, None))

    def step(number: int) -> Sequence[Row]:
        moment = number * PERIOD
        fix = (moment, number * 2.0, number * 1.0, 0.46)
        return list(fusion.process({"gps": [fix], "speed": [(moment + 1000, 22.4)]}, moment * 1000))

    return step


def type2(vehicles: int, late: bool = False) -> Step:
    fusion = SurroundingsFusion()
    fusion.open(context({"board": VEHICLE, "v2v": VEHICLE}, "id", "sensor"))

    def row(moment: int, number: int, vehicle: int, sensor: str) -> Row:
        x, y = number * 2.0 + vehicle, 10.0 * vehicle
        return (moment, vehicle, sensor, vehicle == 0, x, y, 20.0, 0.0, 4.0, 4.0, 0.25, 0.25)

    def step(number: int) -> Sequence[Row]:
        moment = number * PERIOD
        board = [row(moment, number, 0, "own")]
        v2v = [row(moment - 100 * v, number, v, "v2v") for v in range(1, vehicles)]
        if late:
            board.append(row(moment - PERIOD - 50, number - 1, 0, "own"))
        return list(fusion.process({"board": board, "v2v": v2v}, moment * 1000))

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="per line")
    seconds = parser.parse_args().seconds
    peer_step = filterpy_step()
    peer = rate(peer_step, seconds) if peer_step else None
    steps: list[tuple[str, Step, int]] = [
        ("filter step (predict, position)", filter_step(), 1),
        ("type 1, GPS and speed", type1(), 2),
        ("type 2, 1 vehicle", type2(1), 1),
        ("type 2, 10 vehicles", type2(10), 10),
        ("type 2, 60 vehicles", type2(60), 60),
        ("type 2, 10 vehicles, 1 late", type2(10, late=True), 11),
    ]
    print("| | executions/s | tuples/s | tuples/s : filterpy steps/s |\n|---|---|---|---|")
    if peer is not None:
        print(f"| filterpy step (predict, position) | {peer:,.0f} | {peer:,.0f} | 1.0 |")
    for name, step, tuples in steps:
        executions = rate(step, seconds)
        ratio = "–" if peer is None else f"{executions * tuples / peer:.1f}"
        print(f"| {name} | {executions:,.0f} | {executions * tuples:,.0f} | {ratio} |")
    if peer is None:
        print("filterpy is not installed: no ratios")


if __name__ == "__main__":
    main()
