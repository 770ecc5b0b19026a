"""Position errors as pictures: the boxes of figure 21, and a table of means."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.error_rows import mean_error, trials_quantiles
from headway.experiments.collision.positions import Moment
from headway.experiments.findings import Box, BoxPlot, Grid
from headway.experiments.quantiles import SHARES, Quantiles, pooled
from headway.experiments.rows import values, where
from headway.experiments.study import Row

HOW = (
    "Distances from the truth at the moment a position is about, all cars and trials together: box "
    f"from quartile to quartile, whiskers from 5 % to 95 %. Each trial keeps {len(SHARES)} "
    "of its quantiles; together they are those of the trials' distributions, weighted with how "
    "many positions each compared."
)


def pooled_box(name: str, trials: Sequence[Quantiles]) -> Box:
    """Whiskers at 5 % and 95 %: among thousands of positions the extremes say little."""
    least, lower, median, upper, greatest = (
        pooled(trials, percent) for percent in (5, 25, 50, 75, 95)
    )
    return Box(
        name=name, least=least, lower=lower, median=median, upper=upper, greatest=greatest
    )  # fmt: skip


def error_boxes(rows: Sequence[Row], title: str, labels: Sequence[str]) -> BoxPlot:
    return BoxPlot(
        title=title,
        y="position error, m",
        boxes=tuple(pooled_box(label, trials_quantiles(rows, label)) for label in labels),
        note=HOW,
    )


def error_table(rows: Sequence[Row], labels: Sequence[str]) -> Grid:
    """All cars at each moment of comparison; our own and the others at the first."""

    def cell(label: str, moment: Moment, which: str = "all") -> str:
        if not values(where(rows, setting=label, which=which), moment.value):
            return "–"
        return f"{mean_error(rows, label, moment.value, which):.3f}"

    return Grid(
        title="Mean position error in metres: at the moment a position is about, and when out",
        headers=("Setting", "all", "our own", "others", "out, carried on", "out, as it stands"),
        rows=tuple(
            (
                label,
                cell(label, Moment.ABOUT),
                cell(label, Moment.ABOUT, "own"),
                cell(label, Moment.ABOUT, "others"),
                cell(label, Moment.CARRIED),
                cell(label, Moment.OUT),
            )
            for label in labels
        ),
    )  # fmt: skip
