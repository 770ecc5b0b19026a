"""Whatever a file holds, loading it succeeds or tells a person what is wrong and where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.errors import InputError, Problem
from headway.files import parse_query, parse_vehicle, query_to_yaml, vehicle_to_yaml

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = [path.read_text() for path in sorted(EXAMPLES.glob("*/*.yaml"))]
NAME = str(EXAMPLES / "collision_warning" / "fuzzed.yaml")
fuzz = examples(250)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        [
            "1 s",
            "0 ms",
            "1 per 1 s",
            "double [m]",
            "x > 1",
            "m:f",
            "none",
            "-",
            "1e999",
            "a.b.c",
            "",
        ]
    )
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def survives(text: str) -> None:
    """Loads the text as a query and as a vehicle; only an InputError with places may come of it."""
    _one(lambda: query_to_yaml(parse_query(text, NAME).query))
    _one(lambda: vehicle_to_yaml(parse_vehicle(text, NAME).vehicle))


def _one(load: Callable[[], str]) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        load()
    except InputError as error:
        problems = error.problems or (Problem(""),)
    for problem in problems:
        assert problem.what.strip()
        assert problem.place is not None
        assert problem.place.file
        assert (problem.place.line or 0) >= 1
        assert (problem.place.column or 0) >= 1
        assert len(str(problem)) < 2_000


def nodes_of(tree: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Every (container, key) of a tree of plain values."""
    found = [] if found is None else found
    items = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in list(items):
        found.append((tree, key))
        if isinstance(value, dict | list):
            nodes_of(value, found)
    return found


@fuzz
@given(st.sampled_from(TEXTS), st.data())
def test_mutated_trees(text: str, data: st.DataObject) -> None:
    """Nodes deleted, replaced, renamed, copied elsewhere."""
    tree = yaml.safe_load(text)
    for _ in range(data.draw(st.integers(1, 4))):
        places = nodes_of(tree)
        if not places:
            break
        holder, key = data.draw(st.sampled_from(places))
        action = data.draw(st.sampled_from(["delete", "replace", "rename", "copy", "wrap"]))
        if action == "delete":
            del holder[key]
        elif action == "replace":
            holder[key] = data.draw(values)
        elif action == "wrap":
            holder[key] = [holder[key]]
        elif action == "rename" and isinstance(holder, dict):
            holder[data.draw(st.text(max_size=8) | st.sampled_from(["from", "map"]))] = holder.pop(
                key
            )
        else:
            other, target = data.draw(st.sampled_from(places))
            other_keys = other if isinstance(other, dict) else range(len(other))
            if target in other_keys and key in (holder if isinstance(holder, dict) else [key]):
                other[target] = yaml.safe_load(yaml.safe_dump(holder[key]))
    survives(yaml.safe_dump(tree, allow_unicode=True, sort_keys=False))


@fuzz
@given(st.sampled_from(TEXTS), st.data())
def test_mutated_text(text: str, data: st.DataObject) -> None:
    """Text cut, doubled, overwritten with any characters, lines repeated."""
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        action = data.draw(st.sampled_from(["cut", "truncate", "insert", "double", "line"]))
        if action == "cut":
            text = text[:start] + text[end:]
        elif action == "truncate":
            text = text[:start]
        elif action == "insert":
            syntax = st.text("{}[],:-#&*!|>'\"%@`?\t\n \\", max_size=6)
            text = text[:start] + data.draw(st.text(max_size=6) | syntax) + text[end:]
        elif action == "double":
            text = text[:end] + text[start:end] + text[end:]
        else:
            lines = text.splitlines(keepends=True) or [""]
            text += data.draw(st.sampled_from(lines))
    survives(text)


@fuzz
@given(
    st.dictionaries(st.sampled_from(["query", "sources", "operators", "outputs", "nodes"]), values)
)
def test_random_values(tree: dict[str, Any]) -> None:
    survives(yaml.safe_dump(tree, allow_unicode=True))


@fuzz
@given(st.text(max_size=200) | st.text("{}[],:-#&*!|>'\"%@`?\t\n \\ab01", max_size=60))
def test_random_text(text: str) -> None:
    survives(text)
