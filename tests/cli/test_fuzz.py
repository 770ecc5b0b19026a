"""Spoilt queries and vehicles: an exit code of 0, 1 or 2, and with 2 a place for every problem.

The mutations keep most of a file intact, so that many cases get past the reader and into the
compiler. The reader itself is fuzzed harder in tests/files/test_fuzz.py.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.invoke import EXAMPLES, headway
from tests.exploring import examples

FOLDERS = [EXAMPLES / name for name in ("hello", "tyre_watch", "collision_warning")]
fuzz = examples(25)
MODERN = "vehicle_modern.yaml"

LIKELY = st.sampled_from(
    [
        "0 ms",
        "1 ns",
        "3 h",
        "999999999999 h",
        "1 per 1 ns",
        "999999999 per 1 ns",
        "1 per 999999999999 h",
        "100 us",
        "none",
        "time",
        "all",
        "window_end",
        "double",
        "string(99999)",
        "x > 1",
        "v",
        "v + 1",
        "max(v)",
        "nope.nope",
        "own",
        "node1",
        "node2",
        "ecu",
        "union1",
        "sdfo2",
        "own.vehicle",
        "speed",
        "1 bit/s",
        "999 Gbit/s",
        "can_fd",
        "ethernet",
        "headway.fusion.own_vehicle:OwnVehicleFusion",
    ]
)
scalars: st.SearchStrategy[Any] = (
    LIKELY
    | st.sampled_from([0, 1, -1, 2, 11, 29, 10**9, 0.5, 1e-9, 1e9, True, None, "", [], {}])
    | st.text(max_size=6)
)


ALIKE = [
    (re.compile(r"[\d.]+ (ns|us|ms|s|min|h)"), ["0 ms", "1 ns", "3 us", "7 ms", "2 s", "9999 h"]),
    (
        re.compile(r"\d+ per .*"),
        ["1 per 1 ns", "50 per 1 ms", "1 per 1 s", "999999999 per 1 s", "1 per 999999999999 h"],
    ),
    (re.compile(r"[\d.]+ [kMG]?bit/s"), ["1 bit/s", "125 kbit/s", "10 Mbit/s", "1 Gbit/s"]),
    (re.compile(r"(boolean|int|bigint|float|double|string).*"), ["int", "string(9)", "float [m]"]),
    (
        re.compile(r".*[-+*/()<>].*"),
        ["v > 1", "x + y", "NULL", "own", "1 / 0", "max(x)", "x =", "CASE WHEN own THEN 1 END"],
    ),
    (
        re.compile(r"[a-z]\w*(\.\w+)*"),
        ["gps", "speed", "union1", "own.vehicle", "sdfo2", "map3", "node1", "bus2", "ecu", "hard"],
    ),
]
"""Values of a kind, and others of that kind: these get past the reader."""


def alike(value: Any, data: st.DataObject) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return data.draw(st.sampled_from([0, 1, 2, 1000, 10**9, 0.001, 0.3]))
    if isinstance(value, str):
        pools = [pool for form, pool in ALIKE if form.fullmatch(value)]
        return data.draw(st.sampled_from(pools[0])) if pools else data.draw(LIKELY)
    return value


def places_in(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree of plain values."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


def spoil(tree: Any, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        places = places_in(tree)
        if not places:
            return
        holder, key = data.draw(st.sampled_from(places))
        action = data.draw(st.sampled_from(["alike"] * 6 + ["replace", "delete", "swap", "rename"]))
        if action == "alike":
            holder[key] = alike(holder[key], data)
        elif action == "delete":
            del holder[key]
        elif action == "replace":
            holder[key] = data.draw(scalars)
        elif action == "rename" and isinstance(holder, dict):
            holder[data.draw(LIKELY)] = holder.pop(key)
        else:
            other, target = data.draw(st.sampled_from(places))
            one = yaml.safe_load(yaml.safe_dump(holder[key]))
            holder[key] = yaml.safe_load(yaml.safe_dump(other[target]))
            other[target] = one


def run_spoilt(
    folder: Path, spoilt: str, text: str, scratch: Path, vehicle: str = "vehicle.yaml"
) -> None:
    """Compiles the example with one of its files replaced."""
    for path in folder.glob("*.yaml"):
        (scratch / path.name).write_text(path.read_text())
    (scratch / spoilt).write_text(text)
    outcome = headway("compile", scratch / "query.yaml", "--vehicle", scratch / vehicle)
    assert outcome.code in (0, 1, 2), outcome.err
    assert "Traceback" not in outcome.err
    if outcome.code == 2:
        assert outcome.out == ""
        assert outcome.problems
        for problem in outcome.problems:
            assert Path(problem["file"]).parent == scratch
            lines = Path(problem["file"]).read_text().split("\n")
            assert int(problem["line"]) <= len(lines)
            assert len(problem["rest"]) > 10  # what was got, or what is wanted


@pytest.mark.parametrize("spoilt", ["query.yaml", "vehicle.yaml"])
@fuzz
@given(folder=st.sampled_from(FOLDERS), data=st.data())
def test_spoilt_trees(
    spoilt: str, folder: Path, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tree = yaml.safe_load((folder / spoilt).read_text())
    spoil(tree, data)
    text = yaml.safe_dump(tree, allow_unicode=True, sort_keys=False, width=1_000)
    run_spoilt(folder, spoilt, text, tmp_path_factory.mktemp("fuzz"))


@pytest.mark.parametrize("spoilt", ["query.yaml", MODERN, "components.yaml"])
@examples(20)
@given(data=st.data())
def test_spoilt_texts(
    spoilt: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A piece cut out, or another piece of the file put in its place. Most of these files compile.
    On the paper's vehicle they could not keep their promises: looking for what would help is then
    most of the time, and is tried with spoilt trees."""
    folder = EXAMPLES / "collision_warning"
    text = (folder / spoilt).read_text()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    copied = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 20))
    text = text[:start] + text[copied : copied + length] + text[end:]
    run_spoilt(folder, spoilt, text, tmp_path_factory.mktemp("fuzz"), MODERN)
