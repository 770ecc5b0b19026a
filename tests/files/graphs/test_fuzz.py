"""Whatever a graph or network file holds, reading it succeeds or says what is wrong and where."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples

from headway.errors import InputError, Problem
from headway.files.load_graphs import parse_graph, parse_network

EXAMPLE = Path(__file__).parents[3] / "examples" / "static_distribution"
YAML = [path.read_text() for path in sorted(EXAMPLE.glob("*.yaml"))]
TGFF = "@TASK_GRAPH 0 {\nPERIOD 9\nTASK a TYPE 0\nTASK b TYPE 1\nARC x FROM a TO b TYPE 0\n}\n"
STG = "2\n0 0 0\n1 3 1 0 0\n2 4 1 1 9\n3 0 1 2 0\n"
FLOW = (
    '{"workflow": {"tasks": [{"id": "a", "runtime": 1, "children": ["b"]},'
    ' {"id": "b", "runtime": 2}]}}'
)
SEEDS = [(text, "f.yaml") for text in YAML] + [(TGFF, "f.tgff"), (STG, "f.stg"), (FLOW, "f.json")]
fuzz = examples(300)
pieces = st.text(max_size=6) | st.sampled_from(
    ["{", "}", "[", ": ", "- ", "-1", "1e999", "nan", "0", "#", "@X 1 {", "\n", "a", "\t", "null"]
)


@fuzz
@given(st.sampled_from(SEEDS), st.data())
def test_damaged_files(seed: tuple[str, str], data: st.DataObject) -> None:
    text, name = seed
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 12)))
    survives(text[:start] + data.draw(pieces) + text[end:], name)


@fuzz
@given(st.text(max_size=80), st.sampled_from(["f.yaml", "f.tgff", "f.stg", "f.json"]))
def test_any_text(text: str, name: str) -> None:
    survives(text, name)


def survives(text: str, name: str) -> None:
    for parse in (parse_graph, parse_network):
        problems: tuple[Problem, ...] = ()
        try:
            parse(text, name)
        except InputError as error:
            problems = error.problems
        assert all(problem.place is not None for problem in problems)
