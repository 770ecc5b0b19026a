"""One trial of a load test as a timeline: for Perfetto, and as a Gantt picture of its beginning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from headway.model.quantities import MILLISECOND
from headway.model.taskset import TaskSet
from headway.report.gantt import CHART_CLASS, chart_css, colour_class
from headway.report.svg import element, group, label, number, rect, tooltip, width_of
from headway.schedule.overload.one_processor import Happening, TrialRecord

WIDTH, MARGIN, ROW, BAR, TOP, BOTTOM = 1040.0, 16.0, 30.0, 20.0, 58.0, 34.0
LONGEST_PERIODS = 6
"""of the task with the longest period fit into the picture"""
TICKS = 12
BAD = (Happening.REJECTED, Happening.MISSED)
_COLOURS = {Happening.REJECTED: "bad", Happening.MISSED: "terrible", Happening.OVERRUN: "yellow"}


def trial_perfetto(task_set: TaskSet, record: TrialRecord, about: dict[str, Any]) -> str:
    """Chrome trace events: a thread per task; times are microseconds."""
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in _entries(task_set, record))
    return (
        f'{{"displayTimeUnit": "ms",\n"otherData": {json.dumps(about, ensure_ascii=False)},\n'
        f'"traceEvents": [\n{lines}\n]}}\n'
    )


def _entries(task_set: TaskSet, record: TrialRecord) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": task_set.name}}
    for tid, task in enumerate(task_set.tasks, start=1):
        name = f"{task.name} ({task.kind.value})"
        yield {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}
    timed: list[dict[str, Any]] = [
        {
            "ph": "X",
            "name": task_set.tasks[run.task].name,
            "cat": "spare" if run.spare else "budget",
            "ts": run.start / 1000,
            "dur": (run.end - run.start) / 1000,
            "pid": 1,
            "tid": run.task + 1,
            "args": {"job": run.number},
        }
        for run in record.runs
    ]
    for what, time, index, job in record.events:
        entry = {
            "ph": "i",
            "name": f"{task_set.tasks[index].name} {what.value}",
            "cat": what.value,
            "ts": time / 1000,
            "s": "t",
            "pid": 1,
            "tid": index + 1,
            "args": {"job": job},
        }
        timed.append({**entry, "cname": _COLOURS[what]} if what in _COLOURS else entry)
    yield from sorted(timed, key=lambda entry: float(entry["ts"]))


def trial_svg(task_set: TaskSet, record: TrialRecord, title: str, duration: int) -> str:
    """A row per task; crosses mark rejected and missed jobs, pale bars run on spare time."""
    end = min(duration, LONGEST_PERIODS * max(task.period for task in task_set.tasks))
    names = [task.name for task in task_set.tasks]
    widest = max(width_of(name, 12, bold=True) for name in names)
    gutter = MARGIN + min(max(widest + 14, 48.0), 190.0)
    scale = (WIDTH - gutter - MARGIN) / end
    height = TOP + len(names) * ROW + BOTTOM
    inside = WIDTH - 2 * MARGIN
    note = f"the first {end / MILLISECOND:g} ms; × rejected or late, pale: on spare time"
    parts = [
        tooltip(title),
        f"<style>{chart_css()}.{CHART_CLASS} .spare{{opacity:.45}}</style>",
        rect(0, 0, WIDTH, height, "page", 6),
        label(title, MARGIN, 26, inside, size=16, bold=True),
        label(note, MARGIN, 45, inside, size=12, class_="muted"),
    ]
    for index in range(TICKS + 1):
        x = gutter + index * end / TICKS * scale
        line = f"M{number(x)} {number(TOP)}V{number(height - BOTTOM)}"
        text = f"{index * end / TICKS / MILLISECOND:,.4g}"
        parts.append(element("path", class_="grid", d=line))
        parts.append(label(text, x, height - 18, 70, class_="muted", anchor="middle"))
    for index, name in enumerate(names):
        y = TOP + index * ROW
        parts.append(rect(gutter, y, WIDTH - gutter - MARGIN, BAR, "row processor-row", 3))
        parts.append(label(name, gutter - 8, y + 14, gutter - 12, size=12, bold=True, anchor="end"))
    for run in record.runs:
        if run.start < end:
            x, until = gutter + run.start * scale, min(run.end, end)
            bar = rect(x, TOP + run.task * ROW, max((until - run.start) * scale, 0.6), BAR,
                       f"box {colour_class(run.task)}" + " spare" * run.spare)  # fmt: skip
            span = f"{run.start / MILLISECOND:g} to {run.end / MILLISECOND:g} ms"
            parts.append(group("bar", bar, title=f"{names[run.task]} #{run.number}\n{span}"))
    for what, time, task, job in record.events:
        if what in BAD and time < end:
            x, y = gutter + time * scale, TOP + task * ROW + BAR / 2
            cross = f"M{number(x - 4)} {number(y - 4)}l8 8m0 -8l-8 8"
            mark = element("path", class_="deadline", d=cross, stroke_dasharray="none")
            parts.append(group("mark", mark, title=f"{names[task]} #{job} {what.value}"))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{CHART_CLASS}" role="img"'
        f' width="{number(WIDTH)}" height="{number(height)}"'
        f' viewBox="0 0 {number(WIDTH)} {number(height)}">\n' + "\n".join(parts) + "\n</svg>\n"
    )
