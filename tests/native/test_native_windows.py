"""Join, aggregate and distinct of the native engine do what their Python twins do."""

from __future__ import annotations

import heapq
import random
from typing import Any

import pytest
from tests.compiled import behaving
from tests.engine.operators.build import one_input, sql_columns
from tests.native.cpp_compiler import SANITIZED
from tests.native.operator_driver import GROWS, Twins, built
from tests.native.operator_specs import (
    LEFT,
    MEANS,
    NO_KEY_MEANS,
    PAIRS,
    RIGHT,
    ROWS,
    aggregate_source,
    distinct_source,
    join_source,
)

from headway.engine.operators.aggregate import AggregateOperator
from headway.engine.operators.distinct import DistinctOperator
from headway.engine.operators.join import JoinOperator
from headway.model.expression import Sql
from headway.model.operators import Aggregate, Distinct, Input, Join
from headway.model.quantities import MICROSECOND
from headway.model.schema import Schema
from headway.model.user_operator import Row

NUMBERS = [0.0, -0.0, 1.0, float("nan"), -float("nan"), float("inf"), None]
NAMES = ["", "a", "ab", "äöü", None]


def random_row(rng: random.Random, schema: Schema, time: int) -> Row:
    drawn: dict[str, Any] = {
        "double": lambda: rng.choice(NUMBERS),
        "string": lambda: rng.choice(NAMES),
        "int": lambda: rng.choice([None, *range(5)]),
    }
    return (time, *(drawn[field.type.value]() for field in schema.fields))


def drive(twins: Twins, rng: random.Random, steps: int, reach: int, late: float = 0.05) -> None:
    """Tuples around a growing time, some late, some long past; timers when they are due."""
    now, time, watermark = 0, rng.choice([0, -50, 10**15]), None
    timers: list[tuple[int, int]] = []
    for _ in range(steps):
        now += rng.randrange(3)
        while timers and timers[0][0] <= now:
            at, token = heapq.heappop(timers)
            twins.expire(token, at)
        choice = rng.random()
        if choice < 0.75:
            time += rng.choice([0, 0, 1, 1, 2, reach])
            port = rng.choice(twins.ports)
            timestamp = time + rng.randrange(-2 * reach - 2, reach + 2)
            row = random_row(rng, twins.inputs[port], timestamp)
            twins.accept(port, row, now, rng.random() < late)
            for answer in twins.expected[-1]:
                if answer[0] == "t":
                    heapq.heappush(timers, (answer[1], answer[2]))
        elif choice < 0.85:
            watermark = time - rng.randrange(-1, 2 * reach + 2)
            twins.advance(watermark)
        elif choice < 0.88:
            twins.save_and_load()
        elif choice < 0.9 and watermark is not None:
            twins.output_watermark(watermark)
        elif choice < 0.91:
            twins.finish()
        elif timers:
            twins.expire(rng.choice(timers)[1], now)
        else:
            twins.next_due()
    twins.finish()
    twins.beyond()
    twins.save_and_load()


# -------------------------------------------------------------------- join

JOINS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "keys": ({"keys": (("id", "key"), ("name", "called"))}, {}),
    "no keys": ({}, {"keys": False}),
    "instant": ({"within": 0}, {"within_us": 0, "keys": False}),
    "timeout": (
        {"keys": (("id", "key"), ("name", "called")), "timeout": 4},
        {"timeout_ns": 4},
    ),
    "timeout without keys": ({"timeout": 3}, {"timeout_ns": 3, "keys": False}),
    "most": ({"most_outputs": 2}, {"most": 2, "keys": False}),
    "left partners": (
        {"partners": ("a", 2)},
        {"most": 2, "limited_side": 0, "keys": False},
    ),
    "right partners": (
        {"partners": ("b", 1), "keys": (("id", "key"), ("name", "called")), "timeout": 9},
        {"most": 1, "limited_side": 1, "timeout_ns": 9},
    ),
    "where": (
        {"where": Sql("x < y")},
        {
            "where": "left->x.known && right->y.known && left->x.value < right->y.value",
            "keys": False,
        },
    ),
}


