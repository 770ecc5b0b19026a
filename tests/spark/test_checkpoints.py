"""A checkpoint goes on with the same answers, with adopted ones, or is refused with the list."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.compiler import compile_query
from headway.errors import FileError
from headway.files import parse_query
from headway.model.plan import Plan
from headway.spark.state.batch_manifest import BatchRecord, StateSegment, WrittenFile
from headway.spark.storage.locations import Location
from headway.spark.streams.checkpoints import (
    KEPT_PLANS,
    MARK,
    Checkpoint,
    CheckpointedRun,
    open_run,
    refuse_run,
)

QUERY = """
query: watch
sources: {speed: {schema: {v: double}, rate: 10 per 1 s}}
operators:
  fast: {filter: v > 30, from: speed, cost: 10 us}
  mean: {aggregate: {v: avg(v)}, window: 10 s, from: fast, cost: 10 us}
outputs: {average: {from: mean, deadline: 2 s}}
"""


def plan_of(text: str = QUERY) -> Plan:
    return compile_query(parse_query(text).query)


def place(folder: Path) -> Checkpoint:
    return Checkpoint(Location.of(folder / "mark"), Location.of(folder / "out"))


def run(folder: Path, *changes: tuple[str, str], adopt: bool = False) -> CheckpointedRun:
    text = QUERY
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return open_run(plan_of(text), place(folder), {"input": "in"}, adopt=adopt)


def mark(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "mark" / MARK).read_text())
    return found


FASTER = ("v > 30", "v > 40")
LONGER = ("window: 10 s", "window: 20 s")


def test_other_costs_go_on(tmp_path: Path) -> None:
    first = run(tmp_path)
    again = run(tmp_path, ("cost: 10 us", "cost: 90 us"), ("deadline: 2 s", "deadline: 3 s"))
    assert again.resumed
    assert again.id == first.id
    assert again.adopted == again.notes == ()
    assert [one.query.outputs[0].deadline for one in again.earlier] == [2_000_000_000]


def test_a_changed_threshold_is_refused_with_the_list(tmp_path: Path) -> None:
    run(tmp_path)
    before = mark(tmp_path)
    with pytest.raises(FileError) as refused:
        run(tmp_path, FASTER)
    head, *listed = str(refused.value).splitlines()
    assert "mark: the checkpoint is of another query of the name 'watch'; add --adopt" in head
    assert listed == ["operators.fast.where: v > 30 -> v > 40"]
    assert mark(tmp_path) == before
    assert run(tmp_path).resumed, "as it was it goes on"


def test_an_adopted_change_is_noted_with_its_batch(tmp_path: Path) -> None:
    run(tmp_path)
    commits = tmp_path / "mark" / "hard" / "commits"
    offsets = tmp_path / "mark" / "hard" / "offsets"
    for folder in (commits, offsets):
        folder.mkdir(parents=True)
        for number in range(13):
            (folder / str(number)).write_text("v1\n{}\n")
    (commits.parent / "metadata").write_text("{}")
    adopted = run(tmp_path, FASTER, adopt=True)
    assert adopted.notes == ("adopted from here on: operators.fast.where: v > 30 -> v > 40",)
    assert [one.query for one in adopted.earlier] == [plan_of().query]
    (noted,) = mark(tmp_path)["adopted"]
    assert noted["batches"] == {"hard": 12}
    assert noted["changes"] == ["operators.fast.where: v > 30 -> v > 40"]
    again = run(tmp_path, FASTER)
    assert again.resumed
    assert again.adopted == (), "it is the query now"
    back = run(tmp_path, adopt=True)
    assert back.adopted == ("operators.fast.where: v > 40 -> v > 30",)
    assert len(mark(tmp_path)["adopted"]) == 2


def test_what_does_not_fit_is_refused_even_when_adopted(tmp_path: Path) -> None:
    run(tmp_path)
    for adopt in (False, True):
        with pytest.raises(FileError) as refused:
            run(tmp_path, FASTER, LONGER, adopt=adopt)
        head, *listed = str(refused.value).splitlines()
        assert "its states and files do not fit what changed: run the query as it was" in head
        assert "--adopt" not in head
        assert listed == [
            "operators.mean.window: 10 s -> 20 s; does not fit",
            "operators.mean.every: 10 s -> 20 s; does not fit",
            "operators.fast.where: v > 30 -> v > 40",
        ]


def test_nothing_is_written_by_looking(tmp_path: Path) -> None:
    refuse_run(plan_of(), place(tmp_path), {"input": "in"})
    assert not (tmp_path / "mark").exists()
    run(tmp_path)
    before = mark(tmp_path)
    changed = plan_of(QUERY.replace(*FASTER))
    with pytest.raises(FileError, match="--adopt"):
        refuse_run(changed, place(tmp_path), {"input": "in"})
    refuse_run(changed, place(tmp_path), {"input": "in"}, adopt=True)
    assert mark(tmp_path) == before


@pytest.mark.parametrize(
    ("version", "told"),
    [(None, "an earlier Headway, which bound it to every byte; got version 1; version 2 is read"),
     (99, "a newer Headway; got version 99")],
)  # fmt: skip
def test_checkpoints_of_other_versions(tmp_path: Path, version: int | None, told: str) -> None:
    run(tmp_path)
    data = mark(tmp_path)
    del data["version"]
    if version is not None:
        data["version"] = version
    (tmp_path / "mark" / MARK).write_text(json.dumps(data))
    with pytest.raises(FileError, match="start afresh with a new --checkpoint") as refused:
        run(tmp_path)
    assert f"the checkpoint was written by {told}" in str(refused.value)
    afresh = open_run(plan_of(), place(tmp_path), {"input": "in"}, afresh=True)
    assert not afresh.resumed


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 2, "run": "x"}', "null"])
def test_a_mark_that_is_damaged(tmp_path: Path, content: str) -> None:
    run(tmp_path)
    (tmp_path / "mark" / MARK).write_text(content)
    with pytest.raises(FileError, match=rf"mark/{MARK}: cannot be read"):
        run(tmp_path)


def test_old_plans_are_not_kept_for_ever(tmp_path: Path) -> None:
    run(tmp_path)
    for cost in range(3 * KEPT_PLANS):
        found = run(tmp_path, ("cost: 10 us", f"cost: {cost} us"))
    assert len(found.earlier) == KEPT_PLANS
    assert len(list((tmp_path / "mark" / "_plans").iterdir())) <= KEPT_PLANS + 2


# -------------------------------------------------------------------- damage


def with_log(folder: Path) -> Path:
    run(folder)
    group = folder / "mark" / "hard"
    for name in ("offsets", "commits", "sources/0"):
        (group / name).mkdir(parents=True)
        for number in range(5):
            (group / name / str(number)).write_text('v1\n{"a":1}\n')
    (group / "metadata").write_text('{"id":"1"}')
    return group


@pytest.mark.parametrize("cut", ["", "v", "v1\n{", "\0\0\0\0", "v1\n{}\n{}{\n"])
@pytest.mark.parametrize("name", ["offsets/4", "offsets/3", "commits/3", "sources/0/4"])
def test_a_log_of_spark_that_was_cut_short_is_named(tmp_path: Path, name: str, cut: str) -> None:
    group = with_log(tmp_path)
    assert run(tmp_path).resumed
    (group / name).write_text(cut)
    with pytest.raises(
        FileError, match=f"{name}: a file of the checkpoint is damaged; put it back"
    ):
        run(tmp_path)


def test_the_last_commit_may_be_removed(tmp_path: Path) -> None:
    group = with_log(tmp_path)
    (group / "commits/4").write_text("")
    with pytest.raises(
        FileError, match=r"commits/4: .* damaged; remove this file: the batch is re"
    ):
        run(tmp_path)
    (group / "commits/4").unlink()
    assert run(tmp_path).resumed


def with_record(folder: Path) -> tuple[Path, Path]:
    """A state and a result of a micro-batch that is done."""
    run(folder)
    states, results = folder / "mark" / "_states" / "hard-state", folder / "out" / "average.parquet"
    for one in (states, results):
        one.mkdir(parents=True)
    (states / "a.state").write_bytes(b"12345")
    (results / "batch-0000000000-00000.parquet").write_bytes(b"123")
    record = BatchRecord(
        step=0,
        batch=0,
        states=((StateSegment("a.state", 5, whole=True),),),
        files=(
            WrittenFile(
                "average.parquet/.x.part", "average.parquet/batch-0000000000-00000.parquet", 1, 3
            ),
        ),
    )
    (states / "0.json").write_text(record.to_text())
    return states, results


def test_records_states_and_results_that_are_damaged_are_named(tmp_path: Path) -> None:
    states, results = with_record(tmp_path)
    assert run(tmp_path).resumed
    (results / "batch-0000000000-00000.parquet").write_bytes(b"12")
    with pytest.raises(FileError, match=r"00000\.parquet: .*results is damaged; got 2 bytes inst"):
        run(tmp_path)
    (results / "batch-0000000000-00000.parquet").unlink()
    assert run(tmp_path).resumed, "it may still have its hidden name"
    (states / "a.state").write_bytes(b"1234")
    with pytest.raises(FileError, match=r"a\.state: .* is damaged; got 4 bytes instead of 5; put"):
        run(tmp_path)
    (states / "a.state").unlink()
    with pytest.raises(
        FileError, match=r"a\.state: a state in the checkpoint is gone; put it back"
    ):
        run(tmp_path)
    (states / "0.json").write_text((states / "0.json").read_text()[:50])
    with pytest.raises(FileError, match=r"0\.json: the record of a micro-batch is damaged"):
        run(tmp_path)
