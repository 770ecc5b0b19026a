"""Data ages and reaction times: bounds worked out by hand, requirements judged like deadlines."""

from __future__ import annotations

import re

import pytest
from tests.engine.support import run

from headway.compiler import compile_query
from headway.compiler.latency import chains as chains_module
from headway.compiler.read_plan import read_plan
from headway.engine.jobs import Arrival
from headway.files.load_queries import parse_query
from headway.files.write_yaml import query_to_yaml
from headway.model.codec import to_json
from headway.model.plan import Chain, Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.model.vehicle import Link, Node, Vehicle
from headway.report.plan import plan_tables
from headway.report.plan.plan_page import plan_html

MS = MILLISECOND
LINKED = """
query: q
sources: {s: {schema: {v: int}, rate: 1 per 10 ms, gap: 10 ms}}
operators:
  a: {sample: 5 ms, from: s, hold: 10 ms, cost: 1 ms}
  b: {sample: 20 ms, from: a, hold: 20 ms, cost: 2 ms}
outputs: {out: {from: b, deadline: 100 ms, age: 34 ms, reaction: 50 ms}}
"""


def plan_of(text: str) -> Plan:
    query = parse_query(text).query
    nodes = (Node(name="n0"), Node(name="n1"))
    # A tuple has 12 bytes: 96 bits in 1 ms.
    link = Link(name="wire", ends=("n0", "n1"), speed=96_000)
    names = [one.name for one in query.operators]
    vehicle = Vehicle(
        name="car",
        nodes=nodes,
        links=(link,),
        sensors=tuple((one.name, "n0") for one in query.sources),
        pins=tuple((name, "n1" if name == "b" else "n0") for name in names),
    )
    return compile_query(query, vehicle)


def chains_of(plan: Plan) -> tuple[Chain, ...]:
    assert plan.verdict is not None
    return plan.verdict.chains


