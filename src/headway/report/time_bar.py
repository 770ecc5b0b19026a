"""Where the time of a latency bound goes: a stacked bar that is as wide as the page.

Positions are percentages, so the bar fits a phone and a print-out without shrinking its text; only
numbers stand in it, and the table of steps below says what they mean.
"""

from __future__ import annotations

from headway.model.plan import Plan, Promise
from headway.model.time import format_duration, milliseconds
from headway.report.svg import element, group, tooltip

HEIGHT = 44
BAR_TOP, BAR_HEIGHT = 4, 24
SMALLEST_LABELLED = 5.0
"""Per cent of the width below which a part is too narrow for its number."""
FARTHEST_DEADLINE = 2.0
"""A deadline beyond this many bounds is named, not drawn."""


def time_bar(promise: Promise, plan: Plan) -> str:
    """The bound's steps side by side, with a mark at the deadline; empty without a bound."""
    if not promise.bound or not promise.steps:
        return ""
    drawn = promise.deadline <= promise.bound * FARTHEST_DEADLINE
    whole = 1.01 * (max(promise.bound, promise.deadline) if drawn else promise.bound)
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
    if drawn:
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
