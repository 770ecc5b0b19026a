"""How a built node ends: what its exit code says of hard outputs, and what a signal does."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.compiler.build import VALUE, one_node, source
from tests.waiting import PATIENCE_S

from headway.compiler import compile_query
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.node_command import HARD_MISSED
from headway.model.expression import Column, Sql
from headway.model.operators import Input, Map
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, SECOND, Cost
from headway.model.query import Criticality, Output, Query
from headway.sources.parquet_file import StreamWriter

HOUR = 3600 * SECOND
HARD, SOFT = Criticality.HARD, Criticality.SOFT


def plan_of(*outputs: tuple[int, Criticality]) -> Plan:
    step = Map(
        name="m",
        inputs=(Input("input", "a"),),
        cost=Cost(10 * MICROSECOND),
        columns=(Column("v", Sql("v")),),
    )
    query = Query(
        name="ending",
        sources=(source("a"),),
        steps=(step,),
        outputs=tuple(
            Output(name=f"o{n}", stream="m", deadline=deadline, criticality=criticality)
            for n, (deadline, criticality) in enumerate(outputs)
        ),
    )
    return compile_query(query, one_node(query))


def run(
    plan: Plan, folder: Path, *options: str, ago: int = 0, tuples: int = 1
) -> tuple[int, str, dict[str, Any]]:
    """Exit code, standard error and report of a node whose tuples were sensed ``ago`` ns before
    they arrive; all arrive at once."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (one,) = build_executables(plan)
    write_build(plan, [one], folder / "build", first_port=port)
    (folder / "recording").mkdir()
    with StreamWriter(folder / "recording" / "a.parquet", VALUE) as writer:
        for _ in range(tuples):
            writer.write((0, 1.0), arrived_at=ago // MICROSECOND)
    command = [sys.executable, str(folder / "build" / one.name), "--json", *options]
    command += ["--input", str(folder / "recording"), "--output", str(folder / "out")]
    command += ["--tolerance", "1 h"]  # a busy machine is late, which is none of this
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    return done.returncode, done.stderr, json.loads(done.stdout)


def test_all_in_time(tmp_path: Path) -> None:
    code, errors, report = run(plan_of((HOUR, HARD)), tmp_path)
    assert (code, errors, report["hard_missed"], report["refused_jobs"]) == (0, "", [], 0)


def test_a_hard_output_that_missed_is_named(tmp_path: Path) -> None:
    plan = plan_of((24 * HOUR, HARD), (HOUR, HARD), (HOUR, SOFT))
    code, errors, report = run(plan, tmp_path, ago=2 * HOUR)
    assert code == HARD_MISSED == 3
    assert errors == "ecu.pyz: hard output 'o1' missed a deadline\n"
    assert report["hard_missed"] == ["o1"]
    assert report["outputs"]["o2"] == {"tuples": 1, "missed": 1}


def test_soft_outputs_may_miss(tmp_path: Path) -> None:
    code, errors, report = run(plan_of((24 * HOUR, HARD), (HOUR, SOFT)), tmp_path, ago=2 * HOUR)
    assert (code, errors) == (0, "")
    assert report["outputs"]["o1"]["missed"] == 1


@pytest.mark.parametrize(
    ("kind", "code", "when_full"), [(HARD, HARD_MISSED, "shed"), (SOFT, 0, "refuse")]
)
def test_a_tuple_that_a_hard_output_needs_is_shed(
    kind: Criticality, code: int, when_full: str, tmp_path: Path
) -> None:
    options = ("--most-waiting", "4", "--when-full", when_full)
    found, errors, report = run(plan_of((HOUR, kind)), tmp_path, *options, tuples=20)
    lost = report["dropped"]["shed"]
    assert 0 < lost < 20
    assert report["dropped_at"] == {"shed": {"m": lost}}
    assert found == code
    assert report["refused_jobs"] == (lost if kind is HARD else 0)
    assert ("jobs of hard outputs were refused" in errors) == (kind is HARD)
    assert report["outputs"]["o0"]["tuples"] == 20 - lost
