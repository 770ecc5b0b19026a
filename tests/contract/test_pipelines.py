"""Every example, and a query of all that pipelines know, as a project that spark-pipelines runs."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.contract.engines import table
from tests.contract.examples import EXAMPLES, example_query, recording_of
from tests.contract.recordings import Answer, Recording, comparable, differences, meaning
from tests.spark.pipelines.running_pipelines import run_pipeline, stored

from headway.compiler import compile_query
from headway.files import parse_query
from headway.model.plan import Plan
from headway.spark.pipelines.pipeline_project import PipelineProject, write_project

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

EVERY_WAY = """
query: every_way
sources:
  speed: {schema: {v: "double [m/s]", wheel: int}, rate: 1 per 100 ms, delay: 5 ms, lateness: 50 ms}
  brake: {schema: {force: float, wheel: int}, rate: 1 per 100 ms, delay: 5 ms, lateness: 50 ms}
operators:
  moving: {filter: v > 5, from: speed}
  kmh: {map: {v: v * 3.6, wheel: wheel}, from: moving}
  halved:
    map: {v: {python: "users_own_module:half", arguments: [v], returns: double}}
    from: moving
  mean: {aggregate: {v: avg(v), n: count(*)}, from: speed, by: [wheel], window: 500 ms}
  quick: {filter: v > 20, from: mean}
  slow: {filter: v <= 20, from: mean}
  calm: {aggregate: {v: max(v)}, from: mean, window: 2 s}
  twice: {join: {a: mean, b: quick}, within: 600 ms, keys: [wheel], select: {v: a.v, w: b.v}}
  both: {union: [quick, slow]}
  braking:
    join: {left: moving, right: brake}
    within: 100 ms
    keys: [wheel]
    select: {wheel: left.wheel, v: left.v, force: right.force}
  seldom: {distinct: [wheel], from: braking, within: 1 s}
outputs:
  quick: {from: quick, deadline: 1 s}
  Slow: {from: slow, deadline: 1 s}
  calm: {from: calm, deadline: 1 s}
  twice: {from: twice, deadline: 1 s}
  both: {from: both, deadline: 1 s}
  kmh: {from: kmh, deadline: 1 s}
  halved: {from: halved, deadline: 1 s}
  seldom: {from: seldom, deadline: 1 s}
"""
"""Streaming tables that share a stream, views that share one, and one that the engine computes."""


MODULE = """
def half(value):
    if value > 35:
        raise ValueError("such a tuple is lost, its neighbours are not")
    return value / 2
"""


def project_of(plan: Plan, recording: Recording, folder: Path) -> PipelineProject:
    add_files(plan, recording, folder / "recording", "0")
    return write_project(plan, folder / "project", source_folder=str(folder / "recording"))


def add_files(plan: Plan, recording: Recording, folder: Path, name: str) -> None:
    for source in plan.query.sources:
        (folder / source.name).mkdir(parents=True, exist_ok=True)
        path = folder / source.name / f"{name}.parquet"
        pa.parquet.write_table(table(recording, source), path)


def answer_of(plan: Plan, project: PipelineProject) -> Answer:
    """The tuples in the datasets of the outputs."""
    answer: Answer = Counter()
    for dataset in project.datasets:
        if dataset.output is None:
            continue
        found = stored(project.folder, dataset.name)
        schema = dict(plan.schemas)[dataset.output.stream]
        names = ["vehicle", *(field.name for field in schema.columns)]
        columns = [
            column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
            for column in (found.column(name) for name in names if found.num_rows)
        ]
        for vehicle, *row in zip(*(column.to_pylist() for column in columns), strict=True):
            answer[vehicle, dataset.output.name, comparable(row)] += 1
    return answer


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda path: path.name)
def test_an_example_as_a_pipeline(folder: Path, tmp_path: Path) -> None:
    query = example_query(folder)
    plan = compile_query(query)
    recording = recording_of(query, random.Random(3), steps=40)
    project = project_of(plan, recording, tmp_path)
    run_pipeline(project.folder)
    expected = meaning(plan, recording)
    assert {name for _, name, _ in expected} == {output.name for output in query.outputs}
    assert differences(expected, answer_of(plan, project)) == []


@pytest.fixture
def every_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Plan, Recording]:
    """The user's own module is carried along: the pipeline does not find it where it came from."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "users_own_module.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    query = parse_query(EVERY_WAY).query
    return compile_query(query), recording_of(query, random.Random(5), steps=60)


def test_every_way(every_way: tuple[Plan, Recording], tmp_path: Path) -> None:
    plan, recording = every_way
    project = project_of(plan, recording, tmp_path)
    kinds = Counter((one.kind.value, one.content.value) for one in project.datasets)
    assert kinds == {
        ("table", "stream"): 1,
        ("table", "output"): 2,
        ("materialized_view", "stream"): 3,
        ("materialized_view", "engine"): 1,
        ("materialized_view", "output"): 6,
    }
    expected = meaning(plan, recording)
    assert {name for _, name, _ in expected} == {output.name for output in plan.query.outputs}
    run_pipeline(project.folder)
    assert differences(expected, answer_of(plan, project)) == []


def test_a_second_run(every_way: tuple[Plan, Recording], tmp_path: Path) -> None:
    """It finds more files: tables take what is new, views all."""
    plan, whole = every_way
    middle = sorted(one.arrived_at for one in whole.tuples)[len(whole.tuples) // 2]
    first = Recording(tuple(one for one in whole.tuples if one.arrived_at <= middle))
    rest = Recording(tuple(one for one in whole.tuples if one.arrived_at > middle))
    project = project_of(plan, first, tmp_path)
    hive = ("--conf", "spark.sql.catalogImplementation=hive")  # remembers tables between runs
    run_pipeline(project.folder, *hive)
    assert differences(meaning(plan, first), answer_of(plan, project)) == []
    add_files(plan, rest, tmp_path / "recording", "1")
    run_pipeline(project.folder, *hive)
    assert differences(meaning(plan, whole), answer_of(plan, project)) == []
