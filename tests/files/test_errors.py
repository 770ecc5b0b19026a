"""Each mistake in a file is met with what, where, what was got and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.errors import FileError
from headway.files import load_query, load_vehicle, parse_query, parse_vehicle

QUERY = """\
query: q
schemas:
  S: {id: bigint, v: "double [m/s]"}
sources:
  a: {schema: S, rate: 1 per 100 ms, delay: 5 ms}
operators:
  f: {filter: v > 1, from: a, cost: 50 us}
  j: {join: {l: f, r: a}, within: 1 ms, keys: [id]}
outputs:
  o: {from: j, deadline: 30 ms}
"""
VEHICLE = """\
vehicle: v
nodes:
  n: {rate: 1}
buses:
  b: {kind: can, bit_rate: 500 kbit/s, nodes: [n]}
"""
KINDS = "filter, map, set, union, join, aggregate, distinct, sample, udo, fusion, component"
DURATION = "write a number and a unit of ns, us, ms, s, min or h, such as '30 ms'"


def message(text: str) -> str:
    with pytest.raises(FileError) as caught:
        parse_query(text, "q.yaml")
    return str(caught.value)


def test_the_base_is_sound() -> None:
    assert parse_query(QUERY).query.name == "q"
    assert parse_vehicle(VEHICLE).vehicle.name == "v"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "from: j",
            "from: j, form: j",
            "q.yaml:10:16: outputs.o.form: unknown key 'form'; did you mean 'from'? "
            "known: from, deadline, criticality, weight, age, reaction, through",
        ),
        ("from: j, ", "", "q.yaml:10:3: outputs.o: the key 'from' is missing; add it"),
        (
            "30 ms",
            "30",
            "q.yaml:10:26: outputs.o.deadline: not a deadline; got 30; "
            "write a duration such as '30 ms', or none for an output without one",
        ),
        (
            "50 us",
            "50",
            f"q.yaml:7:37: operators.f.cost: a duration is wanted; got 50; {DURATION}",
        ),
        (
            "50 us",
            "0.5 ns",
            f"q.yaml:7:37: operators.f.cost: finer than a nanosecond; got '0.5 ns'; {DURATION}",
        ),
        (
            "filter:",
            "fliter:",
            "q.yaml:7:3: operators.f: an operator without a kind; got the keys fliter, from, cost; "
            f"did you mean 'filter'? give it one of: {KINDS}",
        ),
        (
            "filter: v > 1",
            "where: v > 1",
            "q.yaml:7:3: operators.f: an operator without a kind; got the keys where, from, cost; "
            f"give it one of: {KINDS}",
        ),
        (
            "filter:",
            "map: {}, filter:",
            "q.yaml:7:16: operators.f.filter: an operator of two kinds, 'map' and 'filter'; "
            "keep one of them",
        ),
        (
            "schema: S",
            "schema: Speed",
            "q.yaml:5:15: sources.a.schema: no schema 'Speed'; declared under 'schemas': S",
        ),
        (
            "bigint",
            "bigit",
            "q.yaml:3:11: schemas.S.id: not the type of a column; got 'bigit'; write a type "
            "(boolean, int, bigint, float, double, string(N), timestamp) and, where it has one, "
            "a unit in brackets, such as 'double [m/s]'",
        ),
        (
            "1 per 100 ms",
            "0 per 100 ms",
            "q.yaml:5:24: sources.a.rate: not a rate; got '0 per 100 ms'; "
            "write a count, 'per' and a duration, such as '10 per 100 ms'",
        ),
        (
            "  j:",
            "  f:",
            "q.yaml:8:3: the key 'f' stands twice; keep one; the other is at line 7, column 3",
        ),
        (
            "  f:",
            "  f g:",
            "q.yaml:7:3: operators.f g: not a name; got 'f g'; use letters, digits and '_', "
            "not starting with a digit, at most 63 characters",
        ),
        (
            "cost: 50 us",
            "cost: ~",
            "q.yaml:7:37: operators.f.cost: the key 'cost' has no value; "
            "write one, or leave the key out",
        ),
        (
            "cost: 50 us",
            "selectivity: yes",
            "q.yaml:7:44: operators.f.selectivity: a number is wanted; got 'yes'",
        ),
        (
            "cost: 50 us",
            "most_outputs: 0",
            "q.yaml:7:45: operators.f.most_outputs: the number is out of range; got 0; "
            "should be greater than or equal to 1",
        ),
        (
            "from: a",
            "from: true",
            "q.yaml:7:28: operators.f.from: text is wanted; got true; "
            "put it in quotes if it is meant as text",
        ),
        (
            "l: f, r: a",
            "l: f",
            "q.yaml:8:7: operators.j.join: not the right number of entries; got a mapping; "
            "write at least 2, not 1",
        ),
        (
            "keys: [id]",
            "keys: [[id]]",
            "q.yaml:8:48: operators.j.keys.0: not the right number of entries; got a list; "
            "write at least 2, not 1",
        ),
        (
            "  S:",
            "\tS:",
            "q.yaml:3:1: not YAML: a tab; indent with spaces",
        ),
        ("50 us", ".nan", "q.yaml:7:37: the number is not finite; got .nan; write a finite number"),
        (
            "50 us",
            "1e999",
            "q.yaml:7:37: the number is too large; got 1e999; write a finite number",
        ),
        (
            "outputs:",
            "outputs: &x",
            "q.yaml:9:10: anchors and aliases are not supported; got 'x'; "
            "name a schema or component instead",
        ),
        (
            "v > 1",
            "!!python/name:os.system",
            "q.yaml:7:15: tags are not supported; "
            "got 'tag:yaml.org,2002:python/name:os.system'; leave it out",
        ),
        ("query: q\n", "query: q\n---\n", "q.yaml:2:1: a second document; keep one per file"),
        (
            "delay: 5 ms",
            "jitter: 5 ms",
            "q.yaml:5:38: sources.a.jitter: a jitter without a rate; add 'rate'",
        ),
    ],
)
def test_mistakes(old: str, new: str, expected: str) -> None:
    text = QUERY.replace(old, new, 1)
    if "jitter" in new:
        text = text.replace("rate: 1 per 100 ms, ", "gap: 1000000000 ns, ")
    assert message(text) == expected


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    text = QUERY.replace("30 ms", "soon").replace("bigint", "big").replace("50 us", "dear")
    assert [line.split(" ")[0] for line in message(text).splitlines()] == [
        "q.yaml:3:11:",
        "q.yaml:7:37:",
        "q.yaml:10:26:",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "q.yaml:1:1: the file is empty; see the examples folder for a start"),
        ("# nothing\n", "q.yaml:1:1: the file is empty; see the examples folder for a start"),
        ("---\n", "q.yaml:1:1: the file is empty; see the examples folder for a start"),
        ("- a\n", "q.yaml:1:1: not a mapping; got a list; start with lines 'key: value'"),
        ("hello", "q.yaml:1:1: not a mapping; got 'hello'; start with lines 'key: value'"),
        (
            "a: é\x00b",
            "q.yaml:1:5: not YAML: control characters are not allowed; remove that character",
        ),
        ("a: \ud800", "q.yaml:1:4: a character that is no Unicode text"),
        ("? [a]\n: b\n", "q.yaml:1:3: a key must be a word; write 'name: value'"),
    ],
)
def test_what_is_no_query_at_all(text: str, expected: str) -> None:
    assert message(text) == expected


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    missing, folder, latin = tmp_path / "no.yaml", tmp_path / "folder", tmp_path / "latin.yaml"
    folder.mkdir()
    latin.write_bytes(b"query: q\nnote: caf\xe9\n")
    for load in (load_query, load_vehicle):
        for path, expected in (
            (missing, f"{missing}:1:1: there is no such file; check its path"),
            (folder, f"{folder}:1:1: cannot be read; got a directory; name a YAML file"),
            (latin, f"{latin}:2:10: the file is not UTF-8; got byte 0xe9; save it as UTF-8"),
        ):
            with pytest.raises(FileError) as caught:
                load(path)
            assert str(caught.value) == expected
    with pytest.raises(FileError, match="there is no such file"):
        load_query(Path("a\0b"))


def test_libraries_that_do_not_fit(tmp_path: Path) -> None:
    main, library = tmp_path / "q.yaml", tmp_path / "lib.yaml"
    main.write_text(QUERY.replace("query: q\n", "query: q\nuse: [lib.yaml]\n"))
    with pytest.raises(FileError) as caught:
        load_query(main)
    assert str(caught.value) == (
        f"{main}:2:7: use: the library cannot be used: there is no such file; got 'lib.yaml'; "
        "paths are relative to this file"
    )
    library.write_text("schemas:\n  S: {a: int}\n")
    with pytest.raises(FileError) as caught:
        load_query(main)
    assert str(caught.value) == (
        f"{main}:4:3: schemas.S: 'S' is declared in two files; "
        f"rename one; the other is at {library}:2:3"
    )
    library.write_text("schemas:\n  T: {a: intt}\n")
    with pytest.raises(FileError, match=rf"{library}:2:10: schemas\.T\.a: not the type"):
        load_query(main)
    library.write_text("use: [lib.yaml, q2.yaml]\n")
    (tmp_path / "q2.yaml").write_text("use: [lib.yaml]\nschemas: {T: {a: int}}\n")
    assert load_query(main).query.name == "q"  # libraries may use each other


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "500 kbit/s",
            "500 kbps",
            "v.yaml:5:28: buses.b.bit_rate: not a bit rate; got '500 kbps'; "
            "write a number and bit/s, kbit/s, Mbit/s or Gbit/s, such as '500 kbit/s'",
        ),
        (
            "kind: can",
            "kind: cam",
            "v.yaml:5:13: buses.b.kind: not one of the choices; got 'cam'; "
            "choose 'can', 'can_fd' or 'ethernet'",
        ),
        (
            "rate: 1",
            "rate: -1",
            "v.yaml:3:13: nodes.n.rate: the number is out of range; got -1; "
            "should be greater than 0",
        ),
    ],
)
def test_mistakes_in_vehicles(old: str, new: str, expected: str) -> None:
    with pytest.raises(FileError) as caught:
        parse_vehicle(VEHICLE.replace(old, new, 1), "v.yaml")
    assert str(caught.value) == expected
