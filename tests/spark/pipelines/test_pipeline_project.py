"""What `headway pipeline` writes, and what it refuses; nothing here starts Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.invoke import headway

from headway.compiler import compile_query
from headway.errors import FileError, UnsupportedError
from headway.files import load_query, parse_query
from headway.spark.pipelines.pipeline_datasets import DatasetKind, pipeline_parts
from headway.spark.pipelines.pipeline_project import MARK, write_project

HELLO = Path("examples/hello/query.yaml")
TYRES = Path("examples/tyre_watch/query.yaml")
COLLISION = Path("examples/collision_warning/query.yaml")

NAMES = """
query: names
sources:
  speed: {schema: {v: double}, rate: 1 per 10 ms}
operators:
  engine: {filter: v > 1, from: speed}
  quick: {filter: v > 2, from: engine}
  Alarm: {distinct: [v], within: 1 s, from: engine}
  alone: {filter: v > 3, from: Alarm}
  also: {filter: v > 4, from: Alarm}
outputs:
  engine: {from: engine, deadline: 1 s}
  quick: {from: quick, deadline: 1 s}
  alarm: {from: alone, deadline: 1 s}
  also: {from: also, deadline: 1 s}
"""


def test_a_dataset_for_each_output_and_each_shared_stream() -> None:
    plan = compile_query(load_query(COLLISION).query)
    (views,) = pipeline_parts(plan)
    assert views.kind is DatasetKind.MATERIALIZED_VIEW
    told = {one.name: (one.streams, one.sources, one.reads) for one in views.datasets}
    assert told == {
        "engine": (("union1", "sdfo2"), ("gps", "speed", "radar", "v2v"), ()),
        "output1": (("map3",), (), ("engine",)),
        "output2": (("collision.map4",), (), ("engine",)),
        "output3": (("map5",), (), ("engine",)),
    }


def test_every_operator_is_computed_for_some_dataset() -> None:
    plan = compile_query(parse_query(NAMES).query)
    computed = {
        name for part in pipeline_parts(plan) for d in part.datasets for name in d.operators
    }
    assert computed == {operator.name for operator in plan.query.operators}


def test_names_that_a_catalog_would_take_for_one() -> None:
    """Outputs keep theirs; Spark's catalog knows no capitals."""
    plan = compile_query(parse_query(NAMES).query)
    names = [one.name for part in pipeline_parts(plan) for one in part.datasets]
    assert sorted(names) == ["alarm", "also", "engine", "engine_2", "engine_3", "quick"]
    outputs = {o.output.name: o.name for p in pipeline_parts(plan) for o in p.datasets if o.output}
    assert outputs == {name: name for name in ("engine", "quick", "alarm", "also")}


def test_the_project_is_read_by_people(tmp_path: Path) -> None:
    plan = compile_query(load_query(TYRES).query)
    project = write_project(plan, tmp_path / "out", source_folder="/data/tyres")
    text = (tmp_path / "out" / "transformations" / "tyre_watch.py").read_text(encoding="utf-8")
    compile(text, "tyre_watch.py", "exec")
    for line in (
        "INPUT = '/data/tyres'",
        "# pressure: wheel int, bar float",
        'query.recorded("heat", query.files("heat", INPUT))',
        "#     SELECT wheel, avg(bar) AS bar, count(*) AS samples",
        "#     GROUP BY vehicle, wheel, WINDOW OF 2 s EVERY 1 s",
        "#     ON tyre.wheel = heat.wheel AND abs(tyre.timestamp - heat.timestamp) <= 2 s",
        "@dp.materialized_view(",
        '    return query.dataset("warning")',
    ):
        assert line in text.splitlines()
    assert max(map(len, text.splitlines())) <= 100
    names = sorted(str(path.relative_to(tmp_path / "out")) for path in project.files)
    assert names == [
        "README.md",
        "plan.json",
        "spark-pipeline.yml",
        "transformations/tyre_watch.py",
    ]


