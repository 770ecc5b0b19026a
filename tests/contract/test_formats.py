"""What every recording format promises, Headway's own and those of installed packages: whatever is
in a file, its reader gives tuples of the schema or an error that names the file. It finds the
formats through their registry."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from headway.errors import EnvironmentMissing, FileError, InputError
from headway.model.query import Source
from headway.model.schema import DataType, Schema, schema
from headway.sources.recordings import FORMATS, find_file, read_file, read_stream, suffixes
from headway.sources.source_records import Record, RecordingFormat

ALL = schema(b="boolean", i="int", l="bigint", f="float", d="double", s="string", t="timestamp")
KINDS: dict[DataType, type] = {
    DataType.BOOLEAN: bool,
    DataType.INT: int,
    DataType.BIGINT: int,
    DataType.FLOAT: float,
    DataType.DOUBLE: float,
    DataType.STRING: str,
    DataType.TIMESTAMP: int,
}
PIECES = (
    '{"timestamp": 1, "b": true, "i": 2, "l": 3, "f": 1, "d": 2.5, "s": "x", "t": 7}',
    '{"topic": "/t", "stamp": {"sec": 1, "nanosec": 5}, "msg": {"b": 1}}',
    "timestamp,b,i,l,f,d,s,t",
    "5,true,1,2,3,4,x,6",
    "5,,,,,,,",
    "mdf: a.mf4",
    "columns: {}",
    "{}",
    "[1, 2]",
    "null",
    '"',
    "\ufeff",
    "PAR1",
    "1" * 5000,
)


def wrong_files(draw: random.Random) -> list[bytes]:
    """Nothing, noise, and lines of all formats mixed, whole and cut off."""
    found = [b"", b"\0" * 9, b"\xff\xfe", bytes(draw.randrange(256) for _ in range(300))]
    for _ in range(60):
        lines = "\n".join(draw.choices(PIECES, k=draw.randint(1, 5)))
        text = lines.encode()
        found.append(text[: draw.randint(0, len(text))] if draw.random() < 0.3 else text)
    return found


def is_of(record: Record, columns: Schema) -> bool:
    """Whether it has a time of arrival and a value of its type, or NULL, for each column."""
    fits = all(
        value is None or type(value) is KINDS[field.type]
        for value, field in zip(record.row, columns.columns, strict=True)
    )
    return fits and type(record.arrived_at) is int


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_found_by_how_its_files_end(name: str, tmp_path: Path) -> None:
    found = FORMATS[name]
    assert isinstance(found, RecordingFormat)
    assert found.name == name
    assert found.summary
    assert "." not in name
    assert f".{name}" in suffixes()
    path = tmp_path / f"car.{name}"
    path.touch()
    assert find_file(tmp_path, "car") == path


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_not_there_is_told_at_once(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"car.{name}"
    with pytest.raises(FileError, match=f"car.{name}"):
        FORMATS[name].read(path, ALL)


@pytest.mark.parametrize("name", FORMATS)
def test_whatever_is_in_a_file_is_read_or_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"car.{name}"
    told = [outcome(path, content) for content in wrong_files(random.Random(1))]
    assert [error for error in told if error], "some of it is nobody's format"
    assert all(str(tmp_path) in error for error in told if error)


def outcome(path: Path, content: bytes) -> str:
    """The error that reading the file ends with; empty where all are tuples of the schema."""
    path.write_bytes(content)
    try:
        assert all(is_of(record, ALL) for record in read_stream(path, ALL)), content
    except InputError as error:
        return str(error)
    except EnvironmentMissing:  # an optional package
        return str(path)
    return ""


def test_a_reader_that_breaks_its_promise_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Careless(RecordingFormat):
        name = "csv"
        summary = "reads anything"

        def read(self, path: Path, schema: Schema):  # type: ignore[no-untyped-def]
            return iter([Record(0, None, (0, *path.read_bytes()), 1)])

    monkeypatch.setitem(FORMATS._found, "csv", Careless())
    with pytest.raises(ValueError, match="zip"):
        test_whatever_is_in_a_file_is_read_or_refused("csv", tmp_path)
    with pytest.raises(FileNotFoundError):
        test_a_file_that_is_not_there_is_told_at_once("csv", tmp_path / "nowhere")


def test_a_format_reads_the_file_of_a_source(tmp_path: Path) -> None:
    (tmp_path / "car.csv").write_text("timestamp,v\n1,2.5\n", encoding="utf-8")
    source = Source(name="car", schema=schema(v="double"))
    found = list(read_file(find_file(tmp_path, source.name), source.schema))
    assert found == [Record(1, None, (1, 2.5), 2)]
