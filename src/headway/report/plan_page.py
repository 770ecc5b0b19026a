"""A compiled query as one self-contained HTML page: no script, nothing from elsewhere."""

from __future__ import annotations

from html import escape

from headway.model.plan import Plan, Promise
from headway.model.time import format_duration, milliseconds
from headway.report import plan_tables
from headway.report.page_style import PAGE_CSS
from headway.report.plan_picture import plan_svg
from headway.report.plan_tables import Table
from headway.report.sketch_plan import heading_of, state_of
from headway.report.svg import element, rect
from headway.report.text import plain
from headway.report.time_bar import FARTHEST_DEADLINE, time_bar
from headway.report.words import NONE, blame_text, sign, summary

WIDE = 5
"""Tables of more columns become cards on a phone."""
KEY = (
    ("source", "on the way from the sensor"),
    ("waiting", "waiting for other inputs or for a window"),
    ("node", "waiting for the processor and running"),
    ("bus", "on a bus or link"),
    ("gateway", "in a gateway"),
)


def plan_html(plan: Plan) -> str:
    """The picture, what can be promised and why, and the plan's tables."""
    heading, picture = _text(heading_of(plan)), plan_svg(plan, heading=False)
    sections = [
        f"<h1>{heading}</h1>",
        f'<p class="verdict {state_of(plan)}">{_text(summary(plan))}</p>',
        f'<figure tabindex="0" aria-label="Picture of the plan">{picture}</figure>',
        _promises(plan),
        *(
            _section(table)
            for table in (
                plan_tables.loads(plan),
                plan_tables.tasks(plan),
                plan_tables.placement(plan),
                plan_tables.crossings(plan),
            )
        ),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{PAGE_CSS}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(section for section in sections if section)
        + "\n</main>\n</body>\n</html>\n"
    )


def _promises(plan: Plan) -> str:
    if plan.verdict is None:
        return ""
    cards = "\n".join(_card(promise, plan) for promise in plan.verdict.promises)
    key = "".join(
        "<li>"
        + element(
            "svg", rect(0, 0, 12, 12, f"part-{kind}", 2), width=12, height=12, aria_hidden="true"
        )
        + f"{_text(meaning)}</li>"
        for kind, meaning in KEY
    )
    return (
        "<section><h2>Where the time goes</h2>\n"
        f'<ul class="key">{key}</ul>\n<div class="cards">\n{cards}\n</div></section>'
    )


def _card(promise: Promise, plan: Plan) -> str:
    state = "kept" if promise.kept else "broken"
    facts = [f"deadline {format_duration(promise.deadline)}"]
    if promise.bound is None or promise.slack is None:
        facts.append("no bound")
    else:
        facts.append(f"bound {milliseconds(promise.bound)} ms")
        facts.append(f"slack {milliseconds(promise.slack)} ms")
    lines = [
        f'<h3><span class="{state}">{sign(promise.kept)}</span> {_text(promise.output)} '
        f'<small class="muted">{"hard" if promise.hard else "soft"}</small></h3>',
        f"<p>{_text(', '.join(facts))}</p>",
    ]
    if (blame := blame_text(promise)) != NONE:
        lines.append(f"<p><b>Blame:</b> {_text(blame)}</p>")
    if promise.advice:
        lines.append(f"<p><b>What would help:</b> {_text(promise.advice)}</p>")
    if promise.steps:
        lines.append(time_bar(promise, plan))
        if promise.bound and promise.deadline > FARTHEST_DEADLINE * promise.bound:
            far = f"The deadline, {format_duration(promise.deadline)}, lies far beyond the bar."
            lines.append(f'<p class="muted"><small>{_text(far)}</small></p>')
        table = plan_tables.derivation(promise)
        opened = "" if promise.kept else " open"
        lines.append(
            f"<details{opened}><summary>How the bound adds up</summary>{_table(table)}</details>"
        )
    return f'<article class="card is-{state}">' + "\n".join(lines) + "</article>"


def _section(table: Table) -> str:
    if not table.rows:
        return ""
    return f"<section><h2>{_text(table.title)}</h2>\n{_table(table)}</section>"


def _table(table: Table) -> str:
    """ARIA roles keep it a table for screen readers where the style makes cards of its rows."""
    kinds = [' class="number"' if i in table.numeric else "" for i in range(len(table.headers))]
    head = "".join(
        f'<th scope="col" role="columnheader"{kind}>{_text(header)}</th>'
        for header, kind in zip(table.headers, kinds, strict=True)
    )
    rows = "\n".join(
        '<tr role="row">'
        + "".join(
            f'<td role="cell"{kind} data-label="{_text(header)}">{_text(cell)}</td>'
            for header, cell, kind in zip(table.headers, row, kinds, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    wide = ' class="wide"' if len(table.headers) > WIDE else ""
    return (
        f'<div class="scroll"><table role="table"{wide}><thead role="rowgroup"><tr role="row">'
        f'{head}</tr></thead>\n<tbody role="rowgroup">\n{rows}\n</tbody></table></div>'
    )


def _text(text: str) -> str:
    return escape(plain(text))
