"""Files that are made to harm, or damaged: exit code 2 with the file and the place, at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.running import BEGIN, HELLO, headway, run, steady, write_speeds
from tests.waiting import PATIENCE_S

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


# ---------------------------------------------------------------- small queries that grow

DOUBLING = """
query: q
sources:
  s: {schema: {v: double}, rate: 1 per 10 ms}
components:
  c0:
    inputs: {x: {v: double}}
    operators:
      m: {map: {v: v + 1}, from: x, cost: 1 us}
    outputs: {y: m}
"""


def doubling(levels: int, twice: bool = True) -> str:
    text = DOUBLING
    for level in range(1, levels + 1):
        text += f"  c{level}:\n    inputs: {{x: {{v: double}}}}\n    operators:\n"
        text += f"      a: {{component: c{level - 1}, inputs: {{x: x}}}}\n"
        if twice:
            text += f"      b: {{component: c{level - 1}, inputs: {{x: a.y}}}}\n"
        text += f"    outputs: {{y: {'b' if twice else 'a'}.y}}\n"
    text += f"operators:\n  u: {{component: c{levels}, inputs: {{x: s}}}}\n"
    return text + "outputs:\n  o: {from: u.y, deadline: 1 s}\n"


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("levels", "told"),
    [
        (15, "with this the query would have 32,768 operators; at most 20,000"),
        (30, "with this the query would have 1,073,741,824 operators; at most 20,000"),
        (400, "components within components, too deeply; got 401 levels; at most 32"),
    ],
)
def test_components_that_double(levels: int, told: str, tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(doubling(levels))
    done = headway("check", query)
    assert done.exit_code == 2, done.output
    line = doubling(levels).split("\n").index("operators:") + 2
    assert done.stderr.startswith(f"{query}:{line}:3: operators.u: {told}"), done.stderr


def test_components_may_be_nested(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    query.write_text(doubling(7))
    assert "128 operators" in headway("check", query).stdout
    query.write_text(doubling(31, twice=False))
    assert "1 operator," in headway("check", query).stdout
    query.write_text(doubling(3_000, twice=False))
    done = headway("check", query)
    assert (done.exit_code, "got 3,001 levels" in done.stderr) == (2, True), done.output


@pytest.mark.timeout(60)
def test_windows_that_are_too_many(tmp_path: Path) -> None:
    query = tmp_path / "query.yaml"
    recording = write_speeds(tmp_path / "in", steady(2))
    text = HELLO.read_text()
    mean = (
        '  mean: {aggregate: {m: "avg(v)"}, from: speed, window: 1000 h, every: 1 us, cost: 1 us}'
    )
    text = text.replace("operators:\n", f"operators:\n{mean}\n")
    text = text.replace("outputs:\n", "outputs:\n  means: {from: mean, deadline: 1 s}\n")
    query.write_text(text)
    done = run(query, recording, tmp_path / "out")
    assert done.exit_code == 2, done.output
    line = text.split("\n").index(mean) + 1
    assert done.stderr.startswith(f"{query}:{line}:"), done.stderr
    assert "each tuple would be in 3,600,000,000,000 windows; at most 100,000" in done.stderr


def test_names_that_are_too_long(tmp_path: Path) -> None:
    query, name = tmp_path / "query.yaml", "o" * 300
    query.write_text(HELLO.read_text().replace("  alarm:", f"  {name}:"))
    done = run(query, write_speeds(tmp_path / "in", steady(2)), tmp_path / "out")
    assert done.exit_code == 2, done.output
    assert done.stderr.startswith(f"{query}:")
    assert "at most 63 characters" in done.stderr


# ---------------------------------------------------------------- a disk that is full

FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
sys.argv = ["headway", *sys.argv[2:]]
from headway.cli import main
main()
"""
"""No file may be longer than so many bytes: the system refuses to write more, as on a full disk."""


def with_room_for(size: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-c", FULL, str(size), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.mark.parametrize("format", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("size", [0, 1_000, 20_000])
def test_a_full_disk_in_a_run(format: str, size: int, tmp_path: Path) -> None:
    recording = write_speeds(tmp_path / "in", steady(4_000))
    options = ("--engine", "vehicle", "--format", format, "--input", recording)
    full = with_room_for(size, "run", HELLO, *options, "--output", tmp_path / "out")
    assert full.returncode == 2, full.stderr
    assert full.stderr.startswith(f"{tmp_path}/out/"), full.stderr
    if size:  # enough for the journal of the run
        assert full.stderr.startswith(f"{tmp_path}/out/alarm.{format}: "), full.stderr
    assert "cannot write here: File too large; name a folder that can be written to" in full.stderr
    assert full.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_full_disk_leaves_earlier_results_and_pages(tmp_path: Path) -> None:
    recording, out = write_speeds(tmp_path / "in", steady(4_000)), tmp_path / "out"
    assert run(HELLO, recording, out).exit_code == 0
    vehicle = HELLO.parent / "vehicle.yaml"
    compiled = ("compile", HELLO, "--vehicle", vehicle, "--out", tmp_path / "plan")
    assert headway(*compiled).exit_code == 0
    folders = (out, tmp_path / "plan")
    before = {path: path.read_bytes() for folder in folders for path in folder.iterdir()}
    options = ("--engine", "vehicle", "--input", recording, "--output", out, "--force")
    assert with_room_for(20_000, "run", HELLO, *options).returncode == 2
    full = with_room_for(5_000, *compiled)
    assert full.returncode == 2, full.stderr
    assert full.stderr.startswith(f"{tmp_path}/plan/plan."), full.stderr
    after = {path: path.read_bytes() for folder in folders for path in folder.iterdir()}
    assert after == before


# ---------------------------------------------------------------- plans that were edited

NAMES = {
    "an output": ('"alarm"', "../home/dataset"),
    "a node": ('"ecu"', "../x"),
    "an operator": ('"kmh"', "../../kmh"),
    "a source": ('"speed"', "/etc/passwd"),
    "a long output": ('"alarm"', "o" * 300),
}


@pytest.mark.parametrize("case", NAMES)
def test_names_in_plans(case: str, tmp_path: Path) -> None:
    """Renamed everywhere, so that the plan holds together but for the rule of names."""
    was, name = NAMES[case]
    folder, plan = tmp_path / "a" / "b", tmp_path / "plan.json"
    vehicle = HELLO.parent / "vehicle.yaml"
    assert headway("compile", HELLO, "--vehicle", vehicle, "--out", tmp_path).exit_code == 0
    plan.write_text(plan.read_text().replace(was, f'"{name}"'))
    recording = write_speeds(tmp_path / "in", steady(2))
    (tmp_path / "home" / "dataset").mkdir(parents=True)
    (tmp_path / "home" / "dataset" / "mine").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    ran: tuple[str | Path, ...] = ("--input", recording, "--output", folder)
    for command in (
        ("run", plan, "--engine", "vehicle", *ran),
        ("run", plan, *ran),
        ("fleet", plan, *ran),
        ("compare", plan, "--input", recording),
        ("build", plan, "--out", folder),
        ("schedule", plan, "--out", folder),
        ("spark-submit-args", plan, "--out", folder, "--", *ran),
    ):
        done = headway(*command)
        assert done.exit_code == 2, (command, done.output)
        assert f"{plan}: " in done.stderr, (command, done.stderr)
        assert "name" in done.stderr, (command, done.stderr)
        assert sorted(tmp_path.rglob("*")) == before, command
