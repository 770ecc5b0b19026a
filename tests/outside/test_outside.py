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
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
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


# ---------------------------------------------------------------- a package that is broken

TOLD = (
    "the operator 'thin' of the package thin-operators cannot be loaded: ModuleNotFoundError: No "
    "module named 'nowhere'"
)
WITHOUT = QUERY.replace("thin: 2", "filter: v > 0").replace(", by: [k]", "")
"""the query, with an operator of Headway's own in place of the package's"""
WANT = "correct or uninstall thin-operators, or choose another operator"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return offered(tmp_path_factory.mktemp("broken"), "nowhere.at_all:KIND")


def last_line(place: Path, script: str) -> str:
    ran = run_python(place, "-c", script)
    assert ran.returncode == 1, ran.stdout
    return ran.stderr.rstrip().splitlines()[-1]


def test_a_broken_package_harms_nobody_who_does_not_use_it(broken: Path) -> None:
    script = f"""
from headway.files import parse_query, query_json_schema, query_to_yaml
import headway as hw
from headway.model.codec import plan_from_json, plan_to_json
query = parse_query('''{WITHOUT}''').query
assert parse_query(query_to_yaml(query)).query == query
assert "FilterForm" in query_json_schema()["$defs"]
plan = hw.compile(query).plan
assert plan_from_json(plan_to_json(plan)) == plan
"""
    ran = run_python(broken, "-c", script)
    assert ran.returncode == 0, ran.stderr


def test_a_broken_package_is_named_where_a_file_uses_it(broken: Path) -> None:
    told = last_line(broken, f"from headway.files import parse_query\nparse_query('''{QUERY}''')")
    assert told == (
        "headway.errors.FileError: query.yaml:6:9: operators.few.thin: "
        f"{TOLD}; got nowhere.at_all:KIND; {WANT}"
    )


def test_a_broken_package_is_named_where_python_uses_it(broken: Path) -> None:
    script = """
import headway as hw
q = hw.QueryBuilder("thinned")
q.source("s", {"v": "double"}).apply("thin", "few", 2)
"""
    assert last_line(broken, script) == (
        f"headway.errors.QueryError: operators.few.thin: {TOLD}; got nowhere.at_all:KIND; {WANT}"
    )


def test_a_broken_package_is_named_where_a_plan_uses_it(broken: Path, place: Path) -> None:
    write = f"""
import headway as hw
from headway.files import parse_query
print(hw.compile(parse_query('''{QUERY}''')).to_json())
"""
    written = run_python(place, "-c", write)
    assert written.returncode == 0, written.stderr
    (broken / "plan.json").write_text(written.stdout)
    path = str(broken / "plan.json")
    script = f"""
from headway.model.codec import plan_from_json
plan_from_json(open({path!r}).read())
"""
    assert last_line(broken, script) == (
        f"headway.errors.FileError: plan.json: query.steps.0.kind: {TOLD}; got 'thin'; {WANT}, or "
        "compile the query again"
    )


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (
            "replace(KIND, forms=('nowhere.at_all:Form',))",
            "cannot be loaded: ModuleNotFoundError: No module named 'nowhere'; got nowhere.at_all:",
        ),
        (
            "replace(KIND, forms=('tests.outside.thin_kind:Thin',))",
            "has a form that is no StepForm with a key; got its_kind:KIND: <class ",
        ),
        (
            "replace(KIND, forms=('its_kind:From',))",
            "is written with a key of Headway's own; got its_kind:KIND: 'from'",
        ),
    ],
    ids=["no form", "no StepForm", "key of Headway's own"],
)
def test_a_form_that_cannot_be_used_is_told_with_its_package(
    tmp_path: Path, kind: str, told: str
) -> None:
    source = f"""
from dataclasses import replace
from tests.outside.thin_kind import KIND, Thin
from headway.files.operator_forms import StepForm
class From(StepForm):
    key, model = "from", Thin
KIND = {kind}
"""
    place = offered(tmp_path, "its_kind:KIND")
    (place / "its_kind.py").write_text(source)
    parse = "from headway.files import parse_query"
    last = last_line(place, f"{parse}\nparse_query('''{WITHOUT}''')\nparse_query('''{QUERY}''')")
    assert f"few.thin: the operator 'thin' of the package thin-operators {told}" in last


def test_two_kinds_that_are_written_alike_are_nobodys(tmp_path: Path) -> None:
    place = offered(tmp_path)
    again = place / "thick_operators-1.0.dist-info"
    again.mkdir()
    (again / "METADATA").write_text("Metadata-Version: 2.1\nName: thick-operators\nVersion: 1.0\n")
    (again / "entry_points.txt").write_text("[headway.operators]\nthick = its_kind:KIND\n")
    (place / "its_kind.py").write_text(
        "from dataclasses import replace\nfrom tests.outside.thin_kind import KIND\n"
        "KIND = replace(KIND, kind='thick')\n"
    )
    last = last_line(place, f"from headway.files import parse_query\nparse_query('''{QUERY}''')")
    assert last.endswith(
        "operators.few.thin: two kinds of operators are written 'thin'; got "
        "tests.outside.thin_files and tests.outside.thin_files; uninstall one of these packages"
    )


# ---------------------------------------------------------------- who imports whom


@pytest.mark.parametrize("module", ["thin_kind", "thin_files", "thin_behaviour", "thin_cases"])
def test_its_modules_can_be_imported_before_headway(place: Path, module: str) -> None:
    script = f"""
import tests.outside.{module}
from headway.files import parse_query
parse_query('''{QUERY}''')
"""
    ran = run_python(place, "-c", script)
    assert ran.returncode == 0, ran.stderr


def test_the_module_of_a_kind_may_use_what_reads_queries(tmp_path: Path) -> None:
    """Headway looks for kinds when a query asks for one, not when it is imported: by then the
    module is whole."""
    place = offered(tmp_path, "its_kind:KIND")
    (place / "its_kind.py").write_text(
        "import headway as hw\nfrom headway.files import parse_query\n"
        "from headway.model.codec import plan_from_json\nhw.QueryBuilder, hw.compile\n"
        "from tests.outside.thin_kind import KIND\n"
    )
    ran = run_python(place, "-c", f"import its_kind\nits_kind.parse_query('''{QUERY}''')")
    assert ran.returncode == 0, ran.stderr
