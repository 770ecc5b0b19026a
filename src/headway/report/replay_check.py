"""Whether the parts of a replay fit together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields

import numpy as np

from headway.errors import DataError, Problem
from headway.report.replay import SENSORS, Estimates, OutputLatency, Replay, ReplayRun


def check_replay(replay: Replay) -> None:
    """DataError with everything that is wrong."""
    problems = [*_of_traffic(replay), *_of_runs(replay)]
    if problems:
        raise DataError(problems)


def _of_traffic(replay: Replay) -> Iterator[Problem]:
    traffic = replay.traffic
    ids = [car.id for car in traffic.cars]
    yield from _twice("traffic.cars", ids)
    if replay.own not in ids:
        yield Problem("our car is not among the cars", at="own", got=str(replay.own))
    if traffic.frame <= 0:
        yield Problem("frames need time between them", at="traffic.frame", got=str(traffic.frame))
    for name, values in (("x", traffic.x), ("y", traffic.y)):
        if values.ndim != 2 or values.shape[1] != len(ids) or not len(values):
            want = f"give (frames, {len(ids)}), at least one frame"
            got = f"shape {values.shape}"
            yield Problem("not one column for each car", at=f"traffic.{name}", got=got, want=want)
            return
    if traffic.x.shape != traffic.y.shape:
        got = f"{traffic.x.shape} and {traffic.y.shape}"
        yield Problem("x and y are not of one length", at="traffic", got=got)
    elif np.isinf(traffic.x).any() or np.isinf(traffic.y).any():
        yield Problem("a car is infinitely far away", at="traffic", want="use NaN for 'not there'")
    elif not (np.isfinite(traffic.x) & np.isfinite(traffic.y)).any():
        yield Problem("no car is ever on the map", at="traffic")


def _of_runs(replay: Replay) -> Iterator[Problem]:
    if not replay.runs:
        yield Problem("there is no run", at="runs", want="give at least one")
    yield from _twice("runs", [run.name for run in replay.runs])
    for run in replay.runs:
        for problem in _of_run(run):
            yield problem.within(f"runs.{run.name}")


def _of_run(run: ReplayRun) -> Iterator[Problem]:
    yield from _of_estimates(run.estimates)
    yield from _twice("latencies", [latency.output for latency in run.latencies])
    for latency in run.latencies:
        yield from _of_latency(latency)
    times = [warning.produced for warning in run.warnings]
    if times != sorted(times):
        yield Problem("are not in order of time", at="warnings", want="sort them by 'produced'")


def _of_estimates(estimates: Estimates) -> Iterator[Problem]:
    lengths = {field.name: len(getattr(estimates, field.name)) for field in fields(Estimates)}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{name} {length}" for name, length in lengths.items())
        yield Problem("columns are not of one length", at="estimates", got=got)
        return
    if (np.diff(estimates.produced) < 0).any():
        want = "sort them by 'produced', stably"
        yield Problem("are not in order of time", at="estimates", want=want)
    if (estimates.sensed > estimates.produced).any():
        first = int(np.flatnonzero(estimates.sensed > estimates.produced)[0])
        got = f"row {first}: {estimates.sensed[first]} after {estimates.produced[first]} µs"
        yield Problem("an output came before it was sensed", at="estimates", got=got)
    for name in ("x", "y", "vx", "vy", "var_x", "var_y", "cov_xy"):
        if not np.isfinite(getattr(estimates, name)).all():
            yield Problem("a value is not a finite number", at=f"estimates.{name}")
    if (estimates.var_x < 0).any() or (estimates.var_y < 0).any():
        yield Problem("a variance is negative", at="estimates")
    if lengths["sensor"] and not 0 <= estimates.sensor.min() <= estimates.sensor.max() < len(
        SENSORS
    ):
        want = f"give places in {', '.join(SENSORS)}"
        yield Problem("a sensor is unknown", at="estimates.sensor", want=want)


def _of_latency(latency: OutputLatency) -> Iterator[Problem]:
    at = f"latencies.{latency.output}"
    if len(latency.produced) != len(latency.latency):
        got = f"{len(latency.produced)} times and {len(latency.latency)} latencies"
        yield Problem("columns are not of one length", at=at, got=got)
    elif (latency.latency < 0).any():
        yield Problem("a latency is negative", at=at, got=f"{latency.latency.min()} µs")


def _twice(at: str, names: Iterable[object]) -> Iterator[Problem]:
    for name, count in Counter(names).items():
        if count > 1:
            yield Problem("stands there more than once", at=at, got=f"{name} {count} times")
