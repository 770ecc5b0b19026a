"""A kind of another package takes part everywhere: files, Python, plans, engine, executables, and
the contract suite finds it unasked. Each in a process of its own, in which the package is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.outside.offer import offered, run_python

QUERY = """
query: thinned
sources:
  s: {schema: {k: int, v: double}}
operators:
  few: {thin: 2, from: s, by: [k]}
outputs:
  o: {from: few, deadline: 1 s}
"""

EVERYWHERE = f"""
import headway as hw
from headway.compiler import compile_query
from headway.files import parse_query, query_json_schema, query_to_yaml
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.graph import graph_of
from headway.runtime.engine import Engine
from headway.runtime.happenings import Arrival
from headway.spark.lowering.regions import keeps_state, region_of

query = parse_query('''{QUERY}''').query
assert parse_query(query_to_yaml(query)).query == query
assert "ThinForm" in query_json_schema()["$defs"]

q = hw.QueryBuilder("thinned")
s = q.source("s", {{"k": "int", "v": "double"}})
q.output("o", s.apply("thin", "few", 2, by=["k"]), deadline="1 s")
assert q.build() == query

plan = compile_query(query)
assert plan_from_json(plan_to_json(plan)) == plan
for needs in ((), (keeps_state,)):
    assert region_of(graph_of(plan.query), *needs).exits == ("few",)
rows = [(time, time % 2, float(time)) for time in range(8)]
run = Engine(plan=plan, charged=False).run([Arrival(row[0] * 1000, "s", row) for row in rows])
print([row[0] for row in run.outputs["o"].rows])
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return offered(tmp_path_factory.mktemp("installed"))


def test_it_takes_part_everywhere(place: Path) -> None:
    ran = run_python(place, "-c", EVERYWHERE)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["[2,", "3,", "6,", "7]"]


def test_the_contract_suite_finds_it_unasked(place: Path) -> None:
    arguments = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/contract/test_every_kind.py",
    ]
    ran = run_python(place, *arguments)
    assert ran.returncode == 0, ran.stdout
    without = run_python(None, *arguments, "--collect-only")
    assert without.returncode == 0, without.stdout
    assert "thin: every second" not in without.stdout


def test_mistakes_are_told_as_for_headways_own(place: Path) -> None:
    text = QUERY.replace("thin: 2", "thin: two").replace("by: [k]", "bye: [k]")
    script = f"from headway.files import parse_query\nparse_query('''{text}''')"
    ran = run_python(place, "-c", script)
    assert "query.yaml:6:15: operators.few.thin: " in ran.stderr
    assert "operators.few.bye: unknown key 'bye'; did you mean 'by'?" in ran.stderr


def test_a_broken_package_is_named(tmp_path: Path) -> None:
    broken = offered(tmp_path, "nowhere.at_all:KIND")
    ran = run_python(broken, "-c", "from headway.model.operator_kinds import kinds; kinds()")
    assert "operator 'thin' of thin-operators (nowhere.at_all:KIND) cannot be used" in ran.stderr
    assert ran.stderr.rstrip().endswith("repair or uninstall thin-operators")
