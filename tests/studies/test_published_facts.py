"""The published facts that studies carry are those of tests/golden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway_studies.aedsms import aedsms_tasks
from headway_studies.hvlb_cc import worked_example
from headway_studies.hvlb_cc.data_precision import FIGURE_3
from headway_studies.hvlb_cc.random_graphs import figure_2
from headway_studies.rop_edf import er_edf_example
from headway_studies.s_edf import sedf_example

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def test_sedf_query() -> None:
    facts = golden("sedf_fig6.json")
    streams = [[stream, name] for name, inputs in sedf_example.INPUTS.items() for stream in inputs]
    streams += [[stream, name] for name, (stream, _) in sedf_example.OUTPUTS.items()]
    assert sorted(streams) == sorted(facts["query"]["streams"])
    assert facts["query"]["timeouts"] == sedf_example.TIMEOUTS
    assert {name: d for name, (_, d) in sedf_example.OUTPUTS.items()} == facts["query"]["deadlines"]
    assert [train.split() for train in sedf_example.TRAINS] == facts["trains"]
    assert {
        f"{name} in ({train.replace(' ', ',')})": deadline
        for (name, train), deadline in sedf_example.TRAIN_DEADLINES.items()
    } == facts["deadlines"]


def test_sedf_run() -> None:
    facts = golden("sedf_fig6_run.json")
    assert {
        one["tuple"]: (one["stream"], one["arrives"]) for one in facts["input"]
    } == sedf_example.TUPLES
    for policy, key in {"s-edf": "s_edf", "fifo+": "fifo_plus"}.items():
        slots = " ".join(f"{operator}@{start}" for start, operator, _ in facts[key]["slots"])
        assert sedf_example.SLOTS[policy] == slots
        done = {(out, p): at for out, of in facts[key]["outputs"].items() for p, at in of.items()}
        assert sedf_example.COMPLETED[policy] == done
        assert [list(pair) for pair in sedf_example.MISSED[policy]] == facts[key]["missed"]


def test_aedsms_tables() -> None:
    facts = golden("aedsms_table1.json")
    for name, task in facts["tasks"].items():
        printed = aedsms_tasks.TASKS[name]
        wanted = (task["node"], " ".join(task["operators"]), task["relative_deadline"])
        assert printed == wanted
    meaning = facts["single_node_operators"]
    for name, train in facts["single_node_trains"].items():
        printed = aedsms_tasks.TRAINS[name]
        assert printed.operators.split() == [o for s in train["operators"] for o in meaning[s]]
        assert printed.deadline == train["deadline"].replace(" + t", " ms")


def test_er_edf_example() -> None:
    facts = golden("er_edf_fig5.json")
    for name, (kind, deadline, average, peak) in er_edf_example.TABLE_1.items():
        task = facts["tasks"][name]
        assert (kind, deadline) == (task["kind"], task["deadline"])
        assert (average, peak) == (round(100 * task["average"]), round(100 * task["peak"]))
        assert (name in er_edf_example.APERIODIC) == task.get("aperiodic", False)
    jobs = [(one["task"], one["release"], one["execution"]) for one in facts["jobs"]]
    assert sorted(er_edf_example.JOBS) == sorted(jobs)
    printed = facts["er_edf"]
    assert [list(run) for run in er_edf_example.RUNS_UNTIL_10] == printed["runs_until_10"]
    assert [list(one) for one in er_edf_example.REPLENISHED] == printed["replenished"]
    assert [list(one) for one in er_edf_example.REJECTED] == printed["rejected"]
    assert printed["capacity_left_at_12"] == er_edf_example.LEFT_AT_12


def test_hvlb_example() -> None:
    facts = golden("hvlb_fig5.json")
    for task, row in facts["computation_times"].items():
        assert list(row.values()) == list(worked_example.TABLE_1[task])
        assert list(facts["table2_rank"][task].values()) == list(worked_example.TABLE_2_RANK[task])
        _, _, depth, hprv_a, hprv_b = worked_example.TABLE_2[task]
        assert depth == facts["depth"][task]
        assert (hprv_a, hprv_b) == (facts["table2_hprv_a"][task], facts["table2_hprv_b"][task])
    edges = [[sender, receiver] for sender, found in FIGURE_3.items() for receiver in found]
    assert sorted(edges) == sorted(facts["edges"])
    assert facts["processor_speed"] == worked_example.PROCESSOR_SPEEDS
    assert worked_example.ORDERS["hvlb-cc-a"].split() == facts["order_a"]
    assert worked_example.ORDERS["hvlb-cc-b"].split() == facts["order_b"]
    links = {link.name: {"ends": list(link.ends), "speed": link.speed} for link in figure_2().links}
    assert links == facts["links"]
    for name, key in {"hvlb-cc-a": "hvlb_cc_a", "hvlb-cc-b": "hvlb_cc_b"}.items():
        printed = facts["makespan_by_alpha"][key]
        assert worked_example.PERIODS[name] == printed["period"]
        assert [
            [first / 100, last / 100, length]
            for first, last, length in worked_example.FIGURE_5[name]
        ] == printed["ranges"]
