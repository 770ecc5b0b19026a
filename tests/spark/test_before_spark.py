"""What is decided and refused before Spark starts: masters, floors, groups, checkpoints."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.running import EXAMPLES, HELLO, headway

from headway.compiler import compile_query
from headway.errors import EnvironmentMissing, FileError, InputError, UnsupportedError
from headway.files import load_query
from headway.model.plan import Plan
from headway.spark.session.spark_session import check_master, parse_options, run_conf
from headway.spark.session.urgency import refuse_below_floor, shares
from headway.spark.storage.locations import Location
from headway.spark.streams.checkpoints import Checkpoint, open_run
from headway.spark.streams.stream_query import groups_of


def plan_of(example: str) -> Plan:
    return compile_query(load_query(EXAMPLES / example / "query.yaml").query)


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2]", "local[2,3]", "yarn", "k8s://h"]
)
def test_masters(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize("master", ["", "locale", "local[x]", "local[0]", "spark://", "spark://h",
                                    "spark://h:port", "http://h:80"])  # fmt: skip
def test_what_is_no_master(master: str) -> None:
    with pytest.raises(InputError, match="no Spark master"):
        check_master(master)


def test_a_master_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: refused at once
        port = taken.getsockname()[1]
        with pytest.raises(EnvironmentMissing, match=f"127.0.0.1:{port}: Connection refused"):
            check_master(f"spark://127.0.0.1:{port}")


def test_settings() -> None:
    assert parse_options(["a=1", "b=x=y"], "--conf") == {"a": "1", "b": "x=y"}
    with pytest.raises(InputError, match="--conf: not a setting; got nonsense; write KEY=VALUE"):
        parse_options(["nonsense"], "--conf")
    assert run_conf("edf", {})["spark.scheduler.mode"] == "FAIR"
    assert "spark.scheduler.mode" not in run_conf("fifo", {})


def test_deadlines_below_the_floor_are_refused() -> None:
    with pytest.raises(UnsupportedError) as refused:
        refuse_below_floor(plan_of("collision_warning"))
    assert [problem.at for problem in refused.value.problems] == [
        "outputs.output1.deadline",
        "outputs.output2.deadline",
    ]
    assert "got 30 ms" in str(refused.value)
    refuse_below_floor(plan_of("tyre_watch"))


def test_hard_and_soft_outputs_are_queries_of_their_own() -> None:
    groups = groups_of(plan_of("collision_warning"))
    assert [(group.name, group.hard, group.names) for group in groups] == [
        ("hard-state", True, ("output1", "output2")),
        ("soft-output3", False, ("output3",)),
    ]


def test_soft_queries_leave_slots_to_hard_ones() -> None:
    edf = shares(any_hard=True, policy="edf")
    assert (edf[True].most(4), edf[False].most(4)) == (None, 2)
    assert edf[False].most(40) == 20, "executors came"
    assert edf[True].pool != edf[False].pool
    assert shares(any_hard=False, policy="edf")[False].most(4) is None
    assert edf[False].most(1) is None
    assert shares(any_hard=True, policy="fifo")[False].most(4) is None


# -------------------------------------------------------------------- checkpoints


def begin(folder: Path, example: str = "hello", *, output: str = "out") -> bool:
    place = Checkpoint(Location.of(folder / "checkpoint"), Location.of(folder / output))
    return open_run(plan_of(example), place, {"input": "in"}).resumed


def with_batches(folder: Path, offsets: int, commits: int) -> Path:
    begin(folder)
    group = folder / "checkpoint" / "hard"
    for name, count in (("offsets", offsets), ("commits", commits)):
        (group / name).mkdir(parents=True)
        for number in range(count):
            (group / name / str(number)).write_text('v1\n{"nextBatchWatermarkMs":0}\n')
    (group / "metadata").write_text('{"id":"1"}')
    return group


def test_a_run_is_taken_up_where_it_was(tmp_path: Path) -> None:
    assert not begin(tmp_path)
    assert begin(tmp_path)


@pytest.mark.parametrize(("offsets", "commits"), [(0, 0), (1, 0), (1, 1), (5, 4), (5, 5)])
def test_a_killed_run_has_a_whole_checkpoint(tmp_path: Path, offsets: int, commits: int) -> None:
    with_batches(tmp_path, offsets, commits)
    assert begin(tmp_path)


@pytest.mark.parametrize("gone", ["offsets/4", "offsets/2", "commits/3", "commits/1", "metadata"])
def test_a_checkpoint_that_lost_a_file_is_refused_by_name(tmp_path: Path, gone: str) -> None:
    group = with_batches(tmp_path, 5, 5)
    (group / gone).unlink()
    if gone == "commits/3":
        (group / "commits/4").unlink()
    with pytest.raises(FileError, match=f"{gone}: a file of the checkpoint is gone"):
        begin(tmp_path)


def test_checkpoint_output_and_query_belong_together(tmp_path: Path) -> None:
    begin(tmp_path)
    with pytest.raises(FileError, match="of another query"):
        begin(tmp_path, "tyre_watch")
    with pytest.raises(FileError, match="does not hold the results"):
        begin(tmp_path, output="elsewhere")
    (tmp_path / "checkpoint" / "_headway.json").unlink()
    with pytest.raises(FileError, match="results of a run whose checkpoint is gone"):
        begin(tmp_path)


# -------------------------------------------------------------------- the command


def refused(*options: str | Path) -> str:
    done = headway("run", HELLO, "--input", HELLO.parent / "recording", *options)
    assert done.exit_code == 2, done.output
    return done.output


def test_options_of_the_other_engine_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "--zero-cost belongs to --engine vehicle" in refused("--output", out, "--zero-cost")
    mixed = refused("--output", out, "--engine", "vehicle", "--mode", "batch", "--master", "local")
    assert "--mode belongs to --engine spark" in mixed
    assert "--master belongs to --engine spark" in mixed
    assert "is for --mode stream" in refused("--output", out, "--checkpoint", tmp_path / "c")
    assert "no policy 's-edf' on Spark" in refused("--output", out, "--policy", "s-edf")
    assert not out.exists()


def test_a_live_query_below_the_floor_is_refused_with_its_line(tmp_path: Path) -> None:
    said = refused("--output", tmp_path / "out", "--mode", "stream")
    assert "query.yaml:9" in said
    assert "Spark cannot keep this deadline" in said
    assert "--late-ok" in said


def test_an_unknown_master_is_refused(tmp_path: Path) -> None:
    said = refused("--output", tmp_path / "out", "--master", "abacus")
    assert "this is no Spark master; got abacus" in said


class NoSpark:
    """As far as the address of its pages."""

    class sparkContext:  # noqa: N801 - Spark's name
        uiWebUrl = "http://here:4040"  # noqa: N815 - Spark's name

    def __getattr__(self, name: str) -> object:
        raise InputError("there is no Spark here")


def test_the_address_of_sparks_pages_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, str]] = []

    @contextmanager
    def session(master: str, name: str, conf: dict[str, str]) -> Iterator[NoSpark]:
        asked.append(conf)
        yield NoSpark()

    monkeypatch.setattr("headway.spark.session.spark_session.owned_session", session)
    said = refused("--output", tmp_path / "out", "--ui")
    assert "Spark's UI: http://here:4040" in said
    assert "there is no Spark here" in said
    refused("--output", tmp_path / "out")
    assert [conf.get("spark.ui.enabled") for conf in asked] == ["true", None]
