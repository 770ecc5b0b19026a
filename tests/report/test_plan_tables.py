"""The tables: wording and numbers."""

from __future__ import annotations

from dataclasses import replace

from tests.report.study import collision_warning

from headway.report.plan import plan_tables

PLAN = collision_warning()


def test_placement_lists_sources_and_operators_by_node() -> None:
    rows = plan_tables.placement(PLAN).rows
    assert rows[:4] == [
        ["node1", "gps", "source", "–", "–"],
        ["node1", "speed", "source", "–", "–"],
        ["node1", "spc_a.sdfo1", "user-defined", "3.680", "T1"],
        ["node1", "spc_a.map1", "map", "0.400", "T1"],
    ]
    assert ["node2", "union1", "union", "0.200", "T2, T3"] in rows
    assert len(rows) == 16


def test_tasks() -> None:
    assert plan_tables.tasks(PLAN).rows[2] == [
        "T3",
        "node2",
        "spc_b.join1 → spc_b.map2 → union1",
        "radar, spc_a.map1",
        "0.600",
        "28 ms",
        "min(d2 - c2, d3 - c3) - bus1",
        "T2 (+1.000 ms)",
    ]


def test_crossings() -> None:
    rows = plan_tables.crossings(PLAN).rows
    assert [row[:5] for row in rows] == [
        ["spc_a.map1", "node1", "node2", "24", "bus1"],
        ["union1", "node2", "node3", "24", "bus1 → gateway → bus2"],
    ]


def test_loads() -> None:
    rows = plan_tables.loads(PLAN).rows
    assert rows[0] == ["node1", "node", "4.8 %", "100 %", "✓"]
    assert rows[2] == ["node3", "node", "93 %", "80 %", "✗"]


def test_promises() -> None:
    rows = plan_tables.promises(PLAN).rows
    assert rows[0] == ["output1", "hard", "30 ms", "23.152", "6.848", "✓", "–"]
    assert rows[2] == [
        "output3",
        "soft",
        "3 s",
        "–",
        "–",
        "✗",
        "node3: node3 can be asked for more than it can do",
    ]


def test_derivation_adds_up_to_the_bound() -> None:
    first, second = plan_tables.derivations(PLAN)
    assert first.title == "Where the time of output1 goes"
    assert first.rows[0] == ["1", "gps", "gps arrives after sensing", "2.000", "2.000", "8.6 %"]
    assert first.rows[-1][4] == plan_tables.promises(PLAN).rows[0][3]
    assert len(second.rows) == 1


def test_rows_are_as_long_as_their_headers() -> None:
    tables = [
        plan_tables.placement(PLAN),
        plan_tables.tasks(PLAN),
        plan_tables.crossings(PLAN),
        plan_tables.loads(PLAN),
        plan_tables.promises(PLAN),
        *plan_tables.derivations(PLAN),
    ]
    for table in tables:
        assert table.rows
        assert all(len(row) == len(table.headers) for row in table.rows)


def test_without_a_verdict_there_are_no_loads_promises_or_derivations() -> None:
    plan = replace(PLAN, verdict=None)
    assert plan_tables.loads(plan).rows == []
    assert plan_tables.promises(plan).rows == []
    assert plan_tables.derivations(plan) == []
