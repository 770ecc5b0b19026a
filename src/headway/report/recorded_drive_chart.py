"""The car ahead over a drive, as SVG: its distance, and the time to collision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from headway.experiments.collision.encounters import STOPPING_TIME
from headway.experiments.recorded.car_ahead import CarAhead
from headway.report.panels import panels_svg, styled
from headway.report.svg import element, label, number

WIDTH, HEIGHT, LEFT, TOP, GAP, RIGHT = 760, 170, 58, 52, 54, 20
FARTHEST, LONGEST = 90.0, 40.0
"""the ends of the scales: m and s"""
BREAK = 0.35
"""s without a car ahead that end a line"""
_STYLE = styled(
    ".grid{stroke:#e3e9f0;fill:none}"
    ".due{stroke:#b3261e;stroke-dasharray:5 4;fill:none}text.due{fill:#b3261e;stroke:none}"
    ".radar{fill:#c98a00}.fused{stroke:#1f63b5;stroke-width:1.8;fill:none}",
    ".grid{stroke:#232d3a}.due{stroke:#ff8a80}text.due{fill:#ff8a80}"
    ".radar{fill:#f0c04a}.fused{stroke:#7fb2f5}",
)

Numbers = NDArray[np.float64]
Curve = tuple[Numbers, Numbers]


def recorded_drive_svg(title: str, radar: CarAhead, fused: CarAhead) -> str:
    """``radar`` as dots, ``fused`` as a line."""
    start = min(radar.time[0], fused.time[0])
    distances, ttcs = (
        tuple((one.time - start, values) for one, values in pair)
        for pair in (
            ((radar, radar.distance), (fused, fused.distance)),
            ((radar, radar.ttc), (fused, fused.ttc)),
        )
    )
    panels = [
        ("distance to the car ahead (m)", distances, FARTHEST, 30.0, None),
        ("time to collision (s), where it closes faster than 0.5 m/s", ttcs, LONGEST, 10.0,
         STOPPING_TIME),
    ]  # fmt: skip
    end = max(float(times[-1]) for times, _ in distances)
    return panels_svg(
        title,
        [_panel(text, curves, end, top, step, due) for text, curves, top, step, due in panels],
        style=_STYLE,
        left=LEFT,
        top=TOP,
        width=WIDTH,
        right=RIGHT,
        pitch=HEIGHT + GAP,
        first=0,
    )


def _panel(
    text: str, curves: Sequence[Curve], end: float, top: float, step: float, due: float | None
) -> str:
    def x(time: float) -> float:
        return WIDTH * time / end

    def y(value: float) -> float:
        return HEIGHT * (1 - value / top)

    radar, fused = curves
    parts = [label(text, 0, -8, WIDTH, size=12, bold=True)]
    for value in np.arange(0, top + step / 2, step):
        level = y(float(value))
        parts.append(element("path", class_="grid", d=f"M0 {number(level)}H{WIDTH}"))
        parts.append(_tick(f"{value:g}", -6, level + 4, "end"))
    parts += [
        _tick(f"{second} s", x(second), HEIGHT + 16, "middle")
        for second in range(0, int(end) + 1, 10)
    ]
    if due is not None:
        parts.append(element("path", class_="due", d=f"M0 {number(y(due))}H{WIDTH}"))
        parts.append(label("2.8 s to stop", WIDTH - 82, y(due) - 5, 90, class_="due"))
    parts += [
        element("circle", class_="radar", cx=x(time), cy=y(value), r=1.3)
        for time, value in _inside(radar, top)
    ]
    parts.append(element("path", class_="fused", d=_line(_inside(fused, top), x, y)))
    parts.append(element("path", class_="axis", d=f"M0 0V{HEIGHT}H{WIDTH}"))
    parts += [
        element("circle", class_="radar", cx=WIDTH - 222, cy=-12, r=3),
        label("radar alone", WIDTH - 214, -8, 90),
        element("path", class_="fused", d=f"M{WIDTH - 138} -12h18"),
        label("fused by the query", WIDTH - 114, -8, 120),
    ]
    return "".join(parts)


def _tick(text: str, x: float, y: float, anchor: str) -> str:
    return label(text, x, y, LEFT, anchor=anchor, class_="muted")


def _inside(curve: Curve, top: float) -> list[tuple[float, float]]:
    times, values = curve
    there = np.isfinite(values) & (values <= top)
    return list(zip(times[there].tolist(), values[there].tolist(), strict=True))


def _line(
    points: Iterable[tuple[float, float]],
    x: Callable[[float], float],
    y: Callable[[float], float],
) -> str:
    listed = list(points)
    path = [f"M{number(x(listed[0][0]))} {number(y(listed[0][1]))}"] if listed else ["M0 0"]
    for (before, _), (time, value) in pairwise(listed):
        kind = "M" if time - before > BREAK else "L"
        path.append(f"{kind}{number(x(time))} {number(y(value))}")
    return "".join(path)
