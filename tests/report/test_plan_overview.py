"""The picture of a car with many ECUs: everything is told once, inside its panel, on a page's
width."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import combinations
from xml.etree import ElementTree

from tests.compiler.build import query_of
from tests.engine.support import compiled

from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle
from headway.report.plan.plan_overview import WIDTH
from headway.report.plan.plan_picture import MOST_ECUS, plan_svg

SVG = "{http://www.w3.org/2000/svg}"
ECUS = MOST_ECUS + 3
HOSTILE = "q&<9>"


@cache
def plan(deadline: int = 100) -> Plan:
    """A sensor on ECU n, an operator pinned on the next one, and its output; two buses, of which
    the second has the ECUs from the tenth on, and the last one belongs to none."""
    names = [f"ecu_{number:02}" for number in range(ECUS)]
    rows = [(f"s{n}", f"o{n}") for n in range(0, 18)] + [(f"o{n}", f"out{n}") for n in range(0, 18)]
    query = query_of(rows, {f"out{n}": deadline * MILLISECOND for n in range(18)}, costs=1_000_000)
    buses = (("low", names[:10]), ("high", names[10:-1]))
    return compiled(
        query,
        Vehicle(
            name="many",
            nodes=tuple(Node(name=name) for name in names),
            buses=tuple(
                Bus(name=name, kind=BusKind.CAN, bit_rate=500_000, nodes=tuple(nodes))
                for name, nodes in buses
            ),
            gateways=(Gateway(name="middle", buses=("low", "high")),),
            sensors=tuple((f"s{n}", names[n]) for n in range(18)),
            pins=tuple((f"o{n}", names[n + 1]) for n in range(18)),
        ),
    )


def picture(shown: Plan, *, heading: bool = True) -> ElementTree.Element:
    return ElementTree.fromstring(plan_svg(shown, heading=heading))


def texts(element: ElementTree.Element) -> list[str]:
    """What stands in it, without tooltips."""
    return [
        "".join(one.itertext())
        for one in element.iter(f"{SVG}text")
        if one.find(f"{SVG}title") is None
    ]


def group_of(drawn: ElementTree.Element, key: str, name: str) -> ElementTree.Element:
    (found,) = [one for one in drawn.iter(f"{SVG}g") if one.get(key) == name]
    return found


def frame(element: ElementTree.Element) -> tuple[float, float, float, float]:
    """x, y, right, bottom of its first rectangle."""
    rect = element.find(f"{SVG}rect")
    assert rect is not None
    x, y, width, height = (float(rect.get(key, "0")) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_every_ecu_and_bus_is_there_once_and_on_the_page() -> None:
    drawn = picture(plan())
    nodes = Counter(one.get("data-node") for one in drawn.iter(f"{SVG}g") if one.get("data-node"))
    assert nodes == Counter(node.name for node in plan().vehicle.nodes)
    media = [one.get("data-medium") for one in drawn.iter(f"{SVG}g") if one.get("data-medium")]
    assert media == ["high", "low", "on no bus"]  # the fullest first
    assert float(drawn.get("width", "0")) == WIDTH < 1300
    height = float(drawn.get("height", "0"))
    for one in drawn.iter(f"{SVG}rect"):
        assert 0 <= float(one.get("x", "0")) <= WIDTH
        assert float(one.get("y", "0")) + float(one.get("height", "0")) <= height


def test_ecus_stand_in_the_panel_of_their_bus_and_none_over_another() -> None:
    drawn = picture(plan())
    panels = {name: frame(group_of(drawn, "data-medium", name)) for name in ("low", "high")}
    boxes = {}
    for bus in plan().vehicle.buses:
        left, top, right, bottom = panels[bus.name]
        for name in bus.nodes:
            x, y, far, low = boxes[name] = frame(group_of(drawn, "data-node", name))
            assert left < x < far < right
            assert top < y < low < bottom
    for one, other in combinations([*boxes.values()], 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart


def test_an_ecu_tells_what_it_does() -> None:
    drawn = picture(plan())
    found = group_of(drawn, "data-node", "ecu_05")
    assert texts(found)[:2] == ["ecu_05", "1 ⇒ 1 ✓"]
    title = found.find(f"{SVG}title")
    assert title is not None
    assert title.text is not None
    assert "o4" in title.text
    assert "sources: s5" in title.text
    assert "outputs: out4" in title.text
    assert texts(group_of(drawn, "data-node", f"ecu_{ECUS - 1:02}"))[1] == "–"


def test_a_broken_promise_is_told_by_a_sign_and_not_by_colour_alone() -> None:
    late = plan(deadline=1)
    assert late.verdict is not None
    assert not late.verdict.safe
    broken = group_of(picture(late), "data-node", "ecu_05")
    assert texts(broken)[1] == "1 ⇒ 1 ✗"
    assert next(broken.iter(f"{SVG}rect")).get("class") == "output broken"


def test_streams_are_counted_by_where_they_begin_and_end() -> None:
    drawn = picture(plan())
    tips = [one.text or "" for one in drawn.iter(f"{SVG}title")]
    ways = [tip for tip in tips if re.fullmatch(r"\d+ streams? from \w+ to \w+", tip)]
    assert sorted(ways) == [
        "1 stream from low to high", "8 streams from high to high", "9 streams from low to low",
    ]  # fmt: skip
    assert len(plan().crossings) == 18
    alone = replace(plan(), crossings=())
    assert "streams between ECUs" not in plan_svg(alone)


def test_without_heading_the_page_says_it() -> None:
    heading = "test on many"
    assert heading in texts(picture(plan()))
    assert heading not in texts(picture(plan(), heading=False))


def test_names_are_escaped() -> None:
    vehicle = plan().vehicle
    nodes = (replace(vehicle.nodes[0], name=HOSTILE), *vehicle.nodes[1:])
    drawn = picture(replace(plan(), vehicle=replace(vehicle, nodes=nodes)))
    assert group_of(drawn, "data-node", HOSTILE) is not None
