"""What an attack found, in tables, as a Gantt page and as plain data."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from headway.engine.adversary.search import AttackResult, LatestTuple
from headway.engine.jobs import Arrival
from headway.engine.trace import EventKind
from headway.model.plan import Promise
from headway.model.quantities import MICROSECOND, MILLISECOND, format_duration, milliseconds
from headway.model.static_network import (
    LinkSlot,
    Message,
    NetworkLink,
    Processor,
    ProcessorNetwork,
    Schedule,
    TaskSlot,
)
from headway.report.gantt import GanttChart, gantt_html, gantt_svg
from headway.report.plan.plan_tables import NONE, Table, percent, sign

MOST_ROWS = 20
"""lines of a schedule in a table; the page shows all of it"""


def found_table(result: AttackResult) -> Table:
    """The latest tuple of each output beside its bound."""
    rows = []
    for name, promise in result.promises.items():
        latest, share = result.found.get(name), result.share(name)
        rows.append(
            [
                name,
                NONE if latest is None else milliseconds(latest.latency),
                NONE if promise.bound is None else milliseconds(promise.bound),
                NONE if share is None else percent(share),
                format_duration(promise.deadline),
                sign(name not in result.exceeded),
                NONE if latest is None else str(latest.found_at + 1),
            ]
        )
    headers = ["Output", "Latest found (ms)", "Bound (ms)", "Found/bound", "Deadline"]
    headers += ["Within", "At try"]
    return Table(title="Latest tuples", headers=headers, rows=rows, numeric=(1, 2, 3, 4, 6))


def verdict_of(result: AttackResult) -> str:
    """One line."""
    runs = f"{result.tries:,} runs"
    if exceeded := result.exceeded:
        names = ", ".join(exceeded)
        return (
            f"{sign(False)} A bound was exceeded ({names}): a defect of the compiler, please report"
        )
    unbounded = [name for name, one in result.promises.items() if one.bound is None]
    beside = f"; {', '.join(unbounded)} has no bound" if unbounded else ""
    return f"{sign(True)} No bound was exceeded in {runs}{beside}."


# ---------------------------------------------------------------- schedules


def slots_of(result: AttackResult, output: str) -> Iterator[tuple[int, int, str, str, bool]]:
    """(start, end, place, what, whether on a bus or link) of all that ran between the sensing of
    the latest tuple and its completion, in order of time; times count from its sensing (ns)."""
    latest = result.found[output]
    operators = {task.name: task.operators for task in result.plan.tasks}
    for kind, start, end, _, place, what, _, first, ran in result.replay(output).trace.events:
        if end <= latest.sensed or start >= latest.completed:
            continue
        if kind in (EventKind.RUN, EventKind.FRAME):
            frame = kind == EventKind.FRAME
            if not frame:
                names = operators.get(what, ())[first : first + max(ran, 1)]
                what = f"{what} {', '.join(names)}".strip()
            begin = max(start, latest.sensed) - latest.sensed
            yield begin, min(end, latest.completed) - latest.sensed, place, what, frame


def schedule_table(result: AttackResult, output: str) -> Table:
    """What ran until the latest tuple of an output was complete."""
    slots = sorted(slots_of(result, output))
    rows = [
        [milliseconds(start), milliseconds(end), place, what]
        for start, end, place, what, _ in slots[-MOST_ROWS:]
    ]
    left_out = len(slots) - len(rows)
    title = f"{output} at its latest"
    if left_out:
        title += f", the last {len(rows)} of {len(slots)} lines"
    return Table(
        title=title,
        headers=["Sensed + (ms)", "Until (ms)", "Where", "What"],
        rows=rows,
        numeric=(0, 1),
    )


def attack_chart(result: AttackResult, output: str) -> GanttChart:
    """The schedule of the latest tuple of an output, with its bound as the mark."""
    tasks: list[TaskSlot] = []
    messages: list[Message] = []
    for start, end, place, what, frame in slots_of(result, output):
        span = (Fraction(start), Fraction(end))
        if frame:
            slot = LinkSlot(link=place, start=span[0], finish=span[1])
            messages.append(Message(sender=what, receiver="", links=(slot,)))
        else:
            tasks.append(TaskSlot(task=what, processor=place, start=span[0], finish=span[1]))
    vehicle = result.plan.vehicle
    places = [
        f"{node.name}.{core}" if node.cores > 1 else node.name
        for node in vehicle.nodes
        for core in range(node.cores)
    ]
    media = [*(bus.name for bus in vehicle.buses), *(link.name for link in vehicle.links)]
    bound = result.promises[output].bound
    share = result.share(output)
    return GanttChart(
        title=output,
        network=ProcessorNetwork(
            processors=tuple(Processor(name=name) for name in places),
            links=tuple(NetworkLink(name=name, ends=()) for name in media),
        ),
        schedule=Schedule(tasks=tuple(tasks), messages=tuple(messages)),
        deadline=None if bound is None else Fraction(bound),
        note="" if share is None else f"{percent(share)} of the bound",
        unit=Fraction(MILLISECOND),
        unit_name="ms",
        end_name="latest tuple",
        limit_name="bound",
    )


def attack_files(result: AttackResult) -> dict[str, str]:
    """A page with all schedules, a picture of each."""
    charts = [attack_chart(result, name) for name in result.found]
    heading = f"The latest tuples of {result.plan.query.name} on {result.plan.vehicle.name}"
    tables = [found_table(result), *(arrival_table(result, name) for name in result.found)]
    return {
        "attack.html": gantt_html(heading, charts, tables),
        **{f"attack-{chart.title}.svg": gantt_svg(chart) for chart in charts},
    }


def arrival_table(result: AttackResult, output: str) -> Table:
    """What arrived until the latest tuple of an output was complete."""
    latest = result.found[output]
    early = latest.sensed - latest.latency
    near = [one for one in result.arrivals(output) if early <= one.time <= latest.completed]
    rows = [
        [
            milliseconds(one.time - latest.sensed),
            one.source,
            milliseconds(one.row[0] * MICROSECOND - latest.sensed),
        ]
        for one in near[-MOST_ROWS:]
    ]
    title = f"Arrivals before the latest tuple of {output}, from its sensing"
    headers = ["Arrives (ms)", "Source", "Sensed (ms)"]
    return Table(title=title, headers=headers, rows=rows, numeric=(0, 2))


# ---------------------------------------------------------------- plain data


def attack_plain(result: AttackResult) -> dict[str, Any]:
    """For ``--json``: with the arrivals and shortened executions that lead to each latest tuple."""
    return {
        "query": result.plan.query.name,
        "vehicle": result.plan.vehicle.name,
        "tries": result.tries,
        "seed": result.seed,
        "discarded": result.discarded,
        "exceeded": result.exceeded,
        "outputs": [_output_plain(result, promise) for promise in result.promises.values()],
    }


def _output_plain(result: AttackResult, promise: Promise) -> dict[str, Any]:
    latest = result.found.get(promise.output)
    return {
        "output": promise.output,
        "bound_ns": promise.bound,
        "deadline_ns": promise.deadline,
        "latest_ns": None if latest is None else latest.latency,
        "share": result.share(promise.output),
        "worst_case": None if latest is None else _worst_case(result, latest),
    }


def _worst_case(result: AttackResult, latest: LatestTuple) -> dict[str, Any]:
    arrivals = result.arrivals(latest.output)
    return {
        "sensed_ns": latest.sensed,
        "completed_ns": latest.completed,
        "found_at_try": latest.found_at + 1,
        "arrivals": [_arrival(one) for one in arrivals if one.time <= latest.completed],
        "shares_of_cost": [
            {"operator": operator, "execution": None if number < 0 else number, "share": share}
            for (operator, number), share in sorted(latest.attempt.shares.items())
        ],
        "schedule": [
            {"from_ns": start, "to_ns": end, "where": place, "what": what}
            for start, end, place, what, _ in sorted(slots_of(result, latest.output))
        ],
    }


def _arrival(arrival: Arrival) -> dict[str, Any]:
    return {
        "source": arrival.source,
        "arrives_ns": arrival.time,
        "sensed_ns": arrival.row[0] * MICROSECOND,
    }
