"""Advice for deadlines that cannot be promised: what is said would help does help, when it is done
in the files."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tests.compiler.golden import EXAMPLE

import headway as hw
from headway.errors import InputError
from headway.front_door.advice import fix_search
from headway.front_door.advice.fix_search import trials_for
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.quantities import MILLISECOND as MS

CAN_FD = "{kind: can_fd, bit_rate: 500 kbit/s, data_bit_rate: 5 Mbit/s, nodes: [slow, fast]}"
BURST = """
# Readings of a sensor.
query: burst
sources:
  s: {schema: {v: int}, rate: 1000 per 1 s}   # in all
operators:
  a: {filter: v > 0, from: s, cost: 900 us}
  b: {map: {v: v + 1}, from: a, cost: 20 us}
outputs:
  o: {from: b, deadline: 25 ms}
"""
ONE = "vehicle: v\nnodes: {ecu: {}}\n"
PINNED = f"""
vehicle: v
nodes: {{slow: {{rate: 0.1}}, fast: {{rate: 4}}}}
buses: {{can: {CAN_FD}}}
sensors: {{s: slow}}
# Where the old car had them.
pins:
  clean: slow   # beside the sensor
  heavy: slow
"""
HEAVY = """
query: heavy_work
sources: {s: {schema: {v: int}, rate: 1 per 1 s}}
operators:
  clean: {filter: v > 0, from: s, cost: 20 ms}
  heavy: {map: {v: v + 1}, from: clean, cost: 50 ms}
outputs: {o: {from: heavy, deadline: 50 ms}}
"""
JOIN = """
query: pairs
sources:
  s: {schema: {v: int}, rate: 1 per 20 ms}
  t: {schema: {v: int}, rate: 1 per 20 ms}
operators:
  near: {join: {s: s, t: t}, within: 400 ms, select: {v: s.v + t.v}, cost: 100 us, partners: {s: 1}}
outputs: {o: {from: near, deadline: 100 ms}}
"""
TIMEOUT = """
query: gathered
sources:
  s: {schema: {v: int}, rate: 1 per 100 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms}
operators:
  both:
    udo: tests.operators:PassOn
    inputs: {s: s, t: t}
    schema: {v: int}
    cost: 1 ms
    timeout: 80 ms
    most_outputs: 1
outputs: {o: {from: both, deadline: 50 ms}}
"""
BUS = """
query: wide
sources: {s: {schema: {v: string(200)}, rate: 1 per 100 ms}}
operators:
  a: {filter: v IS NOT NULL, from: s, cost: 10 us}
  b: {filter: v IS NOT NULL, from: a, cost: 10 us}
outputs: {o: {from: b, deadline: 5 ms}}
"""
CHAIN = """
query: chain
sources: {s: {schema: {v: int}, rate: 1 per 20 ms, gap: 20 ms}}
operators:
  a: {filter: v > 0, from: s, cost: 12 ms}
  b: {map: {v: v + 1}, from: a, cost: 6 ms}
