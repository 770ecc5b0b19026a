"""Outputs of the vehicle engine in several formats, and options that a format takes or refuses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest
from tests.cli.running import EXAMPLES, run

from headway.engine.output_sinks import SINKS, CsvSink, OutputSink, TableWriter, sink_named
from headway.engine.run_folder import RunFolder
from headway.errors import InputError
from headway.model.query import Source
from headway.model.schema import schema
from headway.sources.recordings import read_recording

HELLO = EXAMPLES / "hello"


def hello(output: Path, *options: str) -> None:
    result = run(
        HELLO / "query.yaml", HELLO / "recording", output,
        "--vehicle", HELLO / "vehicle.yaml", *options,
    )  # fmt: skip
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", ["csv", "jsonl"])
def test_a_text_format_holds_what_parquet_holds(name: str, tmp_path: Path) -> None:
    """Read back with the reader of recordings of the same name."""
    hello(tmp_path / "parquet")
    hello(tmp_path / name, "--format", name)
    assert not (tmp_path / name / "alarm.parquet").exists()
    columns = schema(v="double", missed="boolean", completed="timestamp")
    found, expected = (
        [arrival.row for arrival in read_recording(folder, [Source(name="alarm", schema=columns)])]
        for folder in (tmp_path / name, tmp_path / "parquet")
    )
    assert found == expected
    assert len(found) > 1
    summary = json.loads((tmp_path / name / "summary.json").read_text(encoding="utf-8"))
    assert f"alarm.{name}" in summary["files"]
    assert "late.parquet" in summary["files"], "what left its way is always Parquet"


def test_unknown_formats_and_options_are_refused(tmp_path: Path) -> None:
    for options, told in (
        (
            ("--format", "orc"),
            "the vehicle engine does not write 'orc'; one of parquet, csv, jsonl",
        ),
        (("--option", "a=1"), "the format 'parquet' has no option 'a'; it takes none"),
        (("--option", "a"), "not a setting; got a; write KEY=VALUE"),
    ):
        result = run(HELLO / "query.yaml", HELLO / "recording", tmp_path / "out", *options)
        assert result.exit_code == 2
        assert told in " ".join(result.output.split())
        assert not (tmp_path / "out").exists()


class Kept(OutputSink):
    """Keeps tuples in memory, as a broker would take them."""

    name = "kept"
    summary = "tuples in memory"
    takes: ClassVar[Mapping[str, str]] = {"topic": "where they go"}
    tuples: ClassVar[dict[str, list[Any]]] = {}

    def open(self, output: str, schema: Any, folder: RunFolder) -> TableWriter:
        self.topic = self.options.get("topic", "") + output
        self.tuples[self.topic] = []
        return self

    def write_table(self, table: Any) -> None:
        self.tuples[self.topic] += table.to_pylist()

    def close(self) -> None: ...


def test_a_sink_that_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SINKS._found, "kept", Kept)
    hello(tmp_path / "parquet")
    hello(tmp_path / "kept", "--format", "kept", "--option", "topic=car/")
    assert (
        Kept.tuples["car/alarm"]
        == pq.read_table(tmp_path / "parquet" / "alarm.parquet").to_pylist()
    )
    assert not list((tmp_path / "kept").glob("alarm*"))


def test_options_are_checked_by_what_a_sink_declares() -> None:
    assert Kept({"topic": "x"}).options == {"topic": "x"}
    with pytest.raises(InputError, match=r"no option 'tpoic'; it takes topic \(where they go\)"):
        Kept({"tpoic": "x"})
    assert isinstance(sink_named("csv"), CsvSink)
