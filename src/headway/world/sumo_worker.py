"""Runs SUMO and writes where every car was. A program of its own: libsumo keeps one simulation per
process, and carries an Arrow library that does not share a process with pyarrow's.

    python sumo_worker.py NET ROUTES SECONDS STEP SEED RESULT.npz
"""

from __future__ import annotations

import math
import sys
from typing import Any

import libsumo
import numpy as np

LEAST_SPEED = 1e-6
"""m/s: a car at rest keeps this, so that its velocity still tells where it heads"""


def run(net: str, routes: str, seconds: float, step: float, seed: int) -> dict[str, Any]:
    """Names, and for each step, from time 0, x, y, vx, vy of the middle of each car."""
    libsumo.start(
        ["sumo", "--net-file", net, "--route-files", routes, "--step-length", str(step),
         "--seed", str(seed), "--no-step-log", "--no-warnings", "--duration-log.disable",
         "--xml-validation", "never", "--xml-validation.net", "never"]
    )  # fmt: skip
    samples: list[tuple[int, int, float, float, float, float]] = []
    columns: dict[str, int] = {}
    steps = round(seconds / step) + 1
    try:
        while libsumo.simulation.getTime() < seconds:
            libsumo.simulationStep()
            number = round(libsumo.simulation.getTime() / step)
            for name in libsumo.vehicle.getIDList():
                column = columns.setdefault(name, len(columns))
                x, y = libsumo.vehicle.getPosition(name)  # of the front bumper
                angle = math.radians(90 - libsumo.vehicle.getAngle(name))
                speed = max(libsumo.vehicle.getSpeed(name), LEAST_SPEED)
                back = libsumo.vehicle.getLength(name) / 2
                east, north = math.cos(angle), math.sin(angle)
                motion = (x - back * east, y - back * north, speed * east, speed * north)
                samples.append((number, column, *motion))
    finally:
        libsumo.close()
    table = np.full((4, steps, len(columns)), np.nan)
    if samples:
        rows = np.array(samples)
        at, which = rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64)
        table[:, at, which] = rows[:, 2:].T
    return {"names": np.array(list(columns), dtype=np.str_), "motion": table}


if __name__ == "__main__":
    net, routes, seconds, step, seed, result = sys.argv[1:]
    np.savez(result, **run(net, routes, float(seconds), float(step), int(seed)))