outputs: {o: {from: b, deadline: 30 ms, age: 15 ms, reaction: 30 ms}}
"""
SLOW_BUS = """
vehicle: v
nodes: {n1: {}, n2: {}}
buses: {can: {kind: can, bit_rate: 250 kbit/s, nodes: [n1, n2]}}
sensors: {s: n1}
pins: {b: n2}
"""


def files(tmp_path: Path, query: str, vehicle: str) -> tuple[Path, Path]:
    shutil.copy(EXAMPLE / "components.yaml", tmp_path)
    names = tmp_path / "query.yaml", tmp_path / "vehicle.yaml"
    for path, text in zip(names, (query, vehicle), strict=True):
        path.write_text(text)
    return names


def advised(query: Path, vehicle: Path) -> hw.Advice:
    compiled = hw.compile(query, vehicle)
    assert not compiled.safe
    return hw.advise(compiled)


CASES = {
    "burst": (BURST, ONE),
    "pinned": (HEAVY, PINNED),
    "join": (JOIN, ONE),
    "timeout": (TIMEOUT, ONE),
    "bus": (BUS, SLOW_BUS),
    "chain": (CHAIN, ONE),
    "study": ((EXAMPLE / "query.yaml").read_text(), (EXAMPLE / "vehicle.yaml").read_text()),
}


@pytest.mark.parametrize("case", CASES)
def test_every_fix_holds_when_it_is_written(case: str, tmp_path: Path) -> None:
    texts = CASES[case]
    query, vehicle = files(tmp_path, *texts)
    advice = advised(query, vehicle)
    fixes = advice.fixes
    assert 1 <= len(fixes) <= fix_search.MOST_FIXES
    if case != "study":
        again = advised(query, vehicle)
        assert (again.fixes, again.mark) == (fixes, advice.mark)
    for number, fix in enumerate(fixes, start=1):
        files(tmp_path, *texts)
        written = advice.write(number, advice.mark)
        assert {str(path) for path in written} == {line.file for line in fix.lines}
        after = hw.compile(query, vehicle)
        assert after.safe, fix.what
        assert after.plan.verdict is not None
        bounds = {one.key: one.bound for one in after.plan.verdict.requirements}
        assert {(one.output, one.asked): one.after for one in fix.bounds}.items() <= bounds.items()


def test_an_even_rate_is_the_first_thing_said_of_a_burst(tmp_path: Path) -> None:
    query, vehicle = files(tmp_path, BURST, ONE)
    advice = advised(query, vehicle)
    first = advice.fixes[0]
    assert first.what == "say that s comes evenly, 1 per 1 ms, if it does"
    (bound,) = first.bounds
    assert (bound.before, bound.after, bound.limit) == (920 * MS, 920_000, 25 * MS)
    assert [(line.line, line.text) for line in first.lines] == [
        (5, "-   s: {schema: {v: int}, rate: 1000 per 1 s}   # in all"),
        (5, "+   s: {schema: {v: int}, rate: 1 per 1 ms}   # in all"),
    ]
    advice.write(1)
    assert query.read_text() == BURST.replace("1000 per 1 s", "1 per 1 ms")
    assert vehicle.read_text() == ONE


def test_two_pins_solve_what_two_pins_broke(tmp_path: Path) -> None:
    """Seen: 736 ms, and a deadline of 736 ms as the only advice, where two pins help."""
    query, vehicle = files(tmp_path, HEAVY, PINNED)
    advice = advised(query, vehicle)
    first = advice.fixes[0]
    assert first.what == "pin clean and heavy to fast, not to slow"
    (bound,) = first.bounds
    assert bound.before == 700 * MS  # 200 and 500: there is nothing to wait for
    assert bound.after is not None
    assert 17 * MS < bound.after < 20 * MS
    advice.write(1)
    changed = PINNED.replace("clean: slow ", "clean: fast ").replace("heavy: slow", "heavy: fast")
    assert vehicle.read_text() == changed  # comments and order are as they were
    assert query.read_text() == HEAVY


def test_a_placement_with_no_pins_is_found_without_advice(tmp_path: Path) -> None:
    """The same query: where nothing is pinned but the sensor's first operator is the trouble, one
    pin is said; where that is quick, the compiler finds the place of the rest itself."""
    free = PINNED[: PINNED.index("# Where")]
    query, vehicle = files(tmp_path, HEAVY, free)
    assert advised(query, vehicle).fixes[0].what == "pin clean to fast"
    quick = HEAVY.replace("cost: 20 ms", "cost: 2 ms")
    assert hw.compile(*files(tmp_path, quick, free)).safe


@pytest.mark.parametrize(
    ("text", "key", "step", "words"),
    [
        (JOIN, "within: 400 ms", 40, r"pair only what lies within (\d+) ms in near"),
        (TIMEOUT, "timeout: 80 ms", 8, r"wait at most (\d+) ms for the other inputs of both"),
    ],
    ids=["within", "timeout"],
)
def test_the_longest_time_that_holds_is_told(
    text: str, key: str, step: int, words: str, tmp_path: Path
) -> None:
    match = re.fullmatch(words, advised(*files(tmp_path, text, ONE)).fixes[0].what)
    assert match is not None
    time, name = int(match[1]), key.partition(":")[0]
    for longer, holds in ((0, True), (step, False)):
        changed = text.replace(key, f"{name}: {time + longer} ms")
        assert hw.compile(*files(tmp_path, changed, ONE)).safe is holds


def test_a_slow_bus_gets_larger_frames(tmp_path: Path) -> None:
    query, vehicle = files(tmp_path, BUS, SLOW_BUS.replace("b: n2", "a: n1, b: n2"))
    titles = [fix.what for fix in advised(query, vehicle).fixes]
    assert any(title.startswith("pin ") for title in titles)
    assert any("CAN FD on can" in title for title in titles)
    assert hw.compile(query, vehicle).promises[0].blame == "can"


def test_what_is_kept_is_not_advised(tmp_path: Path) -> None:
    query, vehicle = files(tmp_path, BURST.replace("25 ms", "2 s"), ONE)
    compiled = hw.compile(query, vehicle)
    advice = hw.advise(compiled)
    assert (advice.fixes, advice.compiled) == ((), compiled)


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    query, vehicle = files(tmp_path, BURST, ONE)
    advice = advised(query, vehicle)
    query.write_text(BURST + "# more\n")
    with pytest.raises(InputError, match="has changed since it was compiled"):
        advice.write(1)
    assert query.read_text() == BURST + "# more\n"
    again = advised(query, vehicle)
    assert again.mark != advice.mark
    with pytest.raises(InputError, match="not those that this advice was given for"):
        again.write(1, advice.mark)


def test_there_is_no_fix_beyond_those_shown(tmp_path: Path) -> None:
    advice = advised(*files(tmp_path, BURST, ONE))
    for number in (0, len(advice.fixes) + 1):
        with pytest.raises(InputError, match="there is no such fix"):
            advice.write(number)


def test_what_was_made_in_python_is_advised_and_not_written() -> None:
    query, vehicle = hw.parse_query(BURST).query, hw.parse_vehicle(ONE).vehicle
    advice = hw.advise(hw.compile(query, vehicle))
    assert advice.fixes[0].lines[0].file == "query.yaml"
    with pytest.raises(InputError, match="was not read from a file"):
        advice.write(1)


def test_a_plan_carries_its_fixes_and_only_then_has_the_key(tmp_path: Path) -> None:
    query, vehicle = files(tmp_path, BURST, ONE)
    compiled = hw.compile(query, vehicle)
    assert '"fixes"' not in compiled.to_json()
    plan = hw.advise(compiled).compiled.plan
    text = plan_to_json(plan)
    assert plan_from_json(text) == plan
    assert plan.verdict is not None
    assert len(plan.verdict.fixes) >= 1
    assert plan.verdict.promises[0].advice.startswith("1. say that s comes evenly")


def test_only_places_on_the_way_are_blamed(tmp_path: Path) -> None:
    """The output has no bound because of its own node; the busiest node is another."""
    text = """
