"""Runs that are killed and started again, by the program of the campaign, a few at a time; and that
the program sees what is wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.kill_runs import (
    COMMANDS,
    HELLO,
    Command,
    Wrong,
    compare,
    contents,
    kinds,
    of_command,
)

SLOW = bool(os.environ.get("HEADWAY_SLOW"))
IN_THE_CAR = Command(
    "vehicle",
    (
        *("run", str(HELLO / "query.yaml"), "--engine", "vehicle"),
        *("--vehicle", str(HELLO / "vehicle.yaml"), "--input", str(HELLO / "recording")),
    ),
    "--output",
)


def test_a_run_in_the_car_starts_again_cleanly(tmp_path: Path) -> None:
    kills = 6 if SLOW else 1
    told = list(of_command(IN_THE_CAR, kills, Random(3), tmp_path))
    assert len(told) == kills
    assert all(": equal, " in one for one in told)


@pytest.mark.skipif(not SLOW, reason="takes long: set HEADWAY_SLOW=1 to run it")
def test_nodes_go_on(tmp_path: Path) -> None:
    told = list(kinds()["nodes"](6, Random(1), tmp_path))
    assert len(told) >= 6
    assert all(": equal, " in one for one in told)


@pytest.mark.skipif(not SLOW, reason="takes long: set HEADWAY_SLOW=1 to run it")
@pytest.mark.parametrize("kind", [one.kind for one in COMMANDS if not one.on_spark])
def test_commands_start_again(kind: str, tmp_path: Path) -> None:
    told = list(kinds()[kind](2, Random(1), tmp_path))
    assert all(": equal, " in one for one in told)


def results(folder: Path, rows: list[int], **about: object) -> Path:
    folder.mkdir()
    pq.write_table(pa.table({"v": rows}), folder / "out.parquet")
    (folder / "summary.json").write_text(json.dumps(about))
    return folder


def test_a_difference_is_seen(tmp_path: Path) -> None:
    meant = contents(results(tmp_path / "meant", [1, 2], tuples=2, seconds=1.5))
    compare(contents(results(tmp_path / "same", [2, 1], tuples=2, seconds=9.0)), meant)
    other_row = contents(results(tmp_path / "row", [1, 3], tuples=2))
    with pytest.raises(Wrong, match=r"^not as undisturbed: out\.parquet$"):
        compare(other_row, meant)
    other_count = contents(results(tmp_path / "count", [1, 2], tuples=3))
    with pytest.raises(Wrong, match=r"^not as undisturbed: summary\.json$"):
        compare(other_count, meant)
    fewer = contents(results(tmp_path / "fewer", [1, 2], tuples=2))
    del fewer["out.parquet"]
    with pytest.raises(Wrong, match=r"^other files: \['out\.parquet'\]$"):
        compare(fewer, meant)


def test_a_command_that_fails_the_second_time_is_seen(tmp_path: Path) -> None:
    bad = Command("vehicle", ("run", str(tmp_path / "none.yaml"), "--input", "."), "--output")
    with pytest.raises(Wrong, match="exit 2"):
        bad.finish(tmp_path / "out", tmp_path / "log.txt")
