"""`headway run` and `headway fleet` with inputs and outputs on Hadoop's file systems."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.cli.running import HELLO, headway
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, as_options, mount, mounted
from tests.waiting import PATIENCE_S
from typer.testing import Result

from headway.spark.storage.file_stores import NotThere, file_store
from headway.spark.storage.locations import Location
from headway.spark.storage.output_folder import complete_files
from headway.spark.streams.run_lock import claimed

MASTER = ("--master", "local[2]")
RECORDING = HELLO.parent / "recording"
ODD = "out 100%25 [a]{b}"
"""Spaces, percent signs and the letters of patterns"""


def run(given: str | Path, output: str | Path, *options: str) -> Result:
    return headway("run", HELLO, "--input", given, "--output", output, *MASTER, *options)


def alarms(folder: Path) -> list[float]:
    return sorted(pq.read_table(folder / "alarm.parquet").column("v").to_pylist())


def plain(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".crc"}


@pytest.fixture(scope="module")
def meant(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> list[float]:
    """What the query gives on plain paths."""
    output = tmp_path_factory.mktemp("meant") / "out"
    assert (done := run(RECORDING, output)).exit_code == 0, done.output
    return alarms(output)


@pytest.mark.parametrize("scheme", ["file", VIEWFS, BUCKET])
def test_a_batch_from_a_uri_to_a_uri(
    spark: SparkSession, meant: list[float], tmp_path: Path, scheme: str
) -> None:
    held = tmp_path / "held"
    root = f"file://{held}" if scheme == "file" else mount(spark, scheme, held)
    shutil.copytree(RECORDING, held / "in [1]")
    done = run(f"{root}/in [1]", f"{root}/deep/{ODD}")
    assert done.exit_code == 0, done.output
    folder = held / "deep" / ODD
    assert alarms(folder) == meant
    files = {"alarm.parquet", "late.parquet", "shed.parquet", "failed.parquet", "rejected.parquet"}
    assert plain(folder) == {*files, "summary.json"}
    shown = folder if scheme == "file" else f"{root}/deep/{ODD}"
    assert done.output.endswith(f"wrote {shown}\n")
    summary = json.loads((folder / "summary.json").read_text())
    assert ("data" in summary) == (scheme == BUCKET)
    refused = run(f"{root}/in [1]", f"{root}/deep/{ODD}")
    assert refused.exit_code == 2
    assert "the output folder is not empty; got alarm.parquet" in refused.output
    again = run(f"{root}/in [1]", f"{root}/deep/{ODD}", "--force")
    assert again.exit_code == 0, again.output
    assert alarms(folder) == meant
    assert plain(folder) == {*files, "summary.json"}
    at = Location.of(f"{root}/deep/{ODD}")
    listed = complete_files(at, file_store(at, spark))
    read = spark.read.parquet(*(one.spark_path for one in listed["alarm.parquet"]))
    assert sorted(row["v"] for row in read.collect()) == meant
    assert set(listed) == files
    left = [path.name for path in (folder / "late.parquet").glob("[!._]*")]
    assert len(left) == 1


def test_a_damaged_file_is_told_of_where_tasks_cannot_write(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = mount(spark, BUCKET, tmp_path / "held")
    given = tmp_path / "held" / "in" / "speed"
    given.mkdir(parents=True)
    text = (RECORDING / "speed.csv").read_text()
    (given / "a.csv").write_text(text)
    (given / "b.csv").write_text(text + "no,row,of,it\n")
    for options in ((), ("--force",)):
        done = run(f"{root}/in", f"{root}/out", *options)
        assert done.exit_code == 0, done.output
        folder = tmp_path / "held" / "out"
        notes = json.loads((folder / "summary.json").read_text())["notes"]
        assert notes[0] == "source 'speed': 1 left out (quarantined)"
        assert f"{root}/in/speed/b.csv" in notes[1]
        (entry,) = (folder / "_quarantine").glob("*.json")
        assert json.loads(entry.read_text())["input"] == f"{root}/in/speed/b.csv"


def test_a_fleet_on_a_store_without_renames(spark: SparkSession, tmp_path: Path) -> None:
    root = mount(spark, BUCKET, tmp_path / "held")
    shutil.copytree(RECORDING, tmp_path / "held" / "in")
    for options in ((), ("--force",)):
        done = headway("fleet", HELLO, "--vehicle", HELLO.with_name("vehicle.yaml"),
                       "--input", f"{root}/in", "--output", f"{root}/out", *MASTER,
                       *options)  # fmt: skip
        assert done.exit_code == 0, done.output
        folder = tmp_path / "held" / "out"
        names = {"alarm.parquet", "vehicles.parquet", "summary.json"}
        assert names <= plain(folder) <= {*names, "fleet.html", "fleet.svg"}
        assert pq.read_table(folder / "vehicles.parquet").num_rows == 1
        summary = json.loads((folder / "summary.json").read_text())
        assert set(summary["data"]) == {"alarm.parquet", "vehicles.parquet"}


def test_a_second_run_into_a_folder_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    root = mount(spark, BUCKET, tmp_path / "held")
    place = Location.of(f"{root}/out")
    with claimed([place], spark):
        refused = run(RECORDING, place.text)
    assert refused.exit_code == 2
    assert f"{place}: another run writes here; got process " in refused.output
    assert plain(tmp_path / "held") == set()


def test_what_is_wrong_with_a_uri(spark: SparkSession, tmp_path: Path) -> None:
    root = mount(spark, VIEWFS, tmp_path / "held")
    missing = run(f"{root}/nowhere", tmp_path / "out")
    assert (missing.exit_code, missing.output) == (
        2,
        f"{root}/nowhere: there is no such folder\n",
    )
    assert not (tmp_path / "out").exists()
    host = run("file://host/in", tmp_path / "out")
    assert host.exit_code == 2
    assert "a file URI names no machine; got the machine 'host'" in host.output
    unmounted = run(RECORDING, root.removesuffix("/data") + "/elsewhere/out")
    assert unmounted.exit_code == 2
    assert "/elsewhere/out: " in unmounted.output
    assert list((tmp_path / "held").iterdir()) == []


@pytest.mark.parametrize("option", ["--input", "--output"])
@pytest.mark.parametrize("engine", ["vehicle", "native"])
def test_the_engines_of_the_car_have_local_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, engine: str
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"--input": str(RECORDING), "--output": "out", option: "s3a://fleet/x"}
    words = [word for pair in given.items() for word in pair]
    done = headway("run", HELLO, "--engine", engine, *words)
    assert done.exit_code == 2
    assert f"{option}: the vehicle engine " in done.output
    assert "got s3a://fleet/x; name a folder, or choose --engine spark" in done.output
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- processes of their own


def command(*options: str | Path) -> list[str]:
    return [sys.executable, "-m", "headway", "run", str(HELLO), *MASTER, *map(str, options)]


NO_CLASS = "this Spark has no file system for s3a:; add the package that brings it: --conf spark.j"


@pytest.mark.parametrize(
    ("given", "output"), [("s3a://fleet/in", "out"), (RECORDING, "s3a://fleet/out")]
)
def test_a_scheme_without_a_class_leaves_nothing_behind(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: str | Path,
    output: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(given, output)
    assert done.exit_code == 2
    assert NO_CLASS in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_settings_on_the_command_line_mount_a_file_system(
    meant: list[float], tmp_path: Path
) -> None:
    (tmp_path / "held").mkdir()
    (tmp_path / "here").mkdir()
    options = as_options(mounted(VIEWFS, "fleet", tmp_path / "held"))
    done = subprocess.run(
        command("--input", RECORDING, "--output", "viewfs://fleet/data/out", *options),
        cwd=tmp_path / "here", capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert alarms(tmp_path / "held" / "out") == meant
    assert list((tmp_path / "here").iterdir()) == []


KILLED_AT_THE_MANIFEST = """
import sys, os, signal
from headway.spark.storage import hadoop_store
write = hadoop_store.HadoopStore.write_whole
def killed(store, at, data, *, new=False):
    if at.name == "summary.json":
        os.kill(os.getpid(), signal.SIGKILL)
    write(store, at, data, new=new)
hadoop_store.HadoopStore.write_whole = killed
from headway.cli import main
sys.exit(main())
"""


def test_a_kill_between_data_and_manifest(
    spark: SparkSession, meant: list[float], tmp_path: Path
) -> None:
    """The data is there under its names, and no reader of the manifest sees it. The next run needs
    no --force and leaves nothing of it."""
    root, out = mount(spark, BUCKET, tmp_path / "held"), tmp_path / "held" / "out"
    settings = as_options(mounted(BUCKET, Location.of(root).text.split("/")[2], tmp_path / "held"))
    words = command("--input", RECORDING, "--output", f"{root}/out", *settings)
    script = [sys.executable, "-c", KILLED_AT_THE_MANIFEST, *words[3:]]
    done = subprocess.run(script, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert any((out / "alarm.parquet").glob("*.parquet"))
    at = Location.of(f"{root}/out")
    with pytest.raises(NotThere):
        complete_files(at, file_store(at, spark))
    again = run(RECORDING, f"{root}/out")
    assert again.exit_code == 0, again.output
    assert alarms(out) == meant
    assert "_headway.part" not in plain(out)
