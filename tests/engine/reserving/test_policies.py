"""The policies for overload in the vehicle engine, and what operator boundaries make of them."""

from __future__ import annotations

import pytest
from tests.engine.kernels import kernel_of
from tests.engine.reserving.small import (
    CROSSING,
    MS,
    TWO_STEPS,
    crossing,
    instants,
    misses,
    plan_of,
    run,
    runs,
)

from headway.engine.engine import Engine
from headway.engine.operator_counts import operator_counts
from headway.engine.reservations import FULL_UP, Reservations
from headway.engine.trace import EventKind
from headway.errors import InputError
from headway.schedule.online import ENGINE_POLICIES, OVERLOAD_POLICIES

SAFE = ("rop-edf-1", "rop-edf-2", "cbs")


def test_the_engine_runs_all_but_the_printed_versions() -> None:
    missing = [name for name in OVERLOAD_POLICIES if name not in ENGINE_POLICIES]
    assert missing == ["rop-edf-1-paper", "rop-edf-2-paper"]
    with pytest.raises(InputError, match="the engine does not run 'rop-edf-1-paper'; it is for"):
        Engine(plan=plan_of(CROSSING), policy="rop-edf-1-paper")


@pytest.mark.parametrize("policy", SAFE)
@pytest.mark.parametrize("every", [2, 1, 0.5])
def test_hard_outputs_never_miss(policy: str, every: float) -> None:
    result = run(plan_of(CROSSING), policy, crossing(every))
    outputs = {one.output: one for one in result.summary().outputs}
    assert (outputs["brake"].tuples, outputs["brake"].misses) == (50, 0)
    if policy == "rop-edf-1":
        assert outputs["show"].misses == 0  # what is admitted is in time


@pytest.mark.parametrize("policy", ["s-edf", "op-edf"])
def test_without_reservations_they_do(policy: str) -> None:
    assert misses(run(plan_of(CROSSING), policy, crossing(0.5)))["brake"] > 40


def test_er_edf_rejects_hard_tuples_and_lists_them() -> None:
    result = run(plan_of(CROSSING), "er-edf", crossing(0.5))
    reasons = [one.reason for _, one in result.side.dropped if one.where == "distance"]
    outputs = {one.output: one.tuples for one in result.summary().outputs}
    assert set(reasons) == {f"{FULL_UP} for a hard output"}
    assert outputs["brake"] + len(reasons) == 50
    assert result.summary().refused == len(reasons)


def test_rate_monotonic_goes_by_the_period_of_the_source() -> None:
    """Of two trains the one with the longer deadline has the shorter period."""
    text = TWO_STEPS.replace("v2v: {schema: A, rate: 1 per 20", "v2v: {schema: A, rate: 1 per 1000")
    ran = runs(run(plan_of(text), "rate-monotonic", [(0, "radar"), (0, "v2v")]))
    assert [name for name, _, _ in ran] == ["distance", "first", "second"]
    ran = runs(run(plan_of(text), "op-edf", [(0, "radar"), (0, "v2v")]))
    assert [name for name, _, _ in ran] == ["first", "second", "distance"]


def test_a_budget_is_looked_at_before_every_operator() -> None:
    """The soft path asks for 8 of 15 ms; operators of 4 ms leave it 30 % of the ECU, so its budget
    is 4.5 ms. It holds `first`. With 0.5 ms left `second` is not begun while `distance` waits, and
    runs in spare time after it."""
    result = run(plan_of(TWO_STEPS), "rop-edf-2", [(0, "radar"), (0, "v2v")])
    assert runs(result) == [("first", 0, 4), ("distance", 4, 14), ("second", 14, 18)]
    assert instants(result, EventKind.OVERRUN) == [4]
    assert instants(result, EventKind.REPLENISH) == [14]
    assert misses(result) == {"brake": 0, "show": 1}


def test_alone_a_job_goes_on_beyond_its_budget() -> None:
    result = run(plan_of(TWO_STEPS), "rop-edf-2", [(0, "v2v")])
    assert runs(result) == [("first", 0, 4), ("second", 4, 8)]
    assert instants(result, EventKind.OVERRUN) == []


def test_a_hard_job_waits_for_the_operator_that_an_overrun_one_has_begun() -> None:
    """Operators are not interrupted; the room for soft jobs is less by what that costs."""
    text = TWO_STEPS.replace("from: first, cost: 4 ms", "from: first, cost: 8 ms")
    text = text.replace("v2v: {schema: A, rate: 1 per 20", "v2v: {schema: A, rate: 1 per 40")
    result = run(plan_of(text), "rop-edf-2", [(0, "radar"), (0, "v2v"), (20, "radar")])
    assert runs(result)[-2:] == [("second", 14, 22), ("distance", 22, 32)]
    assert misses(result)["brake"] == 0


def test_policy_1_admits_in_full_or_not_at_all() -> None:
    """8 ms of 15 are more than the 30 % there is room for."""
    result = run(plan_of(TWO_STEPS), "rop-edf-1", [(0, "radar"), (0, "v2v")])
    assert runs(result) == [("distance", 0, 10)]
    assert [(one.where, one.reason) for _, one in result.side.dropped] == [("first", FULL_UP)]


def test_a_server_of_cbs_moves_its_deadline_on() -> None:
    """Its budget is 30 % of 20 ms. `first` leaves 2 ms of it, `second` needs 4: the server's
    deadline goes from 20 to 40 ms, behind that of the radar's next tuple."""
    arrivals = [(0, "v2v"), (1, "radar"), (21, "radar")]
    result = run(plan_of(TWO_STEPS), "cbs", arrivals)
    assert runs(result)[:2] == [("first", 0, 4), ("distance", 4, 14)]
    assert misses(result)["brake"] == 0


@pytest.mark.parametrize("policy", ["er-edf", *SAFE])
def test_every_reservation_is_returned(policy: str) -> None:
    result = run(plan_of(CROSSING), policy, crossing(0.5))
    reservations = kernel_of(result).gatekeeper
    assert isinstance(reservations, Reservations)
    (ledger,) = reservations.books.ledgers.values()
    assert not reservations.admitted
    assert not reservations.held_back
    ledger.returns_until(10_000 * MS)
    fresh = OVERLOAD_POLICIES[policy]().open_for_tuples(ledger.tasks, ledger.overhead)
    for name in ("capacity", "soft_left", "unused"):
        assert getattr(ledger, name, None) == getattr(fresh, name, None)


@pytest.mark.parametrize("policy", ["er-edf", *SAFE])
def test_no_tuple_is_lost_silently(policy: str) -> None:
    result = run(plan_of(CROSSING), policy, crossing(0.5, radar_every=10))
    counts = {one.operator: one for one in operator_counts(result)}
    radar, distance, others = counts["radar"], counts["distance"], counts["others"]
    assert (radar.consumed, radar.rejected) == (100, 50)
    assert radar.produced == distance.consumed == distance.produced + distance.shed
    assert counts["v2v"].produced == others.consumed == others.produced + others.shed
    assert (distance.filtered, others.filtered) == (0, 0)
    assert (others.shed > 0) == (policy != "cbs")


@pytest.mark.parametrize("policy", ["er-edf", *SAFE])
def test_the_same_run_twice_is_the_same(policy: str) -> None:
    first, second = (run(plan_of(CROSSING), policy, crossing(0.7)) for _ in range(2))
    assert first.trace.events == second.trace.events
