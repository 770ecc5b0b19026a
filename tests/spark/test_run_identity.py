"""What a checkpoint is bound to: what changes answers, in words, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.running import EXAMPLES

from headway.compiler import compile_query
from headway.files import load_query, load_vehicle, parse_query
from headway.model.plan import Plan
from headway.spark.state.state_migration import migration_of
from headway.spark.streams.run_identity import (
    changes,
    identity_data,
    identity_from,
    identity_of,
)

QUERY = """
query: watch
sources:
  speed: {schema: {v: "double [m/s]", lane: int}, rate: 10 per 1 s, lateness: 1 s}
  radar: {schema: {d: double}, rate: 10 per 1 s, shed: {at_most: 5 per 1 s, value: d}}
operators:
  fast: {filter: v > 30, from: speed, cost: 10 us}
  mean: {aggregate: {v: avg(v)}, by: [lane], window: 10 s, from: fast, cost: 10 us}
  near: {join: {s: fast, r: radar}, within: 1 s, select: {v: s.v, d: r.d}, cost: 10 us}
outputs:
  alarm: {from: fast, deadline: 600 ms}
  average: {from: mean, deadline: 2 s, criticality: soft}
  close: {from: near, deadline: 2 s, criticality: soft}
"""


def plan_of(text: str) -> Plan:
    return compile_query(parse_query(text).query)


def changed(old: str, new: str) -> list[tuple[str, bool]]:
    assert old in QUERY
    before, now = (identity_of(plan_of(text)) for text in (QUERY, QUERY.replace(old, new)))
    return [(str(one), one.forms) for one in changes(before, now)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("cost: 10 us", "cost: 20 us"),
        ("deadline: 600 ms", "deadline: 700 ms"),
        ("rate: 10 per 1 s", "rate: 20 per 1 s, delay: 5 ms"),
        ("{from: mean, deadline: 2 s,", "{from: mean, deadline: 2 s, weight: 3,"),
        ("within: 1 s,", "within: 1 s, most_outputs: 9,"),
        ("query: watch", "query: watched"),
    ],
)
def test_what_changes_no_answer_goes_on(old: str, new: str) -> None:
    assert changed(old, new) == []


def test_the_vehicle_changes_no_answer() -> None:
    query = load_query(EXAMPLES / "collision_warning" / "query.yaml").query
    modern = load_vehicle(EXAMPLES / "collision_warning" / "vehicle_modern.yaml").vehicle
    assert identity_of(compile_query(query)) == identity_of(compile_query(query, modern))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("v > 30", "v > 40", ["operators.fast.where: v > 30 -> v > 40"]),
        ("lateness: 1 s", "lateness: 2 s", ["sources.speed.lateness: 1 s -> 2 s"]),
        ("at_most: 5 per 1 s", "at_most: 6 per 1 s", ["sources.radar.shed.at_most: 5 -> 6"]),
        ("within: 1 s", "within: 2 s", ["operators.near.within: 1 s -> 2 s"]),
        ("within: 1 s", "where: r.d < 5, within: 1 s", ["operators.near.where: added, r.d < 5"]),
        ("d: r.d}", "d: r.d * 2}", ["operators.near.columns.d: r.d -> r.d * 2"]),
        (
            "  alarm: {",
            "  quiet: {from: slow, deadline: 1 s, criticality: soft}\n  alarm: {",
            ["operators.slow: added", "outputs.quiet: added"],
        ),
        (
            "  alarm: {from: fast, deadline: 600 ms}\n",
            "",
            ["outputs.alarm: removed"],
        ),
    ],
)
def test_what_can_be_adopted(old: str, new: str, told: list[str]) -> None:
    if "slow" in new:
        text = QUERY.replace(old, new).replace(
            "operators:\n", "operators:\n  slow: {filter: v < 5, from: speed, cost: 10 us}\n"
        )
        found = changes(identity_of(plan_of(QUERY)), identity_of(plan_of(text)))
        assert [(str(one), one.forms) for one in found] == [(one, False) for one in told]
        return
    assert changed(old, new) == [(one, False) for one in told]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "lane: int",
            "lane: bigint",
            "sources.speed.schema: v double [m/s], lane int -> v double [m/s], lane bigint",
        ),
        ("window: 10 s", "window: 20 s", "operators.mean.window: 10 s -> 20 s"),
        ("avg(v)", "max(v)", "operators.mean.columns.v: avg(v) -> max(v)"),
        ("at_most: 5 per 1 s", "at_most: 5 per 2 s",
         "sources.radar.shed: arrival, per 1 s -> arrival, per 2 s"),
        ("within: 1 s", "timeout: 1 s, within: 1 s",
         "operators.near.waits for its inputs: never -> up to its timeout"),
        ("{from: mean, deadline: 2 s, criticality: soft}", "{from: mean, deadline: 2 s}",
         "outputs.average.query: soft-average -> hard-state"),
    ],
)  # fmt: skip
def test_what_states_and_files_have_their_form_from(old: str, new: str, told: str) -> None:
    assert (told, True) in changed(old, new)


@pytest.mark.parametrize(
    ("old", "new", "goes_on"),
    [
        ("v > 30", "v > 40", True),
        ("lateness: 1 s", "lateness: 2 s", True),
        ("at_most: 5 per 1 s", "at_most: 6 per 1 s", True),
        ("within: 1 s", "where: r.d < 5, within: 2 s", True),
        ("d: r.d}", "d: r.d * 2}", True),
        ("d: r.d}", "d: CAST(r.d AS int)}", False),
        ("lane: int", "lane: bigint", False),
        ("window: 10 s", "window: 20 s", False),
        ("by: [lane], ", "", False),
        ("avg(v)", "max(v)", False),
        ("at_most: 5 per 1 s", "at_most: 5 per 2 s", False),
        (", shed: {at_most: 5 per 1 s, value: d}", "", False),
        ("within: 1 s", "timeout: 1 s, within: 1 s", False),
    ],
)
def test_what_can_be_adopted_keeps_every_state(old: str, new: str, goes_on: bool) -> None:
    before, now = plan_of(QUERY), plan_of(QUERY.replace(old, new))
    assert old in QUERY
    lost = migration_of(before, now).begun
    assert (not lost) == goes_on
    forming = [one for one in changes(identity_of(before), identity_of(now)) if one.forms]
    assert (not forming) == goes_on


def test_the_code_of_the_users_functions_and_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "my_code_for_identity.py"
    module.write_text("def half(v):\n    return v / 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    text = QUERY.replace(
        "filter: v > 30",
        'set: {v: {python: "my_code_for_identity:half", arguments: [v], returns: "double [m/s]"}}',
    )
    before = identity_of(plan_of(text))
    assert "cannot be read" not in str(before)
    module.write_text("def half(v):\n    return v * 0.5\n")
    import importlib
    import linecache

    import my_code_for_identity  # type: ignore[import-not-found]

    linecache.clearcache()
    importlib.reload(my_code_for_identity)
    (found,) = changes(before, identity_of(plan_of(text)))
    assert found.path == "operators.fast.code of my_code_for_identity:half"
    assert not found.forms


def test_it_survives_its_file() -> None:
    identity = identity_of(plan_of(QUERY))
    assert identity_from(json.loads(json.dumps(identity_data(identity)))) == identity


def test_the_order_of_sources_forms_states() -> None:
    plan = plan_of(QUERY)
    turned = replace(plan, query=replace(plan.query, sources=tuple(reversed(plan.query.sources))))
    found = [str(one) for one in changes(identity_of(plan), identity_of(turned)) if one.forms]
    assert found == ["queries.soft-average.sources: speed, radar -> radar, speed"]