def joins(case: str) -> tuple[Twins, str]:
    options, spec = JOINS[case]
    spec = {"within_us": 7, **spec}
    settings: dict[str, Any] = {"within": spec["within_us"] * MICROSECOND, **options}
    model = Join(name="j", inputs=(Input("a", "s"), Input("b", "t")), **settings)
    inputs = {"a": LEFT, "b": RIGHT}
    return Twins(JoinOperator(*behaving(model, inputs)), inputs, PAIRS), join_source(**spec)


@pytest.mark.parametrize("case", JOINS)
def test_joins_are_the_same(case: str) -> None:
    for seed in range(25):
        twins, source = joins(case)
        drive(twins, random.Random(seed), 150, 7)
        twins.check(built(source))


# -------------------------------------------------------------------- aggregate


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize(("window", "every"), [(10, 10), (10, 3), (12, 6)])
def test_aggregates_are_the_same(window: int, every: int, keys: bool) -> None:
    source = aggregate_source(window_us=window, every_us=every, keys=keys)
    for seed in range(25):
        twins = aggregates(window, every, keys)
        drive(twins, random.Random(seed), 150, 10)
        twins.check(built(source))


def aggregates(window: int, every: int, keys: bool) -> Twins:
    model = Aggregate(
        name="mean",
        inputs=one_input("s"),
        by=("id", "name") if keys else (),
        window=window * MICROSECOND,
        every=every * MICROSECOND,
        columns=sql_columns({"n": "count(*)", "total": "sum(v)", "start": "window_start"}),
    )
    inputs = {"input": ROWS}
    operator = AggregateOperator(*behaving(model, inputs))
    return Twins(operator, inputs, MEANS if keys else NO_KEY_MEANS)


# -------------------------------------------------------------------- distinct


@pytest.mark.parametrize("keys", [True, False])
@pytest.mark.parametrize("within", [0, 1, 7])
def test_distincts_are_the_same(within: int, keys: bool) -> None:
    source = distinct_source(within_us=within, keys=keys)
    for seed in range(25):
        twins = distincts(within, keys)
        drive(twins, random.Random(seed), 200, 10)
        twins.check(built(source))


def distincts(within: int, keys: bool) -> Twins:
    model = Distinct(
        name="first",
        inputs=one_input("s"),
        keys=("id", "name") if keys else (),
        within=within * MICROSECOND,
    )
    inputs = {"input": ROWS}
    return Twins(DistinctOperator(*behaving(model, inputs)), inputs, ROWS)


# -------------------------------------------------------------------- memory


def many(case: str) -> tuple[Twins, str, str]:
    """Twins of an operator that was driven long, and its source as it grows and as it does not."""
    rng = random.Random(5)
    if case == "join":
        twins, source = joins("right partners")
        fixed = join_source(within_us=7, most=1, limited_side=1, timeout_ns=9, capacity=200)
    elif case == "aggregate":
        twins, source = aggregates(10, 3, True), aggregate_source(window_us=10, every_us=3)
        fixed = aggregate_source(window_us=10, every_us=3, capacity=900)
    else:
        twins, source = distincts(7, True), distinct_source(within_us=7)
        fixed = distinct_source(within_us=7, capacity=900)
    drive(twins, rng, 1500, 7)
    return twins, source, fixed


@pytest.mark.parametrize("case", ["join", "aggregate", "distinct"])
def test_memory_is_used_as_it_should(case: str) -> None:
    """Under the sanitizers of the compiler, growing and in fixed memory that is large enough."""
    twins, source, fixed = many(case)
    twins.check(built(source, (*GROWS, *SANITIZED)))
    twins.check(built(fixed, SANITIZED))


EXTREMES = [-(1 << 63), -(1 << 63) + 1, -1, 0, 1, (1 << 63) - 2, (1 << 63) - 1]


