"""The engine in wall-clock time, by a clock that the tests move."""

from __future__ import annotations

import logging
import threading

import pytest
from tests.compiler.build import VALUE, one_node, source
from tests.engine.nodes.study import study_arrivals, study_plan
from tests.engine.wall.taking_time import CLOCK

from headway.compiler import compile_query
from headway.engine.clock import Behind, ManualClock, MonotonicClock, PacedClock
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.trace import EventKind
from headway.engine.wall_engine import WallEngine
from headway.errors import InputError
from headway.model.operators import Input, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost
from headway.model.query import Output, Query

MS = MILLISECOND


def slow(name: str, stream: str, takes: int) -> UserDefined:
    return UserDefined(
        name=name,
        inputs=(Input("input", stream),),
        cost=Cost(takes),
        implementation="tests.engine.wall.taking_time:Slow",
        schema=VALUE,
        parameters=(("takes", takes),),
    )


def two_trains() -> Plan:
    """A relaxed train of two slow operators, and an urgent operator."""
    query = Query(
        name="two",
        sources=(source("a"), source("b")),
        steps=(
            slow("first", "a", 10 * MS),
            slow("second", "first", 10 * MS),
            slow("urgent", "b", 2 * MS),
        ),
        outputs=(
            Output(name="relaxed", stream="second", deadline=500 * MS),
            Output(name="soon", stream="urgent", deadline=20 * MS),
        ),
    )
    return compile_query(query, one_node(query))


def at(milliseconds: int, name: str, value: float = 1.0) -> Arrival:
    return Arrival(milliseconds * MS, name, (milliseconds * MS // MICROSECOND, value))


def test_operators_take_their_time_and_urgent_jobs_go_between_them() -> None:
    engine = WallEngine(plan=two_trains(), clock=CLOCK)
    result = engine.run([at(0, "a"), at(3, "b")])
    (soon,) = result.outputs["soon"]
    (relaxed,) = result.outputs["relaxed"]
    # b comes while "first" runs (0 to 10): it goes before "second", never inside "first".
    assert soon.completed == 12 * MS
    assert relaxed.completed == 22 * MS
    assert result.summary().preemptions == 1
    kinds = [event[0] for event in result.trace.events]
    assert kinds.index(EventKind.PREEMPT) < kinds.index(EventKind.RESUME)
    runs = [(e[5], e[1] // MS, e[2] // MS) for e in result.trace.events if e[0] == EventKind.RUN]
    assert [(start, end) for _, start, end in runs] == [(0, 10), (10, 12), (12, 22)]


def test_a_policy_without_preemption_finishes_what_it_began() -> None:
    result = WallEngine(plan=two_trains(), clock=CLOCK, policy="fifo+").run(
        [at(0, "a"), at(3, "b")]
    )
    (soon,) = result.outputs["soon"]
    assert soon.completed == 22 * MS
    assert result.summary().preemptions == 0


def test_it_says_loudly_that_it_cannot_keep_up(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Behind] = []
    engine = WallEngine(
        plan=two_trains(), clock=CLOCK, tolerance=5 * MS, backlog=3, on_behind=told.append
    )
    with caplog.at_level(logging.WARNING, "headway.engine"):
        result = engine.run([at(n, "a") for n in range(10)])
    assert not engine.keeping_up.kept_up
    assert engine.keeping_up.late_arrivals > 0
    assert engine.keeping_up.worst_backlog > 3
    assert [behind for behind in told if behind.source == "a" and behind.lag > 5 * MS]
    assert [behind for behind in told if behind.source == ""]
    assert "cannot keep up" in caplog.text
    events = [event for event in result.trace.events if event[0] == EventKind.BEHIND]
    assert len(events) == engine.keeping_up.warnings == len(told)
    assert len(result.outputs["relaxed"]) == 10, "late is late, but nothing is lost"


def test_it_is_silent_when_it_keeps_up() -> None:
    engine = WallEngine(plan=two_trains(), clock=CLOCK)
    engine.run([at(30 * n, "a") for n in range(5)])
    assert engine.keeping_up.kept_up
    assert engine.keeping_up.worst_lag == 0


def test_the_same_outputs_as_the_meaning_of_the_query() -> None:
    plan, arrivals = study_plan(), study_arrivals(200)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    result = WallEngine(plan=plan, clock=ManualClock()).run(arrivals)
    for name, record in meant.outputs.items():
        assert len(record), name
        assert sorted(result.outputs[name].rows) == sorted(record.rows)
    assert result.summary().late == meant.summary().late


def test_replay_at_another_speed_takes_that_much_of_the_clock() -> None:
    clock = ManualClock()
    WallEngine(plan=study_plan(), clock=clock, speed=4.0).run(study_arrivals(101))
    assert 1.0 * SECOND / 4 <= clock.now() <= 1.3 * SECOND / 4


def test_live_tuples_are_fed_from_another_thread_until_closed() -> None:
    engine = WallEngine(plan=two_trains(), clock=ManualClock(), live=frozenset({"a", "b"}))

    def feed() -> None:
        for n in range(20):
            engine.feed("a", (n, float(n)))
        for n in range(10):
            engine.feed("b", (n, float(n)))
        engine.close()

    feeding = threading.Thread(target=feed)
    feeding.start()
    result = engine.run()
    feeding.join()
    assert [row[1] for row in result.outputs["relaxed"].rows] == [float(n) for n in range(20)]
    assert len(result.outputs["soon"]) == 10
    assert result.summary().arrived == 30


def test_what_is_not_live_cannot_be_fed() -> None:
    with pytest.raises(InputError, match="no such source"):
        WallEngine(plan=two_trains(), live=frozenset({"c"}))
    with pytest.raises(InputError, match="'a' is not a live source"):
        WallEngine(plan=two_trains()).feed("a", (0, 1.0))


def test_the_real_clock_runs_the_same_way() -> None:
    plan, arrivals = study_plan(), study_arrivals(30)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    result = WallEngine(plan=plan, speed=3.0).run(arrivals)
    assert sorted(result.outputs["pairs"].rows) == sorted(meant.outputs["pairs"].rows)


def test_pace_goes_both_ways() -> None:
    pace = PacedClock(MonotonicClock(), 1000, 50, 2.0)
    assert pace.clock_time(1000) in (50, 51)
    assert pace.clock_time(1200) in (150, 151)
    assert pace.clock_duration(200) == 100
