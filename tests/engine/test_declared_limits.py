"""What a run does beyond its query's declarations is counted and named, under every policy."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, headway
from tests.compiler.build import one_node
from tests.engine.random_runs import COLUMNS
from tests.engine.support import compiled, in_order

from headway.engine.declared_limits import Beyond, PhaseWatch, RateWatch
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.operators.join import JoinOperator
from headway.engine.results import RunSummary
from headway.model.expression import Column, Sql
from headway.model.operators import Input, Join, Map, Operator, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.schedule.online import ENGINE_POLICIES

MS = MILLISECOND


# -------------------------------------------------------------------- rates


def keeps_to(times: list[int], rate: Rate) -> bool:
    """By the definition: no closed interval holds more than declared."""
    return all(
        last - first + 1 <= rate.in_interval(times[last] - times[first])
        for first in range(len(times))
        for last in range(first, len(times))
    )


def kept(times: list[int], rate: Rate) -> list[int]:
    """Those that are left if whatever would break the rate is taken out, one after the other."""
    found: list[int] = []
    for time in times:
        if keeps_to([*found, time], rate):
            found.append(time)
    return found


def test_arrivals_beyond_a_rate_are_counted_as_it_is_defined() -> None:
    draw = random.Random(5)
    broken = 0
    for _ in range(400):
        rate = Rate(draw.choice((1, 1, 2, 3)), draw.randint(3, 9), draw.choice((0, 0, 2, 15)))
        times = sorted(draw.randint(0, 60) for _ in range(draw.randint(1, 20)))
        watch = RateWatch(rate)
        for time in times:
            watch.arrived(time)
        assert watch.beyond == len(times) - len(kept(times, rate)), (rate, times)
        broken += watch.beyond > 0
    assert 50 < broken < 390


def plan_of(sources: tuple[Source, ...], *steps: Operator) -> Plan:
    outputs = (Output(name="out", stream=steps[-1].name, deadline=500 * MS),)
    query = Query(name="case", sources=sources, steps=steps, outputs=outputs)
    return compiled(query, one_node(query))


def source(name: str, rate: Rate) -> Source:
    return Source(name=name, schema=COLUMNS, rate=rate)


def at(time: int, stream: str, key: int = 1) -> Arrival:
    return Arrival(time * MICROSECOND, stream, (time, key, 1.0))


def summary_of(plan: Plan, given: list[Arrival], **options: object) -> RunSummary:
    return Engine(plan=plan, **options).run(in_order(given)).summary()  # type: ignore[arg-type]


SENSOR = source("s", Rate(1, 10 * MS))
COPIED = Map(name="copied", inputs=(Input("input", "s"),), cost=Cost(MS), columns=(), keep=True)
FOURFOLD = [at(2500 * n, "s") for n in range(400)]


@pytest.mark.parametrize("rate", [Rate(2, 10), Rate(2, 10, jitter=4), Rate(1, 7)])
def test_many_at_once_are_counted_as_one_by_one(rate: Rate) -> None:
    times = [0, 1, 3, 9, 10, 12, 19, 20, 40, 40, 41, 44, 46, 47]
    together, singly = RateWatch(rate), RateWatch(rate)
    together.all_arrived(times)
    for time in times:
        singly.arrived(time)
    assert together.beyond == singly.beyond > 0
    assert together.earliest == singly.earliest


def test_arrivals_at_other_instants_than_declared_are_counted() -> None:
    """Two at 5, 25, 45, …, at most 3 later."""
    watch = PhaseWatch(Rate(2, 20, 3), 5)
    watch.all_arrived([5, 8, 8, 24, 25, 28, 29, 48, 48, 65])
    assert watch.beyond == 3  # the third at 5, that at 24 and that at 29


@pytest.mark.parametrize("cut", range(10))
def test_what_a_checkpoint_keeps_decides_on_the_next_arrivals(cut: int) -> None:
    times = [5, 8, 8, 24, 25, 28, 29, 48, 48, 65]
    rate = Rate(2, 20, 3)
    for make in (lambda: PhaseWatch(rate, 5), lambda: RateWatch(rate)):
        whole, before, after = make(), make(), make()
        whole.all_arrived(times)
        before.all_arrived(times[:cut])
        after.restore(before.state())
        after.all_arrived(times[cut:])
        assert before.beyond + after.beyond == whole.beyond > 0


@pytest.mark.parametrize("options", [{}, {"fast_path": False}])
def test_who_does_not_keep_its_offset_is_named(options: dict[str, bool]) -> None:
    plan = plan_of((replace(SENSOR, offset=2 * MS),), COPIED)
    given = [at(10_000 * n + (2_000 if n % 4 else 3_000), "s") for n in range(100)]
    summary = summary_of(plan, given, **options)
    assert summary.exceeded == (Beyond("s", "rate: 1 per 10 ms, offset: 2 ms", 25),)


@pytest.mark.parametrize("policy", ENGINE_POLICIES)
def test_four_times_the_rate_is_told_under_every_policy(policy: str) -> None:
    summary = summary_of(plan_of((SENSOR,), COPIED), FOURFOLD, policy=policy)
    assert summary.exceeded == (Beyond("s", "rate: 1 per 10 ms", 300),)
    assert summary.beyond == 300
    # Whoever reserves rejects what is beyond the rate of a hard path; the others take it.
    assert summary.outputs[0].tuples + summary.rejected == 400


@pytest.mark.parametrize("options", [{"batching": True}, {"fast_path": False}, {"charged": False}])
def test_all_ways_of_running_count_alike(options: dict[str, bool]) -> None:
    plan = plan_of((SENSOR,), COPIED)
    bursts = [at(time, "s") for time in range(0, 40_000, 10_000) for _ in range(5)]
    assert summary_of(plan, bursts).beyond == summary_of(plan, bursts, **options).beyond == 16


def test_a_run_within_the_rate_exceeds_nothing() -> None:
    summary = summary_of(plan_of((SENSOR,), COPIED), FOURFOLD[::4])
    assert (summary.beyond, summary.exceeded) == (0, ())


# -------------------------------------------------------------------- partners and outputs


def pairs(**declared: object) -> Join:
    return Join(
        name="pairs",
        inputs=(Input("a", "left"), Input("b", "right")),
        cost=Cost(0),
        within=5 * MS,
        keys=(("k", "k"),),
        columns=(Column("v", Sql("a.v")),),
        **declared,  # type: ignore[arg-type]
    )


SIDES = (source("left", Rate(9, 100 * MS)), source("right", Rate(9, 100 * MS)))


@pytest.mark.parametrize(
    ("declared", "beyond"),
    [
        ({"partners": ("a", 2)}, [("partners: {a: 2}", 2)]),
        ({"partners": ("a", 4)}, []),
        ({"partners": ("b", 1)}, []),
        ({"most_outputs": 1}, [("most_outputs: 1", 1)]),
        ({}, []),
    ],
)
@pytest.mark.parametrize("step", [1, -1])
def test_partners_are_counted_whoever_comes_last(
    declared: dict[str, object], beyond: list[tuple[str, int]], step: int
) -> None:
    """One tuple of the left side meets four of the right: two before it, two after it."""
    order = ["right", "right", "left", "right", "right"]
    given = [at(1000 * place, stream) for place, stream in enumerate(order[::step])]
    summary = summary_of(plan_of(SIDES, pairs(**declared)), given)
    assert [(one.declared, one.count) for one in summary.exceeded] == beyond
    assert summary.outputs[0].tuples == 4


def test_partners_found_are_part_of_the_state() -> None:
    plan = plan_of(SIDES, pairs(partners=("a", 1)))
    schemas = {"a": COLUMNS, "b": COLUMNS}
    (join,) = plan.query.operators
    assert isinstance(join, Join)
    before, after = (JoinOperator(join, schemas, dict(plan.schemas)["pairs"]) for _ in range(2))
    before.accept("a", (0, 1, 1.0), 0)
    before.accept("b", (0, 1, 1.0), 0)
    after.restore(json.loads(json.dumps(before.snapshot())))
    after.accept("b", (0, 1, 1.0), 0)
    assert (before.beyond, after.beyond) == (0, 1)


@pytest.mark.parametrize(("most", "beyond"), [(1, 400), (2, 0)])
def test_a_users_class_is_held_to_its_word(most: int, beyond: int) -> None:
    twice = UserDefined(
        name="twice",
        inputs=(Input("input", "s"),),
        cost=Cost(MS),
        most_outputs=most,
        implementation="tests.engine.users:Twice",
        schema=COLUMNS,
    )
    sensor = replace(SENSOR, rate=Rate(1, 2 * MS))
    summary = summary_of(plan_of((sensor,), twice), FOURFOLD)
    assert summary.beyond == beyond
    assert summary.outputs[0].tuples == 800


# -------------------------------------------------------------------- for people


def test_headway_run_names_who_went_beyond(tmp_path: Path) -> None:
    text = (EXAMPLES / "hello" / "query.yaml").read_text()
    query = tmp_path / "query.yaml"
    query.write_text(text.replace("rate: 1 per 10 ms", "rate: 1 per 40 ms"))
    folder = EXAMPLES / "hello"
    for path, told in ((folder / "query.yaml", False), (query, True)):
        outcome = headway(
            "run", path, "--engine", "vehicle", "--vehicle", folder / "vehicle.yaml",
            "--input", folder / "recording", "--output", tmp_path / f"out_{told}",
        )  # fmt: skip
        assert outcome.code == 0
        data = json.loads((tmp_path / f"out_{told}" / "summary.json").read_text())
        assert bool(data["beyond"]) is told
        assert ("No promise covers this run" in outcome.out) is told
    assert data["exceeded"] == [
        {"where": "speed", "declared": "rate: 1 per 40 ms", "count": data["beyond"]}
    ]
    shown = " ".join(outcome.out.split())
    assert f"of speed by {data['beyond']:,} (rate: 1 per 40 ms)." in shown
