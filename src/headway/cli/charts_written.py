"""Charts that a command writes, or what to install for them."""

from __future__ import annotations

from collections.abc import Sequence

from headway.cli.terminal import write_problem
from headway.errors import EnvironmentMissing
from headway.report.chart_pages import chart_files
from headway.report.charts import Chart


def charts_or_note(name: str, charts: Sequence[Chart], title: str) -> dict[str, str]:
    """The files of the charts; where nothing is installed that draws them, a note instead."""
    try:
        return chart_files(name, charts, title)
    except EnvironmentMissing as missing:
        write_problem(f"note: {name}.html and {name}.svg are not written. {missing}")
        return {}
