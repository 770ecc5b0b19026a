"""Running `headway run` in a test, and small recordings to run over."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from typer.testing import CliRunner, Result

from headway.cli import app
from headway.files import load_query
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import find_file, read_file

EXAMPLES = Path(__file__).parents[2] / "examples"
HELLO = EXAMPLES / "hello" / "query.yaml"
BEGIN = 1_767_225_600_000_000
MS = 1_000


def headway(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def run(query: Path, recording: Path, output: Path, *options: str | Path) -> Result:
    """In the vehicle engine, unless the options say otherwise."""
    named = ("--engine", "vehicle", "--input", recording, "--output", output)
    return headway("run", query, *named, *options)


def summary_of(output: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads((output / "summary.json").read_text(encoding="utf-8"))
    return summary


def rows_of(output: Path, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(output / f"{name}.parquet").to_pylist()
    return rows


def write_speeds(folder: Path, lines: Iterable[str], header: str = "timestamp,v") -> Path:
    """A recording for the hello example; times in milliseconds would be too long to read."""
    folder.mkdir(exist_ok=True)
    text = "\n".join([header, *lines]) + "\n"
    (folder / "speed.csv").write_text(text, encoding="utf-8")
    return folder


def steady(count: int, v: float = 31.0) -> list[str]:
    return [f"{BEGIN + 10 * MS * i},{v}" for i in range(count)]


def as_parquet(example: str, folder: Path) -> Path:
    """The recording of an example with all its files as Parquet."""
    loaded = load_query(EXAMPLES / example / "query.yaml")
    for source in loaded.query.sources:
        path = find_file(EXAMPLES / example / "recording", source.name)
        with StreamWriter(folder / f"{source.name}.parquet", source.schema) as writer:
            for record in read_file(path, source.schema):
                writer.write(record.row, record.arrived_at)
    return folder


def as_csv(example: str, folder: Path) -> Path:
    """The recording of an example with all its files as CSV."""
    folder.mkdir(exist_ok=True)
    loaded = load_query(EXAMPLES / example / "query.yaml")
    for source in loaded.query.sources:
        path = find_file(EXAMPLES / example / "recording", source.name)
        names = [field.name for field in source.schema.columns]
        lines = [",".join([*names, "arrived_at", "vehicle"])]
        for record in read_file(path, source.schema):
            cells = [*record.row, record.arrived_at, record.vehicle]
            lines.append(",".join("" if cell is None else str(cell) for cell in cells))
        (folder / f"{source.name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
