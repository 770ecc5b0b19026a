"""What load tests and fleets show as charts.

Of a load test, for each policy: the miss ratio of every task over the load, with one standard
deviation either way; soft tasks are dashed. Of a fleet, for each output: the latencies of its
vehicles against the deadline. Vehicles stand side by side from best to worst, so the curve shows
how many are how near; the scale is the deadline, 1 is the last moment.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.engine.results import OutputSummary
from headway.model.quantities import format_duration
from headway.report.charts import LineChart, Point, Series
from headway.schedule.overload.load_trials import LoadCell
from headway.spark.spark_results import FleetRun


def miss_charts(cells: Sequence[LoadCell]) -> list[LineChart]:
    """A chart for each policy."""
    return [
        LineChart(
            title=policy,
            x="load, %",
            y="deadline miss ratio, %",
            series=tuple(
                _misses([cell for cell in cells if (cell.policy, cell.task) == (policy, task)])
                for task in dict.fromkeys(cell.task for cell in cells)
            ),
            note="Mean over the trials, and one standard deviation either way.",
        )
        for policy in dict.fromkeys(cell.policy for cell in cells)
    ]


def _misses(cells: Sequence[LoadCell]) -> Series:
    first = cells[0]
    return Series(
        name=f"{first.task} ({'hard' if first.hard else 'soft'})",
        points=tuple(
            Point(
                x=cell.load,
                y=100 * cell.mean,
                low=100 * max(0.0, cell.mean - cell.deviation),
                high=100 * min(1.0, cell.mean + cell.deviation),
            )
            for cell in sorted(cells, key=lambda cell: cell.load)
        ),
        dashed=not first.hard,
    )


def fleet_charts(run: FleetRun) -> list[LineChart]:
    """A chart for each output."""
    return [_latencies(run, output) for output in run.outputs]


def _latencies(run: FleetRun, output: OutputSummary) -> LineChart:
    mine = [one for one in run.by_vehicle if one.output == output.output]
    due = output.deadline or 1
    curves = {
        "longest latency": sorted(one.latency_max / due for one in mine),
        "99 % of the tuples": sorted(one.latency_99 / due for one in mine),
    }
    return LineChart(
        title=f"{output.output}: {output.tuples:,} tuples, {output.misses:,} missed",
        x=f"vehicles, best to worst, of {len(mine):,}",
        y=f"latency / deadline of {format_duration(due)}",
        series=tuple(
            Series(
                name=name,
                points=tuple(Point(x=place, y=y) for place, y in enumerate(latencies, start=1)),
            )
            for name, latencies in curves.items()
        ),
        limit=1.0,
    )
