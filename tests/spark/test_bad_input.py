"""What is wrong with a run on Spark is said in one message; nothing is lost, and it can go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import HELLO, headway, summary_of
from typer.testing import Result

pytestmark = pytest.mark.usefixtures("spark")
MASTER = ("--master", "local[2]")
MODES = {
    "batch": MASTER,
    "stream": (*MASTER, "--mode", "stream", "--available-now", "--late-ok"),
}
BEGIN = 1_767_225_600_000_000


def run(given: Path, output: Path, mode: str, *options: str | Path) -> Result:
    return headway("run", HELLO, "--input", given, "--output", output, *MODES[mode], *options)


def write(folder: Path, name: str, values: list[float] | list[str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    times = [BEGIN + number for number in range(len(values))]
    table = pa.table({"timestamp": pa.array(times, pa.timestamp("us", tz="UTC")), "v": values})
    pq.write_table(table, folder / name, use_dictionary=False)
    return folder / name


def damage(path: Path) -> None:
    """Behind a sound footer: the first page is rubbish."""
    content = bytearray(path.read_bytes())
    content[4:120] = b"\xff" * 116
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("mode", MODES)
def test_folders_that_are_not_what_they_should_be(tmp_path: Path, mode: str) -> None:
    output = tmp_path / "out"
    missing = run(tmp_path / "nowhere", output, mode)
    assert (missing.exit_code, missing.output) == (
        2,
        f"{tmp_path / 'nowhere'}: there is no such folder\n",
    )
    (tmp_path / "empty").mkdir()
    empty = run(tmp_path / "empty", output, mode)
    assert empty.exit_code == 2
    assert "empty: no file for source 'speed'; got an empty folder; write speed" in empty.output
    assert not output.exists()
    write(tmp_path / "in", "speed.parquet", [31.0])
    output.mkdir()
    (output / "thesis.txt").write_text("years")
    taken = run(tmp_path / "in", output, mode)
    assert taken.exit_code == 2
    assert "not empty" in taken.output
    assert "thesis.txt" in taken.output
    assert [path.name for path in output.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("mode", MODES)
def test_a_damaged_file_is_left_out_and_the_rest_goes_on(tmp_path: Path, mode: str) -> None:
    """Half a file, a file without the column, rubbish behind a sound footer."""
    folder = tmp_path / "in" / "speed"
    write(folder, "a.parquet", [31.0])
    half = write(folder, "b.parquet", [32.0] * 50)
    half.write_bytes(half.read_bytes()[:-40])
    write(folder, "c.parquet", ["fast"])
    damage(write(folder, "d.parquet", [33.0 + number / 7 for number in range(500)]))
    write(folder, "e.parquet", [34.0])
    done = run(tmp_path / "in", tmp_path / "out", mode)
    assert done.exit_code == 0, done.output
    values = pq.read_table(tmp_path / "out" / "alarm.parquet").column("v").to_pylist()
    assert sorted(values) == [31.0 * 3.6, 34.0 * 3.6]
    notes = summary_of(tmp_path / "out")["notes"]
    assert notes[0] == "source 'speed': 3 left out (quarantined)"
    for place, name in enumerate(("b.parquet", "c.parquet", "d.parquet")):
        assert name in notes[place + 1]
    assert len(list((tmp_path / "out" / "_quarantine").iterdir())) == 3


def test_a_fleet_leaves_bad_files_out_too(tmp_path: Path) -> None:
    folder = tmp_path / "in" / "speed"
    write(folder, "a.parquet", [31.0])
    write(folder, "b.parquet", ["fast"])
    done = headway(
        "fleet", HELLO, "--input", tmp_path / "in", "--output", tmp_path / "out", *MASTER
    )
    assert done.exit_code == 0, done.output
    assert "source 'speed': 1 left out (quarantined)" in done.stdout
    assert summary_of(tmp_path / "out")["notes"]


@pytest.mark.parametrize("mode", MODES)
def test_a_source_of_one_damaged_file_is_refused_by_name(tmp_path: Path, mode: str) -> None:
    path = write(tmp_path / "in", "speed.parquet", [31.0])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    refused = run(tmp_path / "in", tmp_path / "out", mode)
    assert refused.exit_code == 2
    assert f"{path}: cannot be read as Parquet" in refused.output
    path.write_bytes(whole)
    mended = run(tmp_path / "in", tmp_path / "out", mode)
    assert mended.exit_code == 0, mended.output
    assert summary_of(tmp_path / "out")["outputs"][0]["tuples"] == 1


def test_a_checkpoint_that_lost_a_file(tmp_path: Path) -> None:
    write(tmp_path / "in" / "speed", "a.parquet", [31.0])
    output = tmp_path / "out"
    assert (done := run(tmp_path / "in", output, "stream")).exit_code == 0, done.output
    lost = output / "_checkpoint" / "hard" / "offsets" / "0"
    shutil.move(lost, tmp_path / "kept")
    refused = run(tmp_path / "in", output, "stream")
    assert refused.exit_code == 2
    assert f"{lost}: a file of the checkpoint is gone; put it back from a copy" in refused.output
    shutil.move(tmp_path / "kept", lost)
    assert (done := run(tmp_path / "in", output, "stream")).exit_code == 0, done.output
    assert pq.read_table(output / "alarm.parquet").num_rows == 1
