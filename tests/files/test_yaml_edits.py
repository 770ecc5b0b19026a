"""Edits of YAML text: the value is there afterwards, and nothing else is otherwise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.files.source_map import SourceMap
from headway.files.yaml_edits import YamlEdit, can_edit, changed_lines, edited
from headway.yaml_tree import parse_yaml, plain

TEXT = """\
# A car.
vehicle: v   # its name

nodes:
  slow: {rate: 0.5}      # an old one
  fast: {}
  wide: {
    rate: 2,  # twice
    cores: 1,
  }

buses:
  can:
    kind: can
    nodes: [slow,
            fast]   # both
    # no more

sensors: {s: slow}
# the end
"""


def places(text: str, name: str = "v.yaml") -> SourceMap:
    return SourceMap(parse_yaml(text, name))


def changed(*edits: YamlEdit, text: str = TEXT) -> str:
    return edited(places(text), edits)


def test_a_value_is_put_in_place_of_another() -> None:
    after = changed(YamlEdit("nodes.slow", "rate", 1.5), YamlEdit("sensors", "s", "fast"))
    assert after == TEXT.replace("rate: 0.5", "rate: 1.5").replace("{s: slow}", "{s: fast}")


@pytest.mark.parametrize(
    ("edit", "before", "after"),
    [
        (YamlEdit("nodes.fast", "rate", 2), "fast: {}", "fast: {rate: 2}"),
        (YamlEdit("nodes.slow", "cores", 1), "{rate: 0.5}", "{rate: 0.5, cores: 1}"),
        (YamlEdit("nodes.wide", "capacity", 0.5), "cores: 1,\n", "cores: 1, capacity: 0.5,\n"),
        (
            YamlEdit("buses.can", "bit_rate", "500 kbit/s"),
            "fast]   # both\n",
            "fast]   # both\n    bit_rate: 500 kbit/s\n",
        ),
        (
            YamlEdit("pins", "own.map", "fast"),
            "sensors: {s: slow}\n",
            "sensors: {s: slow}\n\npins: {own.map: fast}\n",
        ),
    ],
    ids=["empty", "flow", "flow over lines", "block", "missing mapping"],
)
def test_a_key_is_added_behind_the_others(edit: YamlEdit, before: str, after: str) -> None:
    assert changed(edit) == TEXT.replace(before, after)


def test_line_ends_of_windows_stay() -> None:
    text = TEXT.replace("\n", "\r\n")
    after = changed(YamlEdit("buses.can", "bit_rate", "1 Mbit/s"), text=text)
    assert after.count("\n") == after.count("\r\n") == text.count("\n") + 1


def test_a_file_without_a_last_line_end() -> None:
    assert changed(YamlEdit("", "b", "x"), text="a: 1") == "a: 1\nb: x"


def test_json_stays_json() -> None:
    text = '{"vehicle": "v", "nodes": {"a": {}}, "pins": {"o": "a"}}'
    edits = [YamlEdit("nodes.a", "rate", 2), YamlEdit("pins", "o", "b"), YamlEdit("more", "k", "v")]
    after = json.loads(edited(places(text, "v.json"), edits))
    assert after["nodes"] == {"a": {"rate": 2}}
    assert (after["pins"], after["more"]) == ({"o": "b"}, {"k": "v"})


def test_what_has_no_place_is_refused() -> None:
    with pytest.raises(LookupError):
        changed(YamlEdit("nodes.none.deeper", "key", "value"))
    with pytest.raises(LookupError):
        changed(YamlEdit("buses.can.nodes", "key", "value"))


def test_what_a_library_holds_is_not_edited_here() -> None:
    library = parse_yaml("components: {c: {operators: {o: {filter: x}}}}", "lib.yaml")
    main = parse_yaml("operators: {use: {component: c}}", "q.yaml")
    both = SourceMap(main, {("components", "c"): library})
    assert not can_edit(both, "operators.use.o")
    assert can_edit(both, "operators.use")
    assert can_edit(both, "pins")


def test_the_lines_that_differ_are_named() -> None:
    after = changed(YamlEdit("nodes.slow", "rate", 1), YamlEdit("pins", "o", "fast"))
    assert list(changed_lines(TEXT, after)) == [
        (5, "-   slow: {rate: 0.5}      # an old one"),
        (5, "+   slow: {rate: 1}      # an old one"),
        (20, "+ pins: {o: fast}"),
    ]
    assert list(changed_lines(TEXT, TEXT)) == []


KEYS = st.sampled_from(["a", "b", "c", "d"])
VALUES = st.one_of(st.integers(0, 9), st.sampled_from(["x", "5 ms", "on", "1 per 2 s", "a: b #"]))
LEAVES = st.dictionaries(KEYS, VALUES, max_size=3)


@examples(60)
@given(
    content=st.dictionaries(KEYS, LEAVES, min_size=1, max_size=3),
    at=KEYS,
    key=KEYS,
    value=VALUES,
    block=st.booleans(),
)
def test_reading_again_gives_the_value_and_the_rest(
    content: dict[str, dict[str, int | str]], at: str, key: str, value: int | str, block: bool
) -> None:
    lines = ["# before"]
    for name, leaf in content.items():
        if block and leaf:
            lines.append(f"{name}:   # {name}")
            lines += [f"  {inner}: {json.dumps(one)}  # c" for inner, one in leaf.items()]
        else:
            lines.append(f"{name}: {json.dumps(leaf)}   # {name}")
    text = "\n".join([*lines, "# after", ""])
    after = changed(YamlEdit(at, key, value), text=text)
    wanted = {name: dict(leaf) for name, leaf in content.items()}
    wanted.setdefault(at, {})[key] = value
    if at not in content:
        wanted[at] = {key: str(value)}
    assert plain(parse_yaml(after, "v.yaml").root) == wanted
    comments = [line[line.index("#") :] for line in text.split("\n") if line.endswith(("#", "c"))]
    assert all(comment in after for comment in comments)
