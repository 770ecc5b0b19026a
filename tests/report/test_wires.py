"""Streams between ECUs: they keep clear of boxes, of other ECUs and of text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.report.drawn import Drawn, overlap
from tests.report.random_plans import random_plan
from tests.report.study import collision_warning

from headway.model.plan import Plan
from headway.report.plan import ecu_layout
from headway.report.plan.ecu_layout import EcuFrame
from headway.report.plan.picture_layout import DrawnStream, place, wires_of
from headway.report.plan.plan_picture import plan_svg
from headway.report.plan.plan_sketch import sketch_plan

PLANS = [collision_warning(), *(random_plan(seed, 8 * seed, 1 + seed) for seed in range(1, 9))]


def stretches(wire: DrawnStream) -> Iterator[EcuFrame]:
    """The straight parts as thin rectangles, without the two ends that touch boxes."""
    for (x, y), (to_x, to_y) in pairwise(wire.points):
        left, right = sorted((x, to_x))
        top, bottom = sorted((y, to_y))
        yield EcuFrame(left + 0.1, top - 0.1, max(right - left - 0.2, 0.2), bottom - top + 0.2)


@pytest.mark.parametrize("plan", PLANS)
def test_crossing_streams_meet_neither_boxes_nor_text_nor_other_ecus(plan: Plan) -> None:
    sketch, drawn = sketch_plan(plan), Drawn(plan_svg(plan))
    node = {item.key: item.node for item in sketch.items}
    crossing = [wire for wire in wires_of(place(sketch)) if wire.joins]
    assert crossing or not plan.crossings
    for wire in crossing:
        others = [f for n, f in drawn.ecus.items() if n not in (node[wire.start], node[wire.end])]
        texts = [written.frame for written in drawn.texts]
        for part in stretches(wire):
            for frame in (*drawn.items.values(), *others, *texts):
                assert not overlap(part, frame), wire


def test_two_streams_never_share_an_upright_stretch() -> None:
    for plan in PLANS:
        upright: dict[float, list[tuple[float, float, str]]] = {}
        for wire in wires_of(place(sketch_plan(plan))):
            if not wire.joins:
                continue
            for (x, y), (to_x, to_y) in pairwise(wire.points):
                if x == to_x and y != to_y:
                    upright.setdefault(x, []).append((min(y, to_y), max(y, to_y), wire.start))
        for parts in upright.values():
            for top, bottom, stream in parts:
                for other_top, other_bottom, other in parts:
                    apart = other_bottom <= top or bottom <= other_top
                    assert stream == other or apart


def test_the_overlap_check_finds_boxes_without_spacing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ecu_layout, "SPACING", -20.0)
    frames = list(Drawn(plan_svg(collision_warning())).items.values())
    assert any(overlap(a, b) for i, a in enumerate(frames) for b in frames[:i])
