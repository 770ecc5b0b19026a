"""Gantt charts of one or more schedules as one self-contained, interactive HTML page.

Choose an algorithm, zoom, and click a task to follow its messages. Nothing is loaded from
elsewhere; without script, and in print, all charts are shown one below the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.report.gantt import Chart, gantt_svg
from headway.report.gantt_style import CONTROLS_CSS, SCRIPT
from headway.report.html import escaped, page, section_table
from headway.report.plan_tables import Table


def gantt_html(heading: str, charts: Sequence[Chart], tables: Sequence[Table] = ()) -> str:
    """The page; ``tables`` stand below the charts."""
    options = "".join(
        f"<option>{escaped(chart.title)} ({chart.text(chart.schedule.makespan)})</option>"
        for chart in charts
    )
    pick = f'<label>Schedule <select id="pick">{options}</select></label>'
    figures = "\n".join(
        f'<section class="chart"><h2>{escaped(chart.title)}</h2>'
        f'<p class="muted">makespan {chart.text(chart.schedule.makespan)}'
        f"{' · ' + escaped(chart.note) if chart.note else ''}</p>"
        f'<figure tabindex="0" aria-label="Gantt chart">{gantt_svg(chart, heading=False)}</figure>'
        "</section>"
        for chart in charts
    )
    tools = (
        f'<div class="tools">{pick}<span>'
        '<button id="out" type="button" aria-label="zoom out">−</button> '
        '<button id="in" type="button" aria-label="zoom in">+</button> '
        '<button id="all" type="button">whole</button></span>'
        '<span class="muted">Ctrl and wheel zoom, too.</span></div>'
        '<p id="facts" class="facts" aria-live="polite"></p>'
    )
    body = [f"<h1>{escaped(heading)}</h1>"]
    if charts:
        body += ["<noscript><style>.chart{display:block}.tools{display:none}</style></noscript>"]
        body += [tools, figures]
    body += [section_table(table) for table in tables]
    if charts:
        body.append(f"<script>{SCRIPT}</script>")
    return page(heading, body, CONTROLS_CSS)
