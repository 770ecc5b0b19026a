"""Side outputs of whole runs: the same files from the vehicle engine, a batch and a stream."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.cli.running import headway, summary_of

from headway.engine.operators.operator_base import DropKind

pytestmark = pytest.mark.usefixtures("spark")
SPARK = ("--master", "local[2]")
STREAM = (*SPARK, "--mode", "stream", "--available-now", "--late-ok")
BEGIN = 1_767_225_600_000_000

QUERY = """
query: side
sources:
  speed:
    schema: {road: string(4), v: double}
    rate: 1 per 10 ms
    lateness: 5 ms
  radar:
    schema: {d: double}
    rate: 1 per 10 ms
    shed: {at_most: 2 per 30 ms, value: d}
operators:
  fast: {filter: v > 1.0, from: speed}
  halved:
    map: {v: {python: "tests.contract.users:half", arguments: [v, timestamp], returns: double}}
    from: fast
  mean: {aggregate: {v: avg(v)}, from: halved, window: 50 ms}
  near: {filter: d < 30, from: radar}
outputs:
  means: {from: mean, deadline: 10 s, criticality: soft}
  halves: {from: halved, deadline: 10 s}
  objects: {from: near, deadline: 10 s, criticality: soft}
"""


def recording(folder: Path) -> Path:
    """Every fourth tuple of speed is late, some have no timestamp, some a road that is too long,
    and some a value for which the function fails."""
    folder.mkdir()
    speed, radar = ["timestamp,road,v,arrived_at"], ["timestamp,d"]
    for number in range(60):
        arrived = BEGIN + 10_000 * number
        sensed: str | int = arrived - (20_000 if number % 4 == 1 else 0)
        if number % 15 == 3:
            sensed = ""
        road = "A 81 north" if number % 20 == 7 else "A81"
        value = 40.0 if number % 6 == 2 else float(number)
        speed.append(f"{sensed},{road},{value},{arrived}")
        radar.append(f"{arrived},{number % 7}")
    (folder / "speed.csv").write_text("\n".join(speed) + "\n")
    (folder / "radar.csv").write_text("\n".join(radar) + "\n")
    return folder


def side(output: Path) -> dict[str, Counter[str]]:
    """kind -> rows; without the vehicle, which the vehicle engine leaves out where there is one
    only."""
    found = {}
    for kind in DropKind:
        table = pq.read_table(output / f"{kind}.parquet")
        names = [name for name in table.column_names if name != "vehicle"]
        found[kind.value] = Counter(map(repr, table.select(names).to_pylist()))
    return found


def test_every_engine_lists_what_left_its_way(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(QUERY)
    given = (query, "--input", recording(tmp_path / "in"))
    car, batch, stream = (tmp_path / name for name in ("car", "batch", "stream"))
    for output, options in (
        (car, ("--engine", "vehicle", "--zero-cost")),
        (batch, SPARK),
        (stream, STREAM),
    ):
        done = headway("run", *given, "--output", output, *options)
        assert done.exit_code == 0, done.output
    meant = side(car)
    assert all(meant.values()), "a kind without a tuple shows nothing"
    assert side(batch) == meant
    assert side(stream) == meant
    expected = {kind: rows.total() for kind, rows in meant.items()}
    for output in (batch, stream):
        summary = summary_of(output)
        assert {kind: summary[kind] for kind in expected} == expected
        assert {one["where"] for one in summary["side"]} == {"speed", "radar", "mean", "halved"}
    assert "Left their way" in done.stdout


def test_a_run_without_drops_has_empty_side_files(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "speed.csv").write_text(f"timestamp,v\n{BEGIN},31\n")
    query = Path(__file__).parents[2] / "examples" / "hello" / "query.yaml"
    for name, options in (("batch", SPARK), ("stream", STREAM)):
        output = tmp_path / name
        given = ("run", query, "--input", tmp_path / "in", "--output", output, *options, "--json")
        done = headway(*given)
        assert done.exit_code == 0, done.output
        assert not any(side(output).values())
        printed: dict[str, Any] = json.loads(done.stdout)
        assert printed == summary_of(output)
        assert printed["side"] == []
