"""Files that are made to harm, or damaged: exit code 2 with the file and the place, at once."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import BEGIN, HELLO, run, steady, write_speeds

# ---------------------------------------------------------------- files that point at a source

BOMB = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
)
POINTERS = {
    "an alias bomb": (BOMB, ":1:5: anchors and aliases are not supported"),
    "a date that is none": (
        "{key}: drive\ndbc: car.dbc\ncolumns: {{v: V}}\nstart: 2026-13-45",
        ":4:1: start: not right; got '2026-13-45'; want a time",
    ),
    "depth": ("columns: " + "[" * 5_000, ":1:41: nested too deeply; at most 32 levels"),
    "deep blocks": ("columns: " + "{a: " * 5_000, "nested too deeply; at most 32 levels"),
    "NUL": ("{key}: dri\0ve", "not YAML: control characters are not allowed"),
    "an escaped NUL": (
        '{key}: "dri\\0ve"\ndbc: car.dbc\ncolumns: {{v: V}}',
        ":1:1: {key}: not right; got 'dri\\x00ve'; want a path",
    ),
    "a name too long": (
        "{key}: " + "a" * 5_000 + "\ndbc: car.dbc\ncolumns: {{v: V}}",
        "cannot be read: File name too long",
    ),
    "a tag": ("{key}: !!python/object/apply:os.system [id]", "tags are not supported"),
    "a key twice": ("{key}: a\n{key}: b", ":2:1: the key '{key}' stands twice"),
    "a list": ("[1, 2]", ":1:1: not a mapping; got a list"),
    "nothing": ("", ":1:1: the file is empty"),
    "no UTF-8": ("{key}: \udcff", ":1:6: the file is not UTF-8; got byte 0xff"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("file", "key"), [("speed.yaml", "mdf"), ("speed.can", "log")])
@pytest.mark.parametrize("case", POINTERS)
def test_pointers(case: str, file: str, key: str, tmp_path: Path) -> None:
    text, told = POINTERS[case]
    text, told = (one.replace("{key}", key) for one in (text, told))
    if key == "mdf":
        text = text.replace("dbc: car.dbc\n", "")
        told = told.replace(":4:1:", ":3:1:")
    text = text.replace("{{", "{").replace("}}", "}")
    (tmp_path / file).write_bytes(text.encode(errors="surrogateescape"))
    done = run(HELLO, tmp_path, tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert told in done.stderr
    assert file in done.stderr or "aaaa" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------- columns that are there twice


@pytest.mark.parametrize("twice", ["timestamp", "v", "vehicle", "arrived_at"])
def test_a_column_twice_in_csv(twice: str, tmp_path: Path) -> None:
    header = "timestamp,v,vehicle,arrived_at"
    lines = [f"{BEGIN},31.0,a,{BEGIN},{BEGIN}"]
    recording = write_speeds(tmp_path / "in", lines, f"{header},{twice}")
    done = run(HELLO, recording, tmp_path / "out")
    assert done.exit_code == 2, done.output
    where = f"{recording}/speed.csv:1: "
    assert done.stderr == (
        f"{where}the column '{twice}' is there 2 times; keep one, or give them different names\n"
    )


def test_a_column_twice_in_parquet(tmp_path: Path) -> None:
    arrays = [pa.array([BEGIN]), pa.array([31.0]), pa.array([32.0])]
    path = tmp_path / "speed.parquet"
    pq.write_table(pa.Table.from_arrays(arrays, names=["timestamp", "v", "v"]), path)
    done = run(HELLO, tmp_path, tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"{path}: the column 'v' is there 2 times; keep one")


def test_other_columns_may_be_there_twice(tmp_path: Path) -> None:
    """A CSV file with trailing commas has several without a name."""
    recording = write_speeds(tmp_path / "in", [f"{line},," for line in steady(2)], "timestamp,v,,")
    assert run(HELLO, recording, tmp_path / "out").exit_code == 0
