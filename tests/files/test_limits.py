"""Hostile and huge files neither hang nor crash; a query of 10,000 operators loads."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.errors import FileError
from headway.files import load_query, parse_query
from headway.yaml_tree import MOST_BYTES

HEAD = 'query: q\nsources:\n  s0: {schema: {v: "double [m/s]"}, rate: 1 per 10 ms}\n'


def test_ten_thousand_operators_load(tmp_path: Path) -> None:
    lines = [
        f"  s{n}: {{map: {{v: v * {n}}}, from: s{n - 1}, cost: 50 us}}\n" for n in range(1, 10_001)
    ]
    path = tmp_path / "big.yaml"
    outputs = "outputs:\n  o: {from: s10000, deadline: 1 s}\n"
    path.write_text(HEAD + "operators:\n" + "".join(lines) + outputs)
    loaded = load_query(path)
    assert len(loaded.query.steps) == 10_000
    assert loaded.places.locate("operators.s10000.columns.v", 4).line == 10_004


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 100_000,
        "a: " + "{b: " * 100_000,
        "".join(" " * n + "a:\n" for n in range(2_000)),
        "- " * 100_000,
        "? " * 100_000,
        "a: [" + "x, " * 500_000 + "]",
        "a: " + "9" * 1_000_000,
        "a: 0." + "9" * 1_000_000,
        "a: 1e" + "9" * 1_000_000,
        "a: '" + "x" * 1_000_000,
        "query: " + "x" * 1_000_000,
    ],
    ids=lambda text: text[:8],
)
def test_deep_and_long_files_are_refused(text: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_query(text)
    assert all(problem.place and len(str(problem)) < 1_000 for problem in caught.value.problems)


def test_an_alias_bomb_is_refused() -> None:
    rows = ["a0: &a0 [x, x]"]
    rows += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 60)]
    with pytest.raises(FileError, match="anchors and aliases"):
        parse_query("\n".join(rows))


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    path.write_text("#" * (MOST_BYTES + 1))
    with pytest.raises(FileError, match="the file is too large"):
        load_query(path)


def test_something_that_is_no_regular_file_is_refused() -> None:
    with pytest.raises(FileError, match="no regular file"):
        load_query(Path("/dev/zero"))


def test_many_problems_are_cut_short() -> None:
    operators = "".join(f"  o{n}: {{}}\n" for n in range(3_000))
    with pytest.raises(FileError) as caught:
        parse_query(HEAD + "operators:\n" + operators + "outputs: {}\n")
    assert len(caught.value.problems) == 20