def test_times_at_the_ends_of_the_scale_do_no_harm() -> None:
    for source, ports in (
        (join_source(within_us=(1 << 62), timeout_ns=5), 2),
        (join_source(within_us=7), 2),
        (aggregate_source(window_us=1 << 62, every_us=1 << 62), 1),
        (aggregate_source(window_us=1 << 20, every_us=1 << 19), 1),
        (distinct_source(within_us=(1 << 63) - 1), 1),
        (distinct_source(within_us=7), 1),
    ):
        twins = joins("keys")[0] if ports == 2 else distincts(7, True)
        rng = random.Random(3)
        for timestamp in EXTREMES:
            for port in twins.ports:
                twins.accept(port, random_row(rng, twins.inputs[port], timestamp))
            twins.output_watermark(timestamp)
        for timestamp in EXTREMES:
            twins.advance(timestamp)
        twins.finish()
        twins.save_and_load()
        twins.output = PAIRS if ports == 2 else MEANS if "Aggregate<Spec>" in source else ROWS
        answers = twins.answers(built(source, (*GROWS, *SANITIZED)))
        assert len(answers) == len(twins.expected)


@pytest.mark.parametrize("case", ["join", "aggregate", "distinct"])
def test_what_finds_no_room_is_shed_and_counted(case: str) -> None:
    """More tuples than declared: each is in the state or is shed, and nothing else happens."""
    source = {
        "join": join_source(within_us=1000, timeout_ns=50, capacity=6),
        "aggregate": aggregate_source(window_us=1000, every_us=300, capacity=6),
        "distinct": distinct_source(within_us=3, capacity=6),
    }[case]
    twins = {
        "join": lambda: joins("timeout")[0],
        "aggregate": lambda: aggregates(10, 3, True),
        "distinct": lambda: distincts(3, True),
    }[case]()
    rng = random.Random(1)
    for step in range(300):
        port = rng.choice(twins.ports)
        twins.accept(port, random_row(rng, twins.inputs[port], rng.randrange(10_000)), step)
        if step % 50 == 49:
            twins.save_and_load()
    answers = twins.answers(built(source, SANITIZED))
    shed = [answer for one in answers for answer in one if answer[0] == "d"]
    assert 100 < len(shed) < 300
    assert {answer[2] for answer in shed} == {"no room"}
    assert all(answer == ("l", True) for one in answers for answer in one if answer[0] == "l")


def test_what_is_declared_finds_room_for_ever() -> None:
    """Tuples at their rate in a buffer for just that: what is too old makes room in time."""
    source = join_source(within_us=100, capacity=11)
    options: dict[str, Any] = {"within": 100 * MICROSECOND}
    model = Join(
        name="j",
        inputs=(Input("a", "s"), Input("b", "t")),
        keys=(("id", "key"), ("name", "called")),
        **options,
    )
    inputs = {"a": LEFT, "b": RIGHT}
    twins = Twins(JoinOperator(*behaving(model, inputs)), inputs, PAIRS)
    rng = random.Random(2)
    for step in range(2000):
        for port in twins.ports:
            name = rng.choice("abcdefgh")
            twins.accept(port, (10 * step, 1.0, name, step))
        twins.advance(10 * step)
    twins.check(built(source, ()))


@pytest.mark.parametrize("case", ["join", "aggregate", "distinct"])
def test_garbage_is_no_state(case: str) -> None:
    twins, source, fixed = many(case)
    twins.answers(built(source))
    rng = random.Random(9)
    garbage = [b"", b"\x00" * 7]
    for state in twins.saved[-3:]:
        for _ in range(40):
            broken = bytearray(state)
            for _ in range(rng.randrange(1, 4)):
                broken[rng.randrange(min(len(broken), 200))] = rng.randrange(256)
            garbage.append(bytes(broken))
        garbage += [state[: rng.randrange(len(state))] for _ in range(10)]
    for state in garbage:
        twins.load(state)
        port = rng.choice(twins.ports)
        twins.accept(port, random_row(rng, twins.inputs[port], rng.randrange(100)))
        twins.advance(rng.randrange(100))
    for program in (built(source, (*GROWS, *SANITIZED)), built(fixed, SANITIZED)):
        answers = twins.answers(program)
        assert len(answers) == len(twins.expected)
