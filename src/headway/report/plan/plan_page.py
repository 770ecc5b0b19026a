"""A compiled query as one self-contained HTML page: no script, nothing from elsewhere.

Where the time of a bound goes is a stacked bar that is as wide as the page. Its positions are
percentages, so it fits a phone and a print-out without shrinking its text; only numbers stand in
it, and the table of steps below says what they mean.
"""

from __future__ import annotations

from headway.model.plan import Plan, Promise
from headway.model.quantities import format_duration, milliseconds
from headway.report.html import cell, escaped, page, section_table, table_html
from headway.report.plan import plan_tables
from headway.report.plan.plan_advice import bounds_text, changed_text, fix_title
from headway.report.plan.plan_picture import plan_svg
from headway.report.plan.plan_sketch import heading_of, state_of
from headway.report.plan.plan_tables import NONE, blame_text, sign, summary
from headway.report.svg import element, group, rect, tooltip

# ---------------------------------------------------------------- the bar

HEIGHT = 44
BAR_TOP, BAR_HEIGHT = 4, 24
SMALLEST_LABELLED = 5.0
"""Per cent of the width below which a part is too narrow for its number."""
FARTHEST_DEADLINE = 2.0
"""A deadline beyond this many bounds does not make the bars shorter."""


def longest_bar(plan: Plan) -> int:
    """The time (ns) that the bars of all promises are as wide as, so that they can be compared."""
    found = plan.verdict.promises if plan.verdict is not None else ()
    return max((_length(promise) for promise in found), default=0)


def _length(promise: Promise) -> int:
    """Of a bar: to the bound, or to the deadline if that is drawn."""
    bound = promise.bound or 0
    return max(bound, promise.deadline) if promise.deadline <= bound * FARTHEST_DEADLINE else bound


def enlarged(promise: Promise, plan: Plan) -> int:
    """How many times larger than the others a bar is drawn: the greatest power of ten with which it
    fits, because a promise of milliseconds is not to be seen beside one of seconds."""
    times, length = 1, _length(promise)
    while length and length * times * 10 <= longest_bar(plan):
        times *= 10
    return times


def _deadline_drawn(promise: Promise, plan: Plan) -> bool:
    whole = max(longest_bar(plan), _length(promise))
    return promise.deadline * enlarged(promise, plan) <= whole


def time_bar(promise: Promise, plan: Plan) -> str:
    """The bound's steps side by side, with a mark at the deadline; empty without a bound. All bars
    of a plan have one scale, but for powers of ten (:func:`enlarged`)."""
    if not promise.bound or not promise.steps:
        return ""
    whole = 1.01 * max(longest_bar(plan), _length(promise)) / enlarged(promise, plan)
    kinds = place_kinds(plan)
    parts = [tooltip(_alternative(promise))]
    so_far = 0
    for position, step in enumerate(promise.steps, start=1):
        if step.time > 0:
            start, width = so_far / whole * 100, step.time / whole * 100
            parts.append(
                _segment(
                    position, start, width, kinds.get(step.place, "waiting"), step.what, step.time
                )
            )
        so_far += step.time
    if _deadline_drawn(promise, plan):
        parts.append(_deadline(promise, promise.deadline / whole * 100))
    return element("svg", *parts, class_="time-bar", role="img", width="100%", height=HEIGHT)


def place_kinds(plan: Plan) -> dict[str, str]:
    """Place of a step -> node, bus, gateway or source; every other place is one of waiting."""
    vehicle = plan.vehicle
    kinds = {source.name: "source" for source in plan.query.sources}
    kinds |= {gateway.name: "gateway" for gateway in vehicle.gateways}
    kinds |= {bus.name: "bus" for bus in vehicle.buses}
    kinds |= {link.name: "bus" for link in vehicle.links}
    return kinds | {node.name: "node" for node in vehicle.nodes}


