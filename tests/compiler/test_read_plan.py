"""Plans from files: whatever somebody does to one, it is refused with its place or is a plan."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.compiler.golden import EXAMPLE
from tests.engine.nodes.study import study_plan
from tests.engine.random_runs import Shape, random_query, random_vehicle
from tests.engine.support import compiled

from headway.compiler.passes import compile_query
from headway.compiler.read_plan import read_plan
from headway.engine.engine import Engine
from headway.errors import FileError, InputError, PlacementError
from headway.files import load_query, load_vehicle
from headway.model.codec import plan_to_json
from headway.model.plan import PLAN_VERSION, Plan

Path = tuple[str | int, ...]
DERIVED = ("schemas", "placement", "node_queries", "crossings", "tasks", "operator_tasks")
"""parts of a plan that follow from others, or that others follow from"""


@cache
def plans() -> tuple[Plan, Plan]:
    """One with components, fusion and a load shedder; one with a join, a window and a class."""
    query = load_query(EXAMPLE / "query.yaml").query
    return compile_query(query, load_vehicle(EXAMPLE / "vehicle.yaml").vehicle), study_plan()


@cache
def text_of(which: int) -> str:
    return plan_to_json(plans()[which])


def content(which: int) -> Any:
    return json.loads(text_of(which))


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every place below, with what stands there."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key), inner
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


@cache
def all_places(which: int) -> tuple[tuple[Path, Any], ...]:
    return tuple(places(content(which)))


def holder(value: Any, path: Path) -> Any:
    for key in path[:-1]:
        value = value[key]
    return value


def with_value(which: int, path: Path, value: Any) -> Any:
    changed = content(which)
    holder(changed, path)[path[-1]] = value
    return changed


def test_a_plan_is_read_as_it_was_compiled() -> None:
    for which, plan in enumerate(plans()):
        assert read_plan(text_of(which)) == plan


def test_plans_of_random_queries_and_vehicles_are_read() -> None:
    crossing = 0
    for seed in range(20):
        draw, shape = Random(seed), Shape()
        query = random_query(draw, shape)
        with suppress(PlacementError):
            plan = compiled(query, random_vehicle(draw, query, shape))
            assert read_plan(plan_to_json(plan)) == plan
            crossing += bool(plan.crossings)
    assert crossing > 3


LONG = "x" * 300


@pytest.mark.parametrize("name", ["../x", LONG, "", "9th", "a b", "a/b", "é"])
@pytest.mark.parametrize(
    "path",
    [
        ("query", "name"),
        ("query", "outputs", 0, "name"),
        ("query", "sources", 0, "name"),
        ("query", "steps", 0, "name"),
        ("vehicle", "name"),
        ("vehicle", "nodes", 0, "name"),
        ("vehicle", "buses", 0, "name"),
        ("tasks", 0, "name"),
        ("placement", 0, 1),
        ("schemas", 0, 1, "fields", 0, "name"),
    ],
)
def test_names_are_held_to_the_rule_of_the_files_people_write(path: Path, name: str) -> None:
    at = ".".join(map(str, path))
    with pytest.raises(
        FileError, match=rf"^my\.json: {at}: not (a|the) name.* got .*; (use|name) "
    ):
        read_plan(json.dumps(with_value(0, path, name)), "my.json")


def test_a_source_or_output_with_dots_is_refused_as_in_a_query() -> None:
    for path in (("query", "outputs", 0, "name"), ("query", "sources", 0, "name")):
        with pytest.raises(FileError, match=r"'a\.b' cannot be a name; use letters"):
            read_plan(json.dumps(with_value(0, path, "a.b")))


@pytest.mark.parametrize(
    ("which", "path", "value", "message"),
    [
        (0, ("placement", 0, 1), "nowhere", r"placement\.0\.1: unknown node 'nowhere'"),
        (0, ("placement", 0, 0), "nothing", r"placement\.0: 'nothing' does not belong here"),
        (0, ("tasks", 0, "operators", 0), "nothing", r"tasks\.0\.operators\.0: not what the com"),
        (0, ("tasks", 0, "node"), "nowhere", r"tasks\.0\.node: not what the compiler gives"),
        (0, ("tasks", 0, "relative_deadline"), 5, r"tasks\.0\.relative_deadline: .*; got 5; \d"),
        (0, ("operator_tasks", 3, "cost"), 0, r"operator_tasks\.3\.cost: .* follows from the que"),
        (0, ("crossings", 0, "stream"), "nothing", r"crossings\.0: 'nothing to \w+' does not bel"),
        (0, ("crossings", 0, "hops", 0, "name"), "air", r"crossings\.0\.hops\.0: no way from .*"),
        (0, ("crossings", 0, "hops"), [], r"crossings\.0\.receiver: no way from"),
        (0, ("crossings", 0, "priority"), 99, r"crossings\.0\.priority: not what the compiler"),
        (0, ("node_queries", 0, "sources"), [], r"node_queries\.0\.sources: .* got 0 entries"),
        (0, ("schemas", 0, 1, "fields", 0, "type"), "int", r"schemas\.0\.1\.fields\.0\.type: not"),
        (0, ("static_order",), ["nothing"], r"static_order: not an order of operators"),
        (0, ("verdict", "loads", 0, "name"), "nowhere", r"verdict\.loads\.0\.name: not what"),
        (0, ("verdict", "promises", 0, "output"), "none", r"verdict\.promises\.0: 'none' does not"),
        (0, ("vehicle", "nodes", 0, "rate"), 0, r"vehicle\.nodes\.\w+\.rate: must be positive"),
        (0, ("query", "steps", 0, "inputs", 0, "stream"), "no", r"query\..*: unknown stream 'no'"),
        (0, ("query", "steps", 0, "kind"), "magic", r"query\.steps\.0\.kind: not a known kind; g"),
        (1, ("query", "steps", 0, "where", "typed"), None, r"query: an expression lacks its typed"),
    ],
)
def test_what_does_not_fit_the_rest_is_named(
    which: int, path: Path, value: Any, message: str
) -> None:
    with pytest.raises(FileError, match=rf"^plan\.json: {message}.*compile the query again"):
        read_plan(json.dumps(with_value(which, path, value)))


WHERE = ("query", "steps", 0, "where", "typed", "tree")  # distance < 80
SUM = ("query", "steps", 1, "columns", 0, "value", "typed", "tree")  # distance * 2


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*WHERE, "operator"), "!!", "the types of 'compare' do not fit"),
        ((*WHERE, "kind"), "arithmetic", "the types of 'arithmetic' do not fit"),
        ((*WHERE, "left", "name"), "nothing", "unknown column 'nothing'"),
        ((*WHERE, "left", "type"), "int", "column 'distance' is another one in its stream"),
        ((*WHERE, "left", "port"), "a", "unknown port 'a'"),
        ((*WHERE, "right", "value"), "80", "not a constant of type double; got '80'"),
        ((*WHERE, "right", "type"), "timestamp", "not a constant of type timestamp"),
        ((*SUM, "operator"), "__import__", "the types of 'arithmetic' do not fit"),
        ((*SUM, "type"), "int", "the types of 'arithmetic' do not fit"),
        (
            SUM,
            {"kind": "call", "function": "system", "arguments": [], "type": "double"},
            "unknown function; got system",
        ),
        (
            SUM,
            {"kind": "call", "function": "sqrt", "arguments": [], "type": "double"},
            "sqrt takes 1 argument; got 0",
        ),
        (
            SUM,
            {"kind": "aggregate", "function": "count", "argument": None, "type": "bigint"},
            "an aggregate stands where none can",
        ),
        (
            SUM,
            {"kind": "python", "function": "os:getcwd", "arguments": [], "type": "double"},
            "a Python function stands where none can",
        ),
    ],
)
def test_a_tree_that_engines_could_not_run_is_refused(path: Path, value: Any, message: str) -> None:
    at = r"query\.operators\.(near\.where|scaled\.columns\.metres)"
    with pytest.raises(FileError, match=rf"^plan\.json: {at}: {message}"):
        read_plan(json.dumps(with_value(1, path, value)))


def test_a_tree_that_is_too_deep_is_refused() -> None:
    tree = holder(content(1), (*SUM, ""))
    for _ in range(150):
        tree = {"kind": "negate", "operand": tree, "type": "double"}
    with pytest.raises(FileError, match="the tree of the expression is nested too deeply"):
        read_plan(json.dumps(with_value(1, SUM, tree)))
    text = json.dumps(with_value(1, SUM, "HERE"))
    for deep in (5_000, 200_000):
        nested = '{"kind": "negate", "type": "double", "operand": ' * deep + "1" + "}" * deep
        with pytest.raises(FileError, match="nested too deeply"):
            read_plan(text.replace('"HERE"', nested))


def test_a_key_that_is_there_twice_is_refused() -> None:
    line = f'"version": {PLAN_VERSION},'
    text = text_of(0).replace(line, line + line, 1)
    with pytest.raises(FileError, match=r"not JSON: the key 'version' is there twice"):
        read_plan(text)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_no_number_is_refused(number: str) -> None:
    path = ("vehicle", "nodes", 0, "rate")
    text = json.dumps(with_value(0, path, "HERE")).replace('"HERE"', number)
    with pytest.raises(FileError, match="number"):
        read_plan(text)


VALUES = st.sampled_from(
    [None, True, False, 0, -1, 2**70, 0.5, "", "x", "../x", [], [1], {}, {"a": 1}]
)


def accepted(changed: Any) -> Plan | None:
    """The plan, if it is taken: then just as it stands in the file, and engines can be made."""
    text = json.dumps(changed)
    try:
        plan = read_plan(text)
    except FileError:
        return None
    assert json.loads(plan_to_json(plan)) == changed
    for policy in ("s-edf", "fifo"):
        with suppress(InputError):  # a class of the user that cannot be found or opened, say
            Engine(plan=plan, policy=policy)
    return plan


@given(which=st.sampled_from([0, 1]), data=st.data())
def test_a_dropped_key_is_noticed(which: int, data: st.DataObject) -> None:
    keys = [path for path, _ in all_places(which) if isinstance(path[-1], str)]
    path = data.draw(st.sampled_from(keys))
    changed = content(which)
    del holder(changed, path)[path[-1]]
    with pytest.raises(FileError, match=r"is missing|not a known kind"):
        read_plan(json.dumps(changed))


@given(which=st.sampled_from([0, 1]), data=st.data(), value=VALUES)
def test_another_value_is_refused_or_taken_as_it_is(
    which: int, data: st.DataObject, value: Any
) -> None:
    path, _ = data.draw(st.sampled_from(all_places(which)))
    accepted(with_value(which, path, value))


@given(which=st.sampled_from([0, 1]), data=st.data())
def test_another_name_is_refused_where_something_follows_from_it(
    which: int, data: st.DataObject
) -> None:
    names = [
        (path, value)
        for path, value in all_places(which)
        if path[0] in DERIVED and isinstance(value, str) and path[-1] not in ("formula", "unit")
    ]
    path, own = data.draw(st.sampled_from(names))
    other = data.draw(st.sampled_from(sorted({name for _, name in names})))
    plan = accepted(with_value(which, path, other))
    if plan is not None:
        assert (plan, other) == (plans()[which], own)


@given(which=st.sampled_from([0, 1]), data=st.data())
def test_a_lost_entry_is_noticed_where_something_follows_from_it(
    which: int, data: st.DataObject
) -> None:
    entries = [
        path for path, _ in all_places(which) if path[0] in DERIVED and isinstance(path[-1], int)
    ]
    path = data.draw(st.sampled_from(entries))
    changed = content(which)
    del holder(changed, path)[path[-1]]
    assert accepted(changed) is None
