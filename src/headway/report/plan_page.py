"""A compiled query as one self-contained HTML page: no script, nothing from elsewhere."""

from __future__ import annotations

from headway.model.plan import Plan, Promise
from headway.model.time import format_duration, milliseconds
from headway.report import plan_tables
from headway.report.html import escaped, page, section_table, table_html
from headway.report.plan_picture import plan_svg
from headway.report.sketch_plan import heading_of, state_of
from headway.report.svg import element, rect
from headway.report.time_bar import FARTHEST_DEADLINE, time_bar
from headway.report.words import NONE, blame_text, sign, summary

KEY = (
    ("source", "on the way from the sensor"),
    ("waiting", "waiting for other inputs or for a window"),
    ("node", "waiting for the processor and running"),
    ("bus", "on a bus or link"),
    ("gateway", "in a gateway"),
)


def plan_html(plan: Plan) -> str:
    """The picture, what can be promised and why, and the plan's tables."""
    heading, picture = heading_of(plan), plan_svg(plan, heading=False)
    sections = [
        f"<h1>{escaped(heading)}</h1>",
        f'<p class="verdict {state_of(plan)}">{escaped(summary(plan))}</p>',
        f'<figure tabindex="0" aria-label="Picture of the plan">{picture}</figure>',
        _promises(plan),
        *(
            section_table(table)
            for table in (
                plan_tables.loads(plan),
                plan_tables.tasks(plan),
                plan_tables.placement(plan),
                plan_tables.crossings(plan),
            )
        ),
    ]
    return page(heading, sections)


def _promises(plan: Plan) -> str:
    if plan.verdict is None:
        return ""
    cards = "\n".join(_card(promise, plan) for promise in plan.verdict.promises)
    key = "".join(
        "<li>"
        + element(
            "svg", rect(0, 0, 12, 12, f"part-{kind}", 2), width=12, height=12, aria_hidden="true"
        )
        + f"{escaped(meaning)}</li>"
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
        f'<h3><span class="{state}">{sign(promise.kept)}</span> {escaped(promise.output)} '
        f'<small class="muted">{"hard" if promise.hard else "soft"}</small></h3>',
        f"<p>{escaped(', '.join(facts))}</p>",
    ]
    if (blame := blame_text(promise)) != NONE:
        lines.append(f"<p><b>Blame:</b> {escaped(blame)}</p>")
    if promise.advice:
        lines.append(f"<p><b>What would help:</b> {escaped(promise.advice)}</p>")
    if promise.steps:
        lines.append(time_bar(promise, plan))
        if promise.bound and promise.deadline > FARTHEST_DEADLINE * promise.bound:
            far = f"The deadline, {format_duration(promise.deadline)}, lies far beyond the bar."
            lines.append(f'<p class="muted"><small>{escaped(far)}</small></p>')
        table = plan_tables.derivation(promise)
        opened = "" if promise.kept else " open"
        lines.append(f"<details{opened}><summary>How the bound adds up</summary>")
        lines.append(f"{table_html(table)}</details>")
    return f'<article class="card is-{state}">' + "\n".join(lines) + "</article>"
