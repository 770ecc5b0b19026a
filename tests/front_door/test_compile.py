"""``hw.compile``: everything a query and a vehicle can be given as, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway as hw
from headway.compiler import compile_query
from headway.front_door import compiling
from headway.schedule.online import OVERLOAD_POLICIES
from headway.schedule.online.rop_edf import ReservedEdf2

EXAMPLES = Path(__file__).parents[2] / "examples"
QUERY, VEHICLE = EXAMPLES / "hello" / "query.yaml", EXAMPLES / "hello" / "vehicle.yaml"
STUDY = EXAMPLES / "collision_warning"


def hello() -> hw.QueryBuilder:
    q = hw.QueryBuilder("hello")
    speed = q.source("speed", {"v": "double [m/s]"}, rate="1 per 10 ms", delay="1 ms")
    fast = speed.filter("fast", "v > 30", cost="50 us")
    q.output("alarm", fast.map("kmh", {"v": "v * 3.6"}, cost="20 us"), deadline="5 ms")
    return q


def one_node() -> hw.VehicleBuilder:
    return hw.VehicleBuilder("one_node").node("ecu")


def test_every_form_of_a_query_and_a_vehicle_gives_the_same_plan() -> None:
    loaded, vehicle = hw.load_query(QUERY), hw.load_vehicle(VEHICLE)
    meant = compile_query(loaded.query, vehicle.vehicle)
    queries = (QUERY, str(QUERY), loaded, loaded.query, hello(), hello().build())
    for query in queries:
        assert hw.compile(query, vehicle).plan == meant
    for on in (VEHICLE, str(VEHICLE), vehicle, vehicle.vehicle):
        assert hw.compile(loaded, on).plan == meant
    built = hw.compile(hello(), one_node())
    assert built.plan == compile_query(hello().build(), one_node().build())


def test_what_a_compiled_query_says() -> None:
    kept = hw.compile(QUERY, VEHICLE)
    assert kept.safe
    assert [promise.bound for promise in kept.promises] == [1_070_000]
    assert repr(kept) == (
        "<CompiledQuery hello on one_node: "
        "✓ The deadline holds for every run within the declared rates, delays and costs.>"
    )
    assert not hw.compile(STUDY / "query.yaml", STUDY / "vehicle.yaml").safe


def test_without_a_vehicle_nothing_is_known_about_time() -> None:
    compiled = hw.compile(QUERY)
    assert (compiled.promises, compiled.safe) == ((), True)
    assert "nothing is known about time" in repr(compiled)
    assert "<svg" in compiled._repr_html_()


def test_a_notebook_shows_the_picture_and_the_promises() -> None:
    shown = hw.compile(STUDY / "query.yaml", STUDY / "vehicle.yaml")._repr_html_()
    assert shown.count("<svg") == 1
    for output in ("output1", "output2", "output3"):
        assert f">{output}</td>" in shown
    assert "2 of 3 deadlines cannot be promised." in shown
    assert "<script" not in shown
    assert "<html" not in shown


def test_a_placement_by_a_static_schedule() -> None:
    plain = hw.compile(STUDY / "query.yaml", STUDY / "vehicle.yaml")
    placed = hw.compile(STUDY / "query.yaml", STUDY / "vehicle.yaml", placement="hvlb-cc")
    assert plain.plan.static_order == ()
    assert sorted(placed.plan.static_order) == sorted(
        operator.name for operator in placed.plan.query.operators
    )


def test_a_policy_says_what_is_left_for_soft_tasks() -> None:
    found = hw.compile(QUERY, VEHICLE, policy="rop-edf-1").reservations
    assert any("is left for soft load" in line for line in found)
    assert not any(" reserved" in line for line in found)


@pytest.mark.parametrize("policy", sorted(OVERLOAD_POLICIES.keys() - {"rop-edf-1", "rop-edf-2"}))
def test_a_policy_without_a_guarantee_says_nothing_of_soft_tasks(policy: str) -> None:
    told = f"'{policy}' gives no guarantee to speak of; choose rop-edf-1 or rop-edf-2"
    with pytest.raises(hw.InputError, match=f": {told}$"):
        hw.compile(QUERY, VEHICLE, policy=policy)


def test_what_is_left_for_soft_tasks_depends_on_the_rule_and_not_on_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Mine(ReservedEdf2):
        name = "mine"

    files = STUDY / "query.yaml", STUDY / "vehicle_modern.yaml"
    whole = hw.compile(*files, policy="rop-edf-1").reservations
    shares = hw.compile(*files, policy="rop-edf-2").reservations
    monkeypatch.setattr(compiling, "overload_policy_named", lambda _: Mine())
    assert hw.compile(*files, policy="mine").reservations == shares != whole


def test_a_plan_can_be_written_and_run_again(tmp_path: Path) -> None:
    compiled = hw.compile(QUERY, VEHICLE)
    path = tmp_path / "plan.json"
    path.write_text(compiled.to_json(), encoding="utf-8")
    recording = EXAMPLES / "hello" / "recording"
    again, first = hw.run(path, recording), hw.run(compiled, recording)
    assert again.tables["alarm"].equals(first.tables["alarm"])
    assert compiled.to_svg().startswith("<svg")
    assert compiled.to_html().startswith("<!DOCTYPE html>")


def test_problems_have_their_place_in_the_file(tmp_path: Path) -> None:
    text = QUERY.read_text(encoding="utf-8").replace("v > 30", "w > 30")
    (tmp_path / "query.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(hw.InputError) as caught:
        hw.compile(tmp_path / "query.yaml", VEHICLE)
    place = caught.value.problems[0].place
    assert place is not None
    assert (place.file, place.line) == (str(tmp_path / "query.yaml"), 6)


def test_problems_of_a_query_built_in_python_name_its_parts() -> None:
    q = hw.QueryBuilder("q")
    source = q.source("s", {"v": "double"}, rate="1 per 10 ms")
    q.output("out", source.filter("f", "w > 1"), deadline="5 ms")
    with pytest.raises(hw.InputError) as caught:
        hw.compile(q)
    assert caught.value.problems[0].at.startswith("operators.f")
    assert caught.value.problems[0].place is None


def test_what_is_no_query_or_vehicle() -> None:
    with pytest.raises(hw.InputError, match=r"this is no query; got int; a Query, a QueryBuilder"):
        hw.compile(3)  # type: ignore[arg-type]
    with pytest.raises(hw.InputError, match=r"this is no vehicle; got list; a Vehicle, a Vehicle"):
        hw.compile(QUERY, [])  # type: ignore[arg-type]