def test_two_clocks_and_a_link_by_hand() -> None:
    """Age: held 10, run 1, sent 1, held 20, run 2. Reaction: sensed again after 10, read within 5,
    run 1, sent 1, read within 20, run 2. (A result of ``a`` is up to 11 old, but made within 1 of
    an instant: never are two of them sent at once.)"""
    (chain,) = chains_of(plan_of(LINKED))
    assert chain.streams == ("s", "a", "b")
    assert chain.age.bound == 34 * MS
    assert chain.reaction.bound == 39 * MS
    assert [step.time // MS for step in chain.age.steps] == [10, 1, 1, 20, 2]
    assert [step.time // MS for step in chain.reaction.steps] == [10, 5, 1, 1, 20, 2]
    assert chain.kept


def test_a_run_reaches_what_was_bounded() -> None:
    """With phases chosen by hand: a tuple every 10 ms just after an instant of ``a``."""
    plan = plan_of(LINKED)
    late = 100 * MICROSECOND
    times = [5 * MS * k + late for k in range(0, 80, 2)]
    result = run(plan, [Arrival(t, "s", (t // MICROSECOND, 1)) for t in times])
    (seen,) = result.chains
    (chain,) = chains_of(plan)
    assert seen.age is not None
    assert seen.reaction is not None
    assert chain.age.bound is not None
    assert chain.reaction.bound is not None
    # The last, of 390.1, is read by a at 400, is on n1 at 402, read by b at 420, out at 422.
    assert seen.age == 31_900_000
    # A change just after 10.1: read by a at 25, on n1 at 27, read by b at 40, out at 42.
    assert seen.reaction == 31_900_000
    assert seen.age <= chain.age.bound
    assert seen.reaction <= chain.reaction.bound


def test_a_chain_can_begin_at_a_clock() -> None:
    """From an instant of ``a``: run 1, sent 1, held 20, run 2; a change waits up to 5 for it."""
    plan = plan_of(LINKED.replace("reaction: 50 ms", "reaction: 50 ms, through: [a, b]"))
    (chain,) = chains_of(plan)
    assert chain.streams == ("a", "b")
    assert (chain.age.bound, chain.reaction.bound) == (24 * MS, 29 * MS)
    times = [5 * MS * k + 100 * MICROSECOND for k in range(0, 80, 2)]
    (seen,) = run(plan, [Arrival(t, "s", (t // MICROSECOND, 1)) for t in times]).chains
    # Read by a at 400, on n1 at 402, read by b at 420, out at 422; or at 35 and 40, out at 42.
    assert seen.age == 22 * MS
    assert seen.reaction == 27 * MS


def test_requirements_are_judged_like_deadlines() -> None:
    plan = plan_of(LINKED.replace("age: 34 ms", "age: 33999 us"))
    assert plan.verdict is not None
    assert all(promise.kept for promise in plan.verdict.promises)
    assert not plan.verdict.safe
    (chain,) = plan.verdict.chains
    assert (chain.age.kept, chain.reaction.kept) == (False, True)
    assert "of 1 of 1 chains cannot be promised" in plan_tables.summary(plan)
    table = plan_tables.chains(plan)
    assert table.rows == [
        [
            "out",
            "s → a → b",
            "34.000",
            "33.999 ms",
            "39.000",
            "50 ms",
            "✗",
            "b reads a value for so long after it came (20.000 ms); b reads at its next instant "
            "(20.000 ms)",
        ]
    ]
    assert len(plan_tables.chain_derivations(plan)) == 2
    assert "Where the data age of s → a → b goes" in plan_html(plan)
    assert read_plan(to_json(plan), "plan.json") == plan


def test_chains_without_clocks_are_bounded_where_they_are_asked_for() -> None:
    """Of two ways, the one that is asked for less is not lost."""
    text = """
query: q
sources:
  s: {schema: {v: int}, rate: 1 per 10 ms, gap: 12 ms, delay: 2 ms}
  t: {schema: {v: int}, rate: 1 per 100 ms, delay: 30 ms}
operators:
  m: {map: {v: v + 1}, from: s, cost: 1 ms}
  u: {union: [m, t], cost: 1 ms}
outputs: {out: {from: u, deadline: 100 ms, reaction: 50 ms}}
"""
    plan = plan_of(text)
    first, second = chains_of(plan)
    assert (first.streams, second.streams) == (("s", "m", "u"), ("t", "u"))
    assert first.age.bound is not None
    # The longest work without a pause: a tuple of each, 2 ms and 1 ms.
    assert first.age.bound == 5 * MS
    assert first.reaction.bound == 17 * MS
    # It comes 30 old and goes before what comes later: one operator under way, then its own.
    assert second.age.bound == 32 * MS
    assert second.reaction.bound is None
    assert "declare 'gap' of t" in second.reaction.reason
    assert not second.kept
    assert chains_of(plan_of(text.replace(", reaction: 50 ms", ""))) == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("gap: 10 ms", "gap: 10 ms, shed: {at_most: 1 per 50 ms, value: v}", "load shedder of s"),
        ("hold: 20 ms", "hold: 19 ms", "b may miss a value"),
        (
            "b: {sample: 20 ms, from: a,",
            "u: {union: [a, a], cost: 0 ms}\n  b: {sample: 20 ms, from: u,",
            "comes out of u may take its place before b",
        ),
    ],
)
def test_where_no_reaction_can_be_promised(old: str, new: str, reason: str) -> None:
    for chain in chains_of(plan_of(LINKED.replace(old, new))):
        assert chain.reaction.bound is None
        assert reason in chain.reaction.reason
        assert not chain.kept


def test_more_ways_than_can_be_looked_at_are_not_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains_module, "MOST_CHAINS", 0)
    (chain,) = chains_of(plan_of(LINKED))
    assert chain.age.bound is None
    assert re.match("more than 0 ways lead to out", chain.age.reason)


def test_requirements_in_files() -> None:
    query = parse_query(LINKED).query
    (output,) = query.outputs
    assert (output.age, output.reaction) == (34 * MS, 50 * MS)
    assert parse_query(query_to_yaml(query)).query == query
