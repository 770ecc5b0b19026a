"""Gantt charts: every slot drawn where it belongs, text escaped, nothing from elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np

from headway.model.static_network import Processor, ProcessorNetwork, Schedule, TaskSlot
from headway.report.gantt import GanttChart, gantt_html, gantt_svg
from headway.schedule.static import schedule
from headway_studies.hvlb_cc.random_graphs import Shape, figure_2, random_graph

SVG = "{http://www.w3.org/2000/svg}"


def chart() -> GanttChart:
    graph = random_graph(Shape(tasks=12), ccr=1, random=np.random.default_rng(4))
    network = figure_2()
    found = schedule(graph, network).schedule
    assert found is not None
    return GanttChart(title="a <b> & c", network=network, schedule=found)


def test_every_task_and_link_booking_has_its_bar() -> None:
    drawn = chart()
    root = ElementTree.fromstring(gantt_svg(drawn))
    tasks = root.findall(f".//{SVG}g[@class='bar task']")
    messages = root.findall(f".//{SVG}g[@class='bar message']")
    assert [bar.get("data-task") for bar in tasks] == [s.task for s in drawn.schedule.tasks]
    assert len(messages) == sum(len(m.links) for m in drawn.schedule.messages)
    boxes = {bar.get("data-task"): bar.find(f"{SVG}rect") for bar in tasks}
    ends = []
    for slot in drawn.schedule.tasks:
        box = boxes[slot.task]
        assert box is not None
        ends.append((slot.finish, float(box.get("x", 0)) + float(box.get("width", 0))))
    assert max(ends)[1] == max(end for _, end in ends)
    assert all(end <= 1040 - 16 for _, end in ends)


def test_bars_of_one_row_do_not_overlap() -> None:
    root = ElementTree.fromstring(gantt_svg(chart()))
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in root.iterfind(f".//{SVG}g/{SVG}rect"):
        if "box" in box.get("class", ""):
            x, width = float(box.get("x", 0)), float(box.get("width", 0))
            rows.setdefault(box.get("y", ""), []).append((x, x + width))
    for spans in rows.values():
        spans.sort()
        assert all(end <= start + 0.3 for (_, end), (start, _) in pairwise(spans))


def test_the_page_is_self_contained_and_escaped() -> None:
    page = gantt_html("x < y", [chart(), replace(chart(), title="other")])
    assert page.count("<svg") == 2
    assert "a &lt;b&gt; &amp; c" in page
    assert "a <b>" not in page
    assert not re.search(r'(src|href)="|@import|https?://(?!www\.w3\.org)', page)


def test_units_and_deadlines() -> None:
    schedule_ = Schedule(
        tasks=(TaskSlot(task="a", processor="p", start=Fraction(0), finish=Fraction(2_500_000)),),
        messages=(),
    )
    drawn = GanttChart(
        title="t",
        network=ProcessorNetwork(processors=(Processor(name="p"),)),
        schedule=schedule_,
        deadline=Fraction(3_000_000),
        unit=Fraction(1_000_000),
        unit_name="ms",
    )
    text = gantt_svg(drawn)
    assert "makespan 2.5 ms · deadline 3 ms" in text
    assert "deadline-mark" in text
    assert "deadline-mark" not in gantt_svg(replace(drawn, deadline=Fraction(10**9)))


def test_a_schedule_of_nothing_is_drawn() -> None:
    nothing = Schedule(
        tasks=(TaskSlot(task="a", processor="p", start=Fraction(0), finish=Fraction(0)),),
        messages=(),
    )
    network = ProcessorNetwork(processors=(Processor(name="p"),))
    assert "makespan 0" in gantt_svg(GanttChart(title="t", network=network, schedule=nothing))
