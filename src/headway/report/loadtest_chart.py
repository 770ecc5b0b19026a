"""A load test in one picture: for each policy, the miss ratio of every task over the load.

A line is the mean over the trials, the bar at each point one standard deviation either way. Hard
tasks are drawn solid, soft ones dashed."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.overload.trials import Cell
from headway.report.panels import axes, panels_svg, styled
from headway.report.svg import element, group, label, number, width_of

WIDTH, HEIGHT, LEFT, TOP, GAP, LEGEND = 520.0, 150.0, 56.0, 44.0, 62.0, 150.0
SAMPLE = 44.0
"""where a legend's text begins, behind its line"""
_HUES = (212, 28, 140, 330, 52, 268, 178, 4, 96, 300)
_STYLE = styled(
    ".line{fill:none;stroke-width:2}.soft{stroke-dasharray:6 3}"
    + "".join(f".t{i}{{stroke:hsl({hue} 62% 42%)}}" for i, hue in enumerate(_HUES)),
    "".join(f".t{i}{{stroke:hsl({hue} 70% 66%)}}" for i, hue in enumerate(_HUES)),
)


def misses_svg(cells: Sequence[Cell], title: str) -> str:
    """A panel per policy."""
    policies = list(dict.fromkeys(cell.policy for cell in cells))
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    legend = max([LEGEND, *(SAMPLE + 12 + width_of(_named(cell), 11) for cell in cells)])
    return panels_svg(
        title,
        [
            _panel([cell for cell in cells if cell.policy == one], one, tasks, legend)
            for one in policies
        ],
        style=_STYLE,
        left=LEFT,
        top=TOP,
        width=WIDTH,
        right=legend,
        pitch=max(HEIGHT, 15.0 * len(tasks)) + GAP,  # a legend may be higher than its panel
        first=22,
    )


def _panel(cells: Sequence[Cell], policy: str, tasks: Sequence[str], legend: float) -> str:
    loads = sorted({cell.load for cell in cells})
    parts = [
        label(policy, 0, -8, WIDTH, size=12, bold=True),
        axes(WIDTH, HEIGHT),
        label("100 %", -6, 5, LEFT, anchor="end", class_="muted"),
        label("0", -6, HEIGHT, LEFT, anchor="end", class_="muted"),
    ]
    most = 11
    shown = loads[:: max(1, -(-len(loads) // most))]
    parts += [
        label(f"{load} %", _x(load, loads), HEIGHT + 15, 60, anchor="middle", class_="muted")
        for load in shown
    ]
    for place, task in enumerate(tasks):
        mine = {cell.load: cell for cell in cells if cell.task == task}
        parts += _line(task, place, [mine[load] for load in loads if load in mine], loads, legend)
    return "".join(parts)


def _named(cell: Cell) -> str:
    return f"{cell.task} ({'hard' if cell.hard else 'soft'})"


def _line(
    task: str, place: int, cells: Sequence[Cell], loads: Sequence[int], legend: float
) -> list[str]:
    colour = f"t{place % len(_HUES)}"
    kind = "hard" if cells[0].hard else "soft"
    points = [(_x(cell.load, loads), _y(cell.mean)) for cell in cells]
    path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
    if len(points) == 1:
        path += f"h{number(WIDTH)}"
    bars = "".join(
        f"M{number(x)} {number(_y(min(1.0, cell.mean + cell.deviation)))}"
        f"V{number(_y(max(0.0, cell.mean - cell.deviation)))}"
        for (x, _), cell in zip(points, cells, strict=True)
    )
    title = "\n".join(f"{task} at {cell.load} %: {100 * cell.mean:.2f} %" for cell in cells)
    y = 10 + 15.0 * place
    return [
        group(
            "task",
            element("path", class_=f"line {kind} {colour}", d=path),
            element("path", class_=f"axis {colour}", d=bars),
            title=title,
        ),
        element("path", class_=f"line {kind} {colour}", d=f"M{number(WIDTH + 12)} {number(y)}h26"),
        label(_named(cells[0]), WIDTH + SAMPLE, y + 4, legend - SAMPLE - 6),
    ]


def _x(load: int, loads: Sequence[int]) -> float:
    span = loads[-1] - loads[0]
    return WIDTH * (load - loads[0]) / span if span else 0.0


def _y(ratio: float) -> float:
    return HEIGHT * (1 - ratio)
