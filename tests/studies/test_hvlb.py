"""The paper's experiments at small size: what they claim, and that one trial needs nothing else."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from headway_studies.beyond import exact_alpha, never_failing
from headway_studies.hvlb_cc import communication, data_precision, queue_failures, schedule_trials
from headway_studies.study import Row


def test_load_balance_never_hurts() -> None:
    """HVLB_CC (A) at α = 0 is HSV_CC, so its best is at least as short on every graph."""
    rows = schedule_trials.run(schedule_trials.grid_1(graphs=2, tasks=(10, 20)))
    assert len(rows) == 6 * 2 * 2 * 4
    assert not any(row.failed for row in rows)
    by_trial = {(row.rates, row.tasks, row.number, row.algorithm): row for row in rows}
    for (rates, tasks, number, algorithm), row in by_trial.items():
        if algorithm == "hvlb-cc-a":
            plain = by_trial[rates, tasks, number, "hsv-cc"]
            assert row.slr <= plain.slr
            assert row.speedup >= plain.speedup


def test_summaries() -> None:
    rows = schedule_trials.run(schedule_trials.grid_3(graphs=2, tasks=10)[:4])
    found = schedule_trials.analyse(rows, "slr")
    assert {(summary.ccr, summary.algorithm) for summary in found} == {
        (ccr, name) for ccr in (0.1, 0.5) for name in schedule_trials.COMPARED
    }
    assert all(summary.lowest <= summary.mean <= summary.highest for summary in found)


def test_no_schedule_is_shorter_than_possible() -> None:
    rows = schedule_trials.run(schedule_trials.grid_3(graphs=3))
    rows += schedule_trials.run(schedule_trials.grid_3(graphs=3, most_depth=4))
    assert all(row.slr >= row.least_slr >= 1 for row in rows)
    assert any(row.least_slr > 1 for row in rows)


def test_gains_over_hundreds_of_graphs() -> None:
    """By hand: two hundreds; the worst of one algorithm is not on the graph of the other's."""
    lengths = {"hsv-cc": [2.0] * 99 + [4.0], "hvlb-cc-a": [3.0] + [1.0] * 99}
    rows: list[Row] = [
        {"algorithm": name, "ccr": 1.0, "slr": slr * part, "least_slr": 1.0, "failed": False}
        for part in (1, 1.5)
        for name in schedule_trials.COMPARED
        for slr in lengths.get(name, [2.0] * 100)
    ]
    gains = communication.gains_of(rows, (1.0,))
    assert gains.hundreds("hvlb-cc-a", 1.0) == [0.25, 0.25]
    assert gains.hundreds(communication.LEAST, 1.0) == [0.75, 1 - 1 / 6]
    assert gains.mean("hvlb-cc-a", 1.0) == pytest.approx(1 - 1.02 / 2.02)


def test_a_failure_has_no_numbers() -> None:
    trials = [
        schedule_trials.ScheduleTrial(
            tasks=30, ccr=1, rates=(0.67, 0.83, 1.0), number=n, falling=False
        )
        for n in range(3)
    ]
    rows = [row for row in schedule_trials.run(trials) if row.algorithm == "hsv-cc"]
    assert any(row.failed for row in rows)
    assert all(math.isnan(row.slr) == row.failed for row in rows)


def test_failure_rates_of_the_shallow_family_are_the_published_ones() -> None:
    rows = queue_failures.run(queue_failures.grid(150))
    rates = {one.family: one for one in queue_failures.analyse(rows) if one.group == "all"}
    shallow, deep = rates["shallow"], rates["tgff"]
    published = queue_failures.PUBLISHED_RATES
    assert abs(shallow.hsv_cc - published["hsv-cc"]) < 0.12
    assert abs(shallow.b_depth - published["b-depth"]) < 0.12
    assert shallow.b_depth2 < 0.02
    assert deep.hsv_cc > deep.b_depth > deep.b_depth2 > 0.2


def test_holes_and_precision_are_the_published_ones() -> None:
    rows = data_precision.run(data_precision.grid(algorithms=("hvlb-cc-b",)))
    assert {(row.task, row.hole) for row in rows} == {("n2", 9.0), ("n5", 5.0)}
    assert data_precision.analyse(rows) == {("hvlb-cc-b", "n2"): 1.5, ("hvlb-cc-b", "n5"): 1.4}
    plain = {row.arrival_rate: row.plain for row in rows if row.task == "n2"}
    assert plain[2.0] == 0.5
    assert data_precision.RATES[-1] == Fraction(2)


def test_exact_alpha_is_never_worse_than_the_grid() -> None:
    moments = iter((0.0, 1.0, 1.0, 7.0) * 3)  # the walk takes 1 s, the sweep 6 s
    rows = [exact_alpha.run_trial(trial, lambda: next(moments)) for trial in exact_alpha.grid(3)]
    found = exact_alpha.analyse(rows)
    assert (found.graphs, found.worse) == (3, 0)
    assert (found.speed_ratio, found.least_speed_ratio) == (6, 6)


def test_the_queue_that_cannot_fail_is_b_where_b_works() -> None:
    found = never_failing.analyse(never_failing.run(never_failing.grid(20)))
    assert found.b_differs == 0
    assert found.b_failed > 0