query: q
sources:
  s: {schema: {v: int}, rate: 1 per 100 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms}
operators:
  u: {udo: tests.operators:PassOn, inputs: {s: s}, schema: {v: int}, cost: 1 ms, most_outputs: 30}
  f: {filter: v > 0, from: u, cost: 4 ms}
  g: {filter: v > 0, from: t, cost: 95 ms}
outputs: {o: {from: f, deadline: 1 s}, p: {from: g, deadline: 1 s}}
"""
    vehicle = """
vehicle: v
nodes: {n1: {}, n2: {}}
sensors: {s: n1, t: n2}
"""
    compiled = hw.compile(*files(tmp_path, text, vehicle))
    one, two = compiled.promises
    assert (one.bound, one.blame, two.kept) == (None, "n1", True)


def test_several_broken_outputs_get_one_change_each(tmp_path: Path) -> None:
    two = """
query: two
sources:
  s: {schema: {v: int}, rate: 1 per 1 s}
  t: {schema: {v: int}, rate: 1 per 1 s}
  r: {schema: {v: int}, rate: 1 per 1 s, delay: 30 ms}
operators:
  both:
    udo: tests.operators:PassOn
    inputs: {s: s, t: t}
    schema: {v: int}
    cost: 1 ms
    timeout: 80 ms
    most_outputs: 1
  slow: {filter: v > 0, from: r, cost: 20 ms}
outputs: {o: {from: both, deadline: 50 ms}, p: {from: slow, deadline: 45 ms}}
"""
    first, later = advised(*files(tmp_path, two, ONE)).fixes
    both = r"wait at most \d+ ms for the other inputs of both; and ecu [\d.]+ times as fast"
    assert re.fullmatch(both, first.what)
    assert re.fullmatch(r"a later deadline: \d+ ms for o, \d+ ms for p", later.what)
    assert {one.output for one in first.bounds} == {"o", "p"}


def test_long_queries_have_fewer_trials() -> None:
    counts = [trials_for(operators) for operators in (1, 10, 100, 1_000, 100_000)]
    assert counts == sorted(counts, reverse=True)
    assert (counts[0], counts[-1]) == (fix_search.MOST_TRIALS, fix_search.LEAST_TRIALS)