def test_sources_without_a_folder_are_tables(tmp_path: Path) -> None:
    plan = compile_query(load_query(HELLO).query)
    write_project(plan, tmp_path / "out", source_folder=None)
    text = (tmp_path / "out" / "transformations" / "hello.py").read_text(encoding="utf-8")
    assert 'query.arriving("speed", spark.readStream.table("speed"))' in text


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    plan = compile_query(load_query(HELLO).query)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for force in (False, True):
        with pytest.raises(FileError, match="not empty") as refused:
            write_project(plan, tmp_path, source_folder=None, force=force)
        assert "was not written by `headway pipeline`" in str(refused.value)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match="this is no folder"):
        write_project(
            compile_query(load_query(HELLO).query), tmp_path / "out", source_folder=None, force=True
        )


def test_force_replaces_what_was_written_and_nothing_else(tmp_path: Path) -> None:
    hello, tyres = (compile_query(load_query(path).query) for path in (HELLO, TYRES))
    out = tmp_path / "out"
    write_project(hello, out, source_folder=None)
    (out / "transformations" / "own.py").write_text("# mine\n", encoding="utf-8")
    (out / "spark-warehouse").mkdir()
    with pytest.raises(FileError, match="add --force to replace the project"):
        write_project(tyres, out, source_folder=None)
    write_project(tyres, out, source_folder=None, force=True)
    there = sorted(path.name for path in (out / "transformations").iterdir())
    assert there == ["own.py", "tyre_watch.py"]
    assert (out / "spark-warehouse").is_dir()
    assert MARK in (out / "README.md").read_text(encoding="utf-8")


def test_a_query_that_a_batch_cannot_do_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    twins = """
query: twins
sources: {speed: {schema: {v: double, V: double}, rate: 1 per 10 ms}}
operators: {quick: {filter: v > 2, from: speed}}
outputs: {quick: {from: quick, deadline: 1 s}}
"""
    with pytest.raises(UnsupportedError, match="differs from another in capitals only"):
        write_project(compile_query(parse_query(twins).query), tmp_path / "out", source_folder=None)
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- the command


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ["pipeline", str(TYRES), "--out", str(out), "--input", "examples/tyre_watch/recording"]
    shown = headway(*given)
    assert shown.code == 0, shown.err
    assert "warning   materialized view   soft_and_warm   pressure, heat" in shown.out
    assert "spark-pipelines run" in shown.out
    again = headway(*given)
    assert again.code == 2
    assert "the project's folder is not empty" in again.err
    told = json.loads(headway(*given, "--force", "--json").out)
    assert told["datasets"]["warning"] == {
        "kind": "materialized_view",
        "streams": ["soft_and_warm"],
        "output": "warning",
        "reads": ["pressure", "heat"],
        "operators": ["steady", "warm", "soft_and_warm"],
    }
    text = (out / "transformations" / "tyre_watch.py").read_text(encoding="utf-8")
    assert f"INPUT = {str(Path('examples/tyre_watch/recording').absolute())!r}" in text


def test_a_bad_query_is_named_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "query.yaml"
    path.write_text(HELLO.read_text(encoding="utf-8").replace("v > 30", "w > 30"), encoding="utf-8")
    shown = headway("pipeline", str(path), "--out", str(tmp_path / "out"))
    assert shown.code == 2
    assert "query.yaml:6" in shown.err
    assert not (tmp_path / "out").exists()


def test_writing_a_project_does_not_load_spark(tmp_path: Path) -> None:
    """Declaring what a pipeline is takes no Java and no pyspark."""
    program = (
        "import sys\n"
        "from headway.cli.commands.pipeline import pipeline\n"
        f"pipeline({str(HELLO)!r} and __import__('pathlib').Path({str(HELLO)!r}),"
        f" __import__('pathlib').Path({str(tmp_path / 'out')!r}))\n"
        "assert 'pyspark' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
