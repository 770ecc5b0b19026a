"""A fleet in one picture: for each output, the worst latency of every vehicle against the deadline.

Vehicles stand side by side from best to worst, so the curve shows how many are how near to their
deadline. The scale is the deadline: 1.0 is the last moment.
"""

from __future__ import annotations

from headway.engine.results import OutputSummary
from headway.model.quantities import format_duration
from headway.report.panels import axes, panels_svg, styled
from headway.report.svg import element, label, number
from headway.spark.spark_results import FleetRun

WIDTH, HEIGHT, LEFT, TOP, GAP = 720, 130, 60, 40, 60
_STYLE = styled(
    ".due{stroke:#b3261e;stroke-dasharray:5 4}"
    ".worst{stroke:#3c78c3;stroke-width:2;fill:none}.high{stroke:#8db4e3;stroke-width:1.5;fill:none}",
    ".due{stroke:#ff8a80}.worst{stroke:#7fb2f5}.high{stroke:#4a6f9e}",
)


def fleet_svg(run: FleetRun, title: str) -> str:
    """A panel per output."""
    return panels_svg(
        title,
        [_panel(run, output) for output in run.outputs],
        style=_STYLE,
        left=LEFT,
        top=TOP,
        width=WIDTH,
        right=30,
        pitch=HEIGHT + GAP,
        first=20,
    )


def _panel(run: FleetRun, output: OutputSummary) -> str:
    mine = [one for one in run.by_vehicle if one.output == output.output]
    due = output.deadline or 1
    worst = sorted(one.latency_max / due for one in mine)
    high = sorted(one.latency_99 / due for one in mine)
    top = max(1.2, worst[-1] * 1.05 if worst else 0.0)
    at_deadline = HEIGHT * (1 - 1 / top)
    text = f"{output.output}: {output.tuples:,} tuples, {output.misses:,} missed"
    return "".join(
        [
            label(text, 0, -8, WIDTH, size=12, bold=True),
            axes(WIDTH, HEIGHT),
            element("path", class_="due", d=f"M0 {number(at_deadline)}H{WIDTH}"),
            label(format_duration(due), -6, at_deadline + 4, LEFT, anchor="end", class_="muted"),
            label("0", -6, HEIGHT, LEFT, anchor="end", class_="muted"),
            element("path", class_="high", d=_curve(high, top)),
            element("path", class_="worst", d=_curve(worst, top)),
            label(f"{len(mine):,} vehicles, best to worst: longest latency (dark), 99 % (light)",
                  0, HEIGHT + 16, WIDTH, class_="muted"),
        ]
    )  # fmt: skip


def _curve(values: list[float], top: float) -> str:
    if not values:
        return "M0 0"
    step = WIDTH / max(1, len(values) - 1)
    places = range(len(values))
    points = [(place * step, HEIGHT * (1 - values[place] / top)) for place in places]
    if len(points) == 1:
        points.append((float(WIDTH), points[0][1]))
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)
