"""A drive as one self-contained HTML page to play, scrub and look into.

The page's script (``assets/replay_data.js``) reads a header of plain values and a store of columns.
Columns are made small: rounded to steps, then differences, byte planes and deflate. Neighbours in a
column are close (a car moves steadily, times grow), so their differences are small whole numbers.
Signs are folded in (0, -1, 1, -2, … become 0, 1, 2, 3, …) and the first bytes of all numbers stand
together, then all second bytes, and so on: long runs of zeros, which deflate takes away.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import DataError
from headway.report.html import escaped, page
from headway.report.replay import replay_data
from headway.world.drive_scenario import KMH

# ---------------------------------------------------------------- columns as few bytes

ABSENT = -(2**31)
"""Stands for NaN."""
LARGEST = 2**31 - 1


class ColumnStore:
    """Collects columns; each is told by its place in the bytes, its length and its step."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, values: NDArray[Any], step: float = 1.0) -> dict[str, float]:
        """Rounds to whole steps; DataError when that needs more than 31 bits."""
        flat = np.asarray(values, dtype=np.float64).ravel()
        absent = np.isnan(flat)
        steps = np.rint(np.where(absent, 0.0, flat) / step)
        if steps.size and np.abs(steps).max() > LARGEST:
            got, want = f"{np.abs(flat[~absent]).max():g}", f"at most {LARGEST * step:g} fits"
            raise DataError("a number is too large for a replay", got=got, want=want)
        whole = np.where(absent, ABSENT, steps).astype(np.int64)
        part = _planes(whole)
        told = {"at": self._size, "count": len(flat), "step": step}
        self._parts.append(part)
        self._size += len(part)
        return told

    def base64(self) -> str:
        """All columns, deflated, as text."""
        return base64.b64encode(zlib.compress(b"".join(self._parts), 9)).decode("ascii")


def _planes(whole: NDArray[np.int64]) -> bytes:
    """Differences modulo 2³², signs folded in, the lowest bytes of all first."""
    differences = np.diff(whole, prepend=np.int64(0)).astype(np.uint32).astype(np.int32)
    folded = ((differences << 1) ^ (differences >> 31)).astype(np.uint32)
    return folded.astype("<u4").view(np.uint8).reshape(-1, 4).T.tobytes()


# ---------------------------------------------------------------- what the script reads


TENTH_OF_A_MILLISECOND = 100
CENTIMETRE = 0.01
DEGREE = np.pi / 180
CHI_SQUARE_95 = -2.0 * np.log(0.05)
"""The 95 % quantile of χ² with two degrees of freedom: the ellipse holds 95 % of the positions."""

Header = dict[str, Any]
Floats = NDArray[np.float64]


def pack(replay: replay_data.Replay) -> tuple[Header, str]:
    """The header, and the columns it tells of as text."""
    store = ColumnStore()
    header: Header = {
        "own": replay.own,
        "forget": replay.forget,
        "stoppingTime": replay.stopping_time,
        "opening": opening(replay),
        "sensors": replay_data.SENSORS,
        "buildings": [[b.left, b.bottom, b.right, b.top] for b in replay.map.buildings],
        "streets": [[s.x1, s.y1, s.x2, s.y2, s.width] for s in replay.map.streets],
        "traffic": _traffic(replay.traffic, store),
        "runs": [_run(run, store) for run in replay.runs],
    }
    return header, store.base64()


def _traffic(traffic: replay_data.ReplayTraffic, store: ColumnStore) -> Header:
    there = np.isfinite(traffic.x) & np.isfinite(traffic.y)
    return {
        "frame": traffic.frame,
        "frames": len(traffic.x),
        "cars": [[car.id, int(car.v2v), int(car.collision_course)] for car in traffic.cars],
        # car after car, so that neighbours in the column are close
        "x": store.add(np.where(there, traffic.x, np.nan).T, CENTIMETRE),
        "y": store.add(np.where(there, traffic.y, np.nan).T, CENTIMETRE),
    }


def _run(run: replay_data.ReplayRun, store: ColumnStore) -> Header:
    return {
        "name": run.name,
        "known": _estimates(run.estimates, store),
        "warnings": _warnings(run.warnings, store),
        "encounters": [
            [one.id, one.impact, int(one.crash), one.detected, one.ttc, *_braked(one.braked)]
            for one in run.encounters
        ],
        "latencies": [_latency(latency, store) for latency in run.latencies],
    }


def _braked(way: replay_data.BrakedWay | None) -> list[list[float]]:
    return [] if way is None else [[way.begin, way.speed, way.reaction, way.deceleration]]


def _warnings(warnings: tuple[replay_data.CollisionWarning, ...], store: ColumnStore) -> Header:
    ids = list(dict.fromkeys(warning.id for warning in warnings))
    place = {id: number for number, id in enumerate(ids)}
    return {
        "ids": ids,
        "produced": _times(np.array([w.produced for w in warnings], np.int64), store),
        "car": store.add(np.array([place[w.id] for w in warnings])),
        "ttc": store.add(np.array([w.ttc for w in warnings]), 0.01),
    }


def _estimates(estimates: replay_data.ReplayEstimates, store: ColumnStore) -> Header:
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


def _latency(latency: replay_data.OutputLatency, store: ColumnStore) -> Header:
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


# ---------------------------------------------------------------- the page


SCRIPTS = (
    "replay_data.js",
    "replay_scene.js",
    "replay_map.js",
    "replay_marks.js",
    "replay_strips.js",
    "replay_player.js",
    "replay_tip.js",
    "replay_controls.js",
)
BEFORE_STORY = 3_000_000
"""µs: the page opens this far before the first of these cars gets known"""
BEFORE_DETECTION = 500_000
"""µs: a jump to a car goes this far before its detection."""


