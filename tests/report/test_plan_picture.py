"""The picture: everything is there, nothing overlaps, arrows reach their boxes."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from tests.report.build import operator, plan_of, source
from tests.report.drawn import Drawn, inside, overlap
from tests.report.random_plans import random_plan
from tests.report.study import collision_warning

from headway.model.plan import Plan
from headway.model.query import Output, Query
from headway.report.plan.ecu_layout import EcuFrame
from headway.report.plan.plan_picture import MOST_OPERATORS, plan_svg
from headway.report.plan.plan_tables import node_of

HOSTILE = "<script>alert('x')</script>&\"]]>\x00\u202e--"

PLANS = {
    "study": collision_warning(),
    **{f"random{seed}": random_plan(seed, 10 + 10 * seed, 1 + seed) for seed in range(1, 7)},
    "one node": random_plan(9, 25, 1),
    "summary": random_plan(7, MOST_OPERATORS + 1, 6),
}


@pytest.fixture(params=PLANS, scope="module")
def plan(request: pytest.FixtureRequest) -> Plan:
    return PLANS[request.param]


@pytest.fixture(scope="module")
def drawn(plan: Plan) -> Drawn:
    return Drawn(plan_svg(plan))


def is_summary(plan: Plan) -> bool:
    return sum(1 for _ in plan.query.operators) > MOST_OPERATORS


def test_every_source_operator_and_output_has_a_box(plan: Plan, drawn: Drawn) -> None:
    if is_summary(plan):
        assert {f"node:{node.name}" for node in plan.vehicle.nodes} <= set(drawn.items)
        return
    streams = [source.name for source in plan.query.sources]
    streams += [operator.name for operator in plan.query.operators]
    outputs = [output.name for output in plan.query.outputs]
    assert sorted(drawn.items) == sorted(
        [f"stream:{name}" for name in streams] + [f"output:{name}" for name in outputs]
    )


def test_every_ecu_bus_and_gateway_is_drawn(plan: Plan, drawn: Drawn) -> None:
    vehicle = plan.vehicle
    assert set(drawn.ecus) == {node.name for node in vehicle.nodes}
    assert set(drawn.bars) == {medium.name for medium in vehicle.buses} | {
        link.name for link in vehicle.links
    }
    assert set(drawn.gateways) == {gateway.name for gateway in vehicle.gateways}


def test_no_two_boxes_overlap(drawn: Drawn) -> None:
    for group in (drawn.items, drawn.ecus, drawn.bars):
        for (one, first), (other, second) in combinations(group.items(), 2):
            assert not overlap(first, second), (one, other)
    for name, frame in drawn.ecus.items():
        for bar in (*drawn.bars.values(), *drawn.gateways.values()):
            assert not overlap(frame, bar), name


def test_operators_are_inside_their_ecu_and_the_rest_outside_all(plan: Plan, drawn: Drawn) -> None:
    placed = {f"stream:{name}": node for name, node in node_of(plan).items()}
    placed |= {f"node:{node.name}": node.name for node in plan.vehicle.nodes}
    operators = {f"stream:{step.name}" for step in plan.query.operators}
    for key, frame in drawn.items.items():
        if key in operators or key.startswith("node:"):
            assert inside(frame, drawn.ecus[placed[key]]), key
        else:
            assert not any(overlap(frame, ecu) for ecu in drawn.ecus.values()), key


def test_every_stream_has_an_arrow_that_ends_at_its_box(plan: Plan, drawn: Drawn) -> None:
    for _, end, x, y in drawn.arrows:
        frame = drawn.items[end]
        assert x == pytest.approx(frame.x, abs=0.1)
        assert frame.y < y < frame.bottom
    if is_summary(plan):
        return
    wanted = {
        (f"stream:{stream}", f"stream:{step.name}")
        for step in plan.query.operators
        for stream in step.streams
    }
    wanted |= {(f"stream:{o.stream}", f"output:{o.name}") for o in plan.query.outputs}
    assert {(start, end) for start, end, _, _ in drawn.arrows} == wanted
    assert len(drawn.arrows) == len(wanted)


def test_texts_stay_in_their_boxes_and_off_each_other(drawn: Drawn) -> None:
    for key, texts in drawn.item_texts().items():
        for written in texts:
            assert inside(written.frame, drawn.items[key]), (key, written)
    for one, other in combinations(drawn.texts, 2):
        assert not overlap(one.frame, other.frame), (one, other)


def test_everything_is_inside_the_picture(drawn: Drawn) -> None:
    page = EcuFrame(0, 0, float(drawn.root.attrib["width"]), float(drawn.root.attrib["height"]))
    for frame in (*drawn.items.values(), *drawn.ecus.values(), *drawn.bars.values()):
        assert inside(frame, page)
    for written in drawn.texts:
        assert inside(written.frame, page), written


def test_the_same_bytes_twice(plan: Plan) -> None:
    assert plan_svg(plan) == plan_svg(plan)


def test_it_is_accessible_and_knows_dark_mode() -> None:
    svg = plan_svg(collision_warning())
    root = Drawn(svg).root
    assert root.get("role") == "img"
    first, second = list(root)[:2]
    assert first.text == "collision_warning on test_car"
    assert second.text is not None
    assert "node2 runs spc_b.join1, spc_b.map2, union1." in second.text
    assert root.attrib["aria-labelledby"] == f"{first.attrib['id']} {second.attrib['id']}"
    assert "@media screen and (prefers-color-scheme:dark)" in svg


def test_outputs_tell_deadline_bound_and_slack_by_sign_and_colour() -> None:
    drawn = Drawn(plan_svg(collision_warning()))
    texts = drawn.item_texts()
    shown = [written.text for written in texts["output:output1"]]
    assert shown == ["output1", "deadline 30 ms", "✓ bound 23.152 ms", "slack 6.848 ms"]
    shown = [written.text for written in texts["output:output3"]]
    assert shown == ["output3", "deadline 3 s", "✗ no bound"]


def test_trains_are_numbered_and_joined() -> None:
    svg = plan_svg(collision_warning())
    texts = Drawn(svg).item_texts()
    assert [w.text for w in texts["stream:union1"]][-2:] == ["T2", "T3"]
    inner_streams = 6  # sdfo1-map1, join1-map2, map2-union1, filter1/2-join2, join2-map4
    legend = 1
    assert svg.count('class="band"') == inner_streams + legend


def test_a_stream_between_nodes_runs_along_its_lanes() -> None:
    drawn = Drawn(plan_svg(collision_warning()))
    path = drawn.streams["stream:union1"]
    ys = {float(y) for y in path.replace("M", "L").replace("Q", "L").split() if _is_number(y)}
    for bus in ("bus1", "bus2"):
        assert any(drawn.bars[bus].y < y < drawn.bars[bus].bottom for y in ys)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def test_hostile_and_long_names() -> None:
    name = HOSTILE * 5
    query = Query(
        name=name,
        sources=(source(name + "s"),),
        steps=(operator(name, [name + "s"]),),
        outputs=(Output(name=name, stream=name, deadline=None),),
    )
    svg = plan_svg(plan_of(query))
    drawn = Drawn(svg)
    assert "<script" not in svg
    assert "<script>alert('x')</script>" in drawn.all_titles
    assert any("…" in written.text for written in drawn.texts)
    for key, texts in drawn.item_texts().items():
        assert all(inside(written.frame, drawn.items[key]) for written in texts)


def test_without_a_vehicle_nothing_is_said_about_time() -> None:
    query = Query(
        name="q",
        sources=(source("s"),),
        steps=(operator("a", ["s"]),),
        outputs=(Output(name="o", stream="a", deadline=None),),
    )
    shown = [written.text for written in Drawn(plan_svg(plan_of(query))).texts]
    assert shown[:2] == ["q", "Compiled without a vehicle: nothing is known about time."]
    assert "no deadline" in shown
    assert not any("✓" in text or "✗" in text for text in shown)


def test_an_empty_query_and_a_sensor_only_node_are_drawn() -> None:
    empty = plan_of(Query(name="q", sources=(), steps=(), outputs=()))
    assert Drawn(plan_svg(empty)).items == {}
    plan = collision_warning()
    placement = {name: "node3" for name, _ in plan.placement} | {"gps": "node1"}
    moved = plan_of(plan.query, plan.vehicle, placement)
    drawn = Drawn(plan_svg(replace(moved, verdict=plan.verdict)))
    assert ("stream:gps", "stream:spc_a.sdfo1") in {arrow[:2] for arrow in drawn.arrows}
