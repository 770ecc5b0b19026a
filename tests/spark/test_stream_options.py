"""What a stream's options do: formats, starting afresh, checkpoints of something else."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.cli.running import HELLO, headway, summary_of
from typer.testing import Result

from headway.spark.storage.locations import Location
from headway.spark.streams.run_lock import claimed

pytestmark = pytest.mark.usefixtures("spark")
BEGIN = 1_767_225_600_000_000


def recording(folder: Path, files: int = 1) -> Path:
    (folder / "speed").mkdir(parents=True)
    for number in range(files):
        write(folder, number)
    return folder


def write(folder: Path, number: int, v: float = 31.0) -> None:
    text = f"timestamp,v\n{BEGIN + number},{v}\n"
    (folder / "speed" / f"{number}.csv").write_text(text)


def stream(given: Path, output: Path, *options: str | Path, query: Path = HELLO) -> Result:
    return headway(
        "run", query, "--input", given, "--output", output, "--mode", "stream", "--late-ok",
        "--available-now", "--master", "local[2]", *options,
    )  # fmt: skip


def test_files_of_any_format(tmp_path: Path) -> None:
    given, output = recording(tmp_path / "in"), tmp_path / "out"
    csv = ("--format", "csv", "--option", "header=true")
    for number in (1, 2):
        assert (done := stream(given, output, *csv)).exit_code == 0, done.output
        write(given, number)
    texts = [path.read_text() for path in sorted((output / "alarm.csv").glob("batch-*.csv"))]
    assert len(texts) == 2
    assert all(text.startswith("vehicle,timestamp,v,deadline") for text in texts)
    assert summary_of(output)["outputs"][0]["tuples"] == 2, "of both processes"
    assert not [one.name for one in (output / "alarm.csv").iterdir() if one.name[0] == "."]
    mixed = stream(given, output)
    assert mixed.exit_code == 2
    assert (
        "the checkpoint is of another format; got parquet; use 'csv header=true' as" in mixed.output
    )


def test_the_console(tmp_path: Path) -> None:
    done = stream(recording(tmp_path / "in"), tmp_path / "out", "--format", "console")
    assert done.exit_code == 0, done.output
    assert "alarm, batch-0000000000" in done.stdout
    assert "111.6" in done.stdout
    both = stream(tmp_path / "in", tmp_path / "two", "--format", "console", "--json")
    assert both.exit_code == 2
    assert "--json and --format console both want standard output" in both.output


def test_a_format_that_is_no_file(tmp_path: Path) -> None:
    """Each batch is handed over once; only the side outputs are files."""
    done = stream(recording(tmp_path / "in"), tmp_path / "out", "--format", "noop")
    assert done.exit_code == 0, done.output
    assert summary_of(tmp_path / "out")["outputs"][0]["tuples"] == 1
    assert not (tmp_path / "out" / "alarm.noop").exists()


@pytest.mark.parametrize("mode", [("--mode", "batch"), ("--mode", "stream", "--late-ok")])
def test_an_unknown_format_is_refused_before_anything_is_computed(
    tmp_path: Path, mode: tuple[str, ...]
) -> None:
    done = headway(
        "run", HELLO, "--input", recording(tmp_path / "in"), "--output", tmp_path / "out",
        "--master", "local[2]", "--format", "abacus", *mode,
    )  # fmt: skip
    assert done.exit_code == 2, done.output
    assert done.output.startswith("--format: Spark does not know this format; got abacus; parquet")
    assert not (tmp_path / "out").exists()


def test_another_query_of_the_same_name_and_starting_afresh(tmp_path: Path) -> None:
    given, output = recording(tmp_path / "in"), tmp_path / "out"
    assert (done := stream(given, output)).exit_code == 0, done.output
    assert json.loads((output / "_headway.json").read_text())["about"]["name"] == "hello"
    (output / "mine.txt").write_text("mine")
    changed = tmp_path / "query.yaml"
    changed.write_text(HELLO.read_text().replace("v > 30", "v > 32"))
    refused = stream(given, output, query=changed)
    assert refused.exit_code == 2
    assert "the checkpoint is of another query of the name 'hello'" in refused.output
    assert "--force" in refused.output
    elsewhere = stream(recording(tmp_path / "other"), output)
    assert "the checkpoint is of another input; got" in elsewhere.output
    afresh = stream(given, output, "--force", query=changed)
    assert afresh.exit_code == 0, afresh.output
    assert not list(output.glob("alarm.parquet/*.parquet")), "31 m/s is no longer fast"
    assert (output / "mine.txt").read_text() == "mine"
    assert "continued" not in afresh.output


def test_force_does_not_touch_what_is_not_a_streams(tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    (output / "thesis.txt").write_text("years")
    done = stream(recording(tmp_path / "in"), output, "--force")
    assert done.exit_code == 2
    assert "the folder is not empty, and not of an earlier stream; got thesis.txt" in done.output
    assert (output / "thesis.txt").exists()


def test_starting_afresh_touches_only_what_the_stream_wrote(tmp_path: Path) -> None:
    given, output, checkpoint = recording(tmp_path / "in"), tmp_path / "out", tmp_path / "mark"
    at = ("--checkpoint", checkpoint)
    assert (done := stream(given, output, *at)).exit_code == 0, done.output
    (checkpoint / "thesis").mkdir()
    (checkpoint / "thesis" / "text").write_text("years")
    written = (output / "summary.json").read_text()
    foreign = json.dumps({"files": ["alarm.parquet", "_headway.json", "summary.json"]})
    (output / "summary.json").write_text(foreign)
    refused = stream(given, output, *at, "--force")
    assert refused.exit_code == 2
    assert "summary.json: here lies something that no run of Headway wrote" in refused.output
    assert (output / "summary.json").read_text() == foreign
    assert list(output.glob("alarm.parquet/*.parquet"))
    (output / "summary.json").write_text(written)
    afresh = stream(given, output, *at, "--force")
    assert afresh.exit_code == 0, afresh.output
    assert "continued" not in afresh.output
    assert (checkpoint / "thesis" / "text").read_text() == "years"


def test_a_changed_query_goes_on_where_it_is_adopted(tmp_path: Path) -> None:
    given, output = recording(tmp_path / "in"), tmp_path / "out"
    told = tmp_path / "told.jsonl"
    assert (done := stream(given, output, "--metrics", told)).exit_code == 0, done.output
    last = json.loads(told.read_text().splitlines()[-1])
    assert (last["headway.query"], last["headway.alarm.tuples"]) == ("hello", 1)
    wrong = stream(given, output, "--upload-gap", "soon")
    assert "--upload-gap: not a duration; got soon" in wrong.output
    changed = tmp_path / "query.yaml"
    changed.write_text(HELLO.read_text().replace("v > 30", "v > 32"))
    write(given, 1, 31.5)
    write(given, 2, 33.0)
    refused = stream(given, output, query=changed)
    assert refused.exit_code == 2
    assert "operators.fast.filter: v > 30 -> v > 32" in refused.output
    assert "add --adopt to go on from here" in refused.output
    adopted = stream(given, output, "--adopt", query=changed)
    assert adopted.exit_code == 0, adopted.output
    said = " ".join(adopted.output.split())
    assert "adopted from here on: operators.fast.where: v > 30 -> v > 32" in said
    found = pq.read_table(output / "alarm.parquet")
    assert sorted(found["v"].to_pylist()) == pytest.approx([31.0 * 3.6, 33.0 * 3.6])
    again = stream(given, output, query=changed)
    assert again.exit_code == 0, again.output
    assert "adopted" not in again.output


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_second_run_is_refused_before_spark_starts(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*given: object, **more: object) -> None:
        raise AssertionError("Spark was started")

    given, output = recording(tmp_path / "in"), tmp_path / "out"
    options = ("--mode", mode, *(("--late-ok", "--available-now") if mode == "stream" else ()))
    with monkeypatch.context() as patched, claimed([Location.of(output)]):
        patched.setattr("headway.spark.session.spark_session.owned_session", started)
        done = headway("run", HELLO, "--input", given, "--output", output, *options)
    assert done.exit_code == 2, done.output
    assert "out: another run writes here; got process " in done.output
    assert not output.exists()