def replay_page(replay: replay_data.Replay) -> str:
    """The page; DataError when the parts of the replay do not fit together."""
    replay_data.check_replay(replay)
    header, columns = pack(replay)
    body = Template(_asset("replay.html")).substitute(
        title=escaped(replay.title),
        facts=_facts(replay.facts),
        story=escaped(story(replay)),
        other_runs="".join(
            f'<option value="{number}">{escaped(run.name)}</option>'
            for number, run in enumerate(replay.runs)
        ),
        runs_hidden="" if len(replay.runs) > 1 else " hidden",
        runs="".join(_choice(run, number) for number, run in enumerate(replay.runs)),
        summaries="\n".join(
            _summary(run, number, _meant_by_crash(replay)) for number, run in enumerate(replay.runs)
        ),
        # no text of the user's may end the script element
        header=json.dumps(header, separators=(",", ":")).replace("<", "\\u003c"),
        columns=columns,
        script="\n".join(_asset(name) for name in SCRIPTS),
    )
    return page(replay.title, [body], _asset("replay.css"))


def opening(replay: replay_data.Replay) -> int:
    """The moment that the page opens at (µs): a little before the first of the cars that would hit
    ours gets known in any run; the start of the drive where there is none."""
    first: dict[int, list[replay_data.Encounter]] = {}
    for one in (one for run in replay.runs for one in run.encounters):
        first.setdefault(one.impact, []).append(one)
    if not first:
        return 0
    impact = min(first)
    known = [one.detected for one in first[impact] if one.detected is not None]
    told = min([*known, impact - round(replay.stopping_time * 1e6)])
    return max(0, told - BEFORE_STORY)


def story(replay: replay_data.Replay) -> str:
    """What one sees, in a sentence or two."""
    meeting = sum(car.collision_course for car in replay.traffic.cars)
    seen = f"Our car (blue) drives among {len(replay.traffic.cars) - 1:,} others"
    if not meeting:
        return f"{seen}; ellipses show where it believes them to be."
    hit = "one of them would hit it" if meeting == 1 else f"{meeting} of them would hit it"
    told = [
        f"{run.name} {_how_it_went(run.encounters, brakes=replay.brakes)}"
        for run in replay.runs
        if run.encounters
    ]
    return f"{seen}, and {hit} (orange). {'; '.join(told)}." if told else f"{seen}, and {hit}."


def _how_it_went(met: Sequence[replay_data.Encounter], *, brakes: bool) -> str:
    crashes = sum(one.crash for one in met)
    if brakes:
        return f"brakes and hits {crashes} of {len(met)}"
    return f"knows {len(met) - crashes} of {len(met)} in time to stop"


def _asset(name: str) -> str:
    return files("headway.report").joinpath("assets", name).read_text(encoding="utf-8")


def _choice(run: replay_data.ReplayRun, number: int) -> str:
    checked = " checked" if number == 0 else ""
    choice = f'<input type="radio" name="run" value="{number}"{checked}>'
    return f"<label>{choice}{escaped(run.name)}</label>"


def _facts(facts: Sequence[replay_data.Fact]) -> str:
    bad = ' class="broken"'
    return "".join(
        f"<div><dt>{escaped(fact.label)}</dt>"
        f"<dd{bad if fact.bad else ''}>{escaped(fact.value)}</dd></div>"
        for fact in facts
    )


def _meant_by_crash(replay: replay_data.Replay) -> str:
    if replay.brakes:
        return (
            "A crash: the two cars touch. Our car brakes at the first warning of each (the outline "
            "on the map), as if none had been before; blue, it drives on to meet the next."
        )
    return (
        "A crash: our car knew of the other less than "
        f"{replay.stopping_time:g} s before the impact, or never. So long it takes to stop."
    )


def _summary(run: replay_data.ReplayRun, number: int, meant_by_crash: str) -> str:
    parts = [f'<section data-run="{number}"><h2>{escaped(run.name)}</h2>']
    if run.facts:
        parts.append(f'<dl class="facts stacked">{_facts(run.facts)}</dl>')
    if run.encounters:
        rows = "\n".join(_encounter(one) for one in sorted(run.encounters, key=lambda e: e.impact))
        parts.append(
            "<h3>Cars on collision course</h3>\n<table><thead><tr>"
            '<th scope="col">Car</th><th scope="col" class="number">TTC when detected</th>'
            '<th scope="col">Outcome</th><td></td></tr></thead>\n'
            f"<tbody>{rows}</tbody></table>\n"
            f'<p class="muted small">{meant_by_crash}</p>'
        )
    return "\n".join(parts) + "</section>"


def _encounter(one: replay_data.Encounter) -> str:
    ttc = "never" if one.ttc is None else f"{one.ttc:.1f} s"
    crashed = "crash" if one.hit is None else f"crash at {one.hit / KMH:.0f} km/h"
    passed = "in time" if one.braked is None else "no touch"
    outcome = (
        f'<td class="broken">{crashed}</td>' if one.crash else f'<td class="kept">{passed}</td>'
    )
    jump = max(0, (one.impact if one.detected is None else one.detected) - BEFORE_DETECTION)
    return (
        f'<tr><td>{one.id}</td><td class="number">{ttc}</td>{outcome}<td>'
        f'<button type="button" class="jump" data-jump="{jump}" '
        f'aria-label="Show car {one.id}">show</button></td></tr>'
    )
