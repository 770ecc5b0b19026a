"""A replay as what the page's script reads: a header of plain values and a store of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.report.replay import (
    SENSORS,
    CollisionWarning,
    Estimates,
    OutputLatency,
    Replay,
    ReplayRun,
    Traffic,
)
from headway.report.replay_columns import ColumnStore

TENTH_OF_A_MILLISECOND = 100
CENTIMETRE = 0.01
DEGREE = np.pi / 180
CHI_SQUARE_95 = -2.0 * np.log(0.05)
"""The 95 % quantile of χ² with two degrees of freedom: the ellipse holds 95 % of the positions."""

Header = dict[str, Any]
Floats = NDArray[np.float64]


def pack(replay: Replay) -> tuple[Header, str]:
    """The header, and the columns it tells of as text."""
    store = ColumnStore()
    header: Header = {
        "own": replay.own,
        "forget": replay.forget,
        "stoppingTime": replay.stopping_time,
        "sensors": SENSORS,
        "buildings": [[b.left, b.bottom, b.right, b.top] for b in replay.map.buildings],
        "streets": [[s.x1, s.y1, s.x2, s.y2, s.width] for s in replay.map.streets],
        "traffic": _traffic(replay.traffic, store),
        "runs": [_run(run, store) for run in replay.runs],
    }
    return header, store.base64()


def _traffic(traffic: Traffic, store: ColumnStore) -> Header:
    there = np.isfinite(traffic.x) & np.isfinite(traffic.y)
    return {
        "frame": traffic.frame,
        "frames": len(traffic.x),
        "cars": [[car.id, int(car.v2v), int(car.collision_course)] for car in traffic.cars],
        # car after car, so that neighbours in the column are close
        "x": store.add(np.where(there, traffic.x, np.nan).T, CENTIMETRE),
        "y": store.add(np.where(there, traffic.y, np.nan).T, CENTIMETRE),
    }


def _run(run: ReplayRun, store: ColumnStore) -> Header:
    return {
        "name": run.name,
        "known": _estimates(run.estimates, store),
        "warnings": _warnings(run.warnings, store),
        "encounters": [
            [one.id, one.impact, int(one.crash), one.detected, one.ttc] for one in run.encounters
        ],
        "latencies": [_latency(latency, store) for latency in run.latencies],
    }


def _warnings(warnings: tuple[CollisionWarning, ...], store: ColumnStore) -> Header:
    ids = list(dict.fromkeys(warning.id for warning in warnings))
    place = {id: number for number, id in enumerate(ids)}
    return {
        "ids": ids,
        "produced": _times(np.array([w.produced for w in warnings], np.int64), store),
        "car": store.add(np.array([place[w.id] for w in warnings])),
        "ttc": store.add(np.array([w.ttc for w in warnings]), 0.01),
    }


def _estimates(estimates: Estimates, store: ColumnStore) -> Header:
    """Object after object, each in order of time: the script searches in an object's rows."""
    order = np.lexsort((np.arange(len(estimates.id)), estimates.id))
    ids, starts = np.unique(estimates.id[order], return_index=True)
    major, minor, angle = confidence_ellipse(
        estimates.var_x[order], estimates.var_y[order], estimates.cov_xy[order]
    )
    return {
        "ids": ids.tolist(),
        "starts": [*starts.tolist(), len(order)],
        "produced": _times(estimates.produced[order], store),
        "latency": _times((estimates.produced - estimates.sensed)[order], store),
        "x": store.add(estimates.x[order], CENTIMETRE),
        "y": store.add(estimates.y[order], CENTIMETRE),
        "vx": store.add(estimates.vx[order], CENTIMETRE),
        "vy": store.add(estimates.vy[order], CENTIMETRE),
        "major": store.add(major, CENTIMETRE),
        "minor": store.add(minor, CENTIMETRE),
        "angle": store.add(angle, DEGREE),
        "sensor": store.add(estimates.sensor[order]),
    }


def _latency(latency: OutputLatency, store: ColumnStore) -> Header:
    order = np.argsort(latency.produced, kind="stable")
    return {
        "output": latency.output,
        "deadline": latency.deadline,
        "produced": _times(latency.produced[order], store),
        # exact, so that the page finds the same misses
        "latency": store.add(latency.latency[order]),
    }


def _times(times: NDArray[np.int64], store: ColumnStore) -> dict[str, float]:
    return store.add(times, TENTH_OF_A_MILLISECOND)


def confidence_ellipse(
    var_x: NDArray[Any], var_y: NDArray[Any], cov_xy: NDArray[Any]
) -> tuple[Floats, Floats, Floats]:
    """Half axes (m) and the long one's angle to the x axis (rad) of the 95 % ellipse.

    The eigenvalues of ((var_x, cov_xy), (cov_xy, var_y)) are mean ± spread. Rounding may take a
    covariance a little beyond what the variances allow; the short axis is then zero.
    """
    mean, half = (var_x + var_y) / 2.0, (var_x - var_y) / 2.0
    spread = np.hypot(half, cov_xy)
    major = np.sqrt(CHI_SQUARE_95 * (mean + spread))
    minor = np.sqrt(CHI_SQUARE_95 * np.maximum(mean - spread, 0.0))
    return major, minor, np.arctan2(cov_xy, half) / 2.0
