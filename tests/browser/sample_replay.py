"""A made-up drive over a grid of streets with two runs, one quick and one slow."""

from __future__ import annotations

import numpy as np

from headway.report.replay.replay_data import (
    CollisionWarning,
    Encounter,
    Fact,
    OutputLatency,
    Rectangle,
    Replay,
    ReplayCar,
    ReplayEstimates,
    ReplayMap,
    ReplayRun,
    ReplayTraffic,
    Street,
)

BLOCK, HALF, SPEED, FRAME = 100.0, 6.0, 60 / 3.6, 100_000
OWN = 7
WARNED = 100
"""the car on collision course"""
WARNING_AT = {"S-EDF": 2_300_000, "FIFO+": 4_700_000}
"""µs"""


def grid_map(blocks: int) -> ReplayMap:
    span = blocks * BLOCK
    return ReplayMap(
        buildings=tuple(
            Rectangle(i * BLOCK + 8, j * BLOCK + 8, (i + 1) * BLOCK - 8, (j + 1) * BLOCK - 8)
            for i in range(blocks)
            for j in range(blocks)
        ),
        streets=tuple(
            street
            for i in range(blocks + 1)
            for street in (
                Street(i * BLOCK, 0, i * BLOCK, span, 2 * HALF),
                Street(0, i * BLOCK, span, i * BLOCK, 2 * HALF),
            )
        ),
    )


def sample_replay(cars: int = 40, seconds: float = 8.0, blocks: int = 5, seed: int = 3) -> Replay:
    """Our car goes north on the middle street; car 100 comes from the west to meet it at 6 s."""
    random = np.random.default_rng(seed)
    traffic, velocity = _traffic(cars, seconds, blocks, random)
    runs = tuple(
        _run(name, traffic, velocity, seconds, delay, random)
        for name, delay in (("S-EDF", 25_000), ("FIFO+", 180_000))
    )
    return Replay(
        title="Collision warning: a drive among " + f"{cars} cars <made up>",
        own=OWN,
        map=grid_map(blocks),
        traffic=traffic,
        runs=runs,
        facts=(Fact("seed", str(seed)), Fact("cars", str(cars)), Fact("V2V", "10 /s a car")),
    )


def _traffic(
    cars: int, seconds: float, blocks: int, random: np.random.Generator
) -> tuple[ReplayTraffic, np.ndarray]:
    times = np.arange(round(seconds * 1e6) // FRAME + 1) * FRAME / 1e6
    span, middle = blocks * BLOCK, blocks // 2 * BLOCK
    meet = np.array([middle, 3 * BLOCK])
    start = np.empty((cars, 2))
    velocity = np.empty((cars, 2))
    for number in range(cars):
        street, way = random.integers(0, blocks + 1) * BLOCK, random.choice([-1.0, 1.0])
        along = random.uniform(0, span)
        if random.random() < 0.5:
            start[number], velocity[number] = (street + 3 * way, along), (0, SPEED * way)
        else:
            start[number], velocity[number] = (along, street - 3 * way), (SPEED * way, 0)
    velocity[0], velocity[1] = (0, SPEED), (SPEED, 0)
    start[:2] = meet - 6.0 * velocity[:2]
    place = start + times[:, None, None] * velocity
    place[:, 2:] = np.mod(place[:, 2:], span)
    if cars > 4:
        place[: len(times) // 2, 4] = np.nan  # drives on to the map halfway
    ids = (OWN, WARNED, *range(200, 198 + cars))
    listed = tuple(
        ReplayCar(id, v2v=id != WARNED and id % 4 > 0, collision_course=id == WARNED) for id in ids
    )
    return ReplayTraffic(listed, place[..., 0], place[..., 1], FRAME), velocity


def _run(
    name: str,
    traffic: ReplayTraffic,
    velocity: np.ndarray,
    seconds: float,
    delay: int,
    random: np.random.Generator,
) -> ReplayRun:
    rows = []
    for frame in range(len(traffic.x)):
        sensed = frame * FRAME
        own = np.array([traffic.x[frame, 0], traffic.y[frame, 0]])
        for number, car in enumerate(traffic.cars):
            at = np.array([traffic.x[frame, number], traffic.y[frame, number]])
            near = np.hypot(*(at - own)) < 200
            if not near or (car.id == WARNED and sensed + 100_000 < WARNING_AT[name]):
                continue
            late = delay + int(random.exponential(delay))
            noise = random.normal(0, 1.2, 2)
            sensor = 0 if car.id == OWN else int(random.choice([2, 3])) if car.v2v else 1
            rows.append(
                (
                    sensed + late,
                    sensed,
                    car.id,
                    *(at + noise),
                    *velocity[number],
                    1.5,
                    0.9,
                    0.5,
                    sensor,
                )
            )
    rows.sort(key=lambda row: row[0])
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    latency = columns[0] - columns[1]
    warned = WARNING_AT[name]
    first = (6_000_000 - warned) / 1e6
    warnings = tuple(
        CollisionWarning(warned + step * FRAME, WARNED, first - step / 10)
        for step in range(int((min(seconds, 6.0) * 1e6 - warned) // FRAME))
    )
    crash = first < 2.8
    missed = float(np.mean(latency > 30_000))
    return ReplayRun(
        name=name,
        estimates=ReplayEstimates(*columns),
        warnings=warnings,
        encounters=(Encounter(WARNED, 6_000_000, crash, warned, first),),
        latencies=(
            OutputLatency("output1", 60_000, columns[0], latency),
            OutputLatency("output2", 300_000, columns[0], latency + 60_000),
            OutputLatency("output3", None, columns[0], latency + 90_000),
        ),
        facts=(
            Fact("policy", name),
            Fact("V2V tuples", "400 /s"),
            Fact("output1 missed", f"{100 * missed:.1f} %", bad=missed > 0),
            Fact("crashes", "1 of 1" if crash else "0 of 1", bad=crash),
        ),
    )