def _segment(position: int, start: float, width: float, kind: str, what: str, time: int) -> str:
    box = element(
        "rect",
        class_=f"part part-{kind}",
        x=f"{start:.2f}%",
        y=BAR_TOP,
        width=f"{width:.2f}%",
        height=BAR_HEIGHT,
    )
    number = ""
    if width >= SMALLEST_LABELLED:
        number = element(
            "text",
            str(position),
            x=f"{start + width / 2:.2f}%",
            y=BAR_TOP + BAR_HEIGHT / 2 + 4,
            text_anchor="middle",
        )
    return group("step", box, number, title=f"{position}. {what}: {milliseconds(time)} ms")


def _deadline(promise: Promise, at: float) -> str:
    line = element(
        "line",
        class_="deadline",
        x1=f"{at:.2f}%",
        x2=f"{at:.2f}%",
        y1=0,
        y2=BAR_TOP + BAR_HEIGHT + 4,
    )
    text = element(
        "text",
        f"deadline {format_duration(promise.deadline)}",
        class_="deadline-text",
        x=f"{at:.2f}%",
        y=HEIGHT - 2,
        text_anchor="end" if at > 30 else "start",
    )
    return line + text


def _alternative(promise: Promise) -> str:
    steps = ", ".join(f"{step.place} {milliseconds(step.time)} ms" for step in promise.steps)
    return f"{promise.output}: {steps}"


# ---------------------------------------------------------------- the page


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
                plan_tables.chains(plan),
                *plan_tables.chain_derivations(plan),
                plan_tables.connections(plan),
                plan_tables.loads(plan),
                plan_tables.tasks(plan),
                plan_tables.placement(plan),
                plan_tables.crossings(plan),
            )
        ),
    ]
    return page(heading, sections)


def plan_cell(plan: Plan) -> str:
    """The picture, which has the verdict in it, and the table of promises, for a notebook."""
    parts = [plan_svg(plan)]
    if (promised := plan_tables.promises(plan)).rows:
        parts.append(table_html(promised))
    return cell(parts)


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
        f'<ul class="key">{key}</ul>\n'
        f'<p class="muted"><small>{escaped(_scale_text(plan))}</small></p>\n'
        f'<div class="cards">\n{cards}\n</div></section>'
        f"{_fixes(plan)}"
    )


def _scale_text(plan: Plan) -> str:
    told = f"All bars have one scale; a whole one is {milliseconds(longest_bar(plan))} ms."
    promises = plan.verdict.promises if plan.verdict is not None else ()
    if any(enlarged(promise, plan) > 1 for promise in promises if promise.bound):
        told += " A shorter one may be drawn larger and then says how many times."
    return told


def _fixes(plan: Plan) -> str:
    """What would help, line by line of the files."""
    fixes = plan.verdict.fixes if plan.verdict is not None else ()
    if not fixes:
        return ""
    parts = []
    for fix in fixes:
        lines = "\n".join(escaped(line) for line in changed_text(fix))
        what = f"{fix_title(fix)} {bounds_text(fix)}"
        parts.append(f"<li><p>{escaped(what)}</p><pre>{lines}</pre></li>")
    return f"<section><h2>What would help</h2>\n<ol>{''.join(parts)}</ol></section>"


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
        if promise.bound:
            times, remarks = enlarged(promise, plan), []
            if times > 1:
                remarks.append(f"Drawn {times:,} times larger.")
            if not _deadline_drawn(promise, plan):
                far = format_duration(promise.deadline)
                remarks.append(f"The deadline, {far}, lies beyond the picture.")
            if remarks:
                remark = escaped(" ".join(remarks))
                lines.append(f'<p class="muted"><small>{remark}</small></p>')
        table = plan_tables.derivation(promise)
        opened = "" if promise.kept else " open"
        lines.append(f"<details{opened}><summary>How the bound adds up</summary>")
        lines.append(f"{table_html(table)}</details>")
    return f'<article class="card is-{state}">' + "\n".join(lines) + "</article>"
