"""The paper's experiments at small size: what they claim, and that one trial needs nothing else."""

from __future__ import annotations

import math
from fractions import Fraction

from headway.experiments import (
    hvlb_alpha,
    hvlb_failures,
    hvlb_lengths,
    hvlb_order,
    hvlb_precision,
)


def test_load_balance_never_hurts() -> None:
    """HVLB_CC (A) at α = 0 is HSV_CC, so its best is at least as short on every graph."""
    rows = hvlb_lengths.run(hvlb_lengths.grid_1(graphs=2, tasks=(10, 20)))
    assert len(rows) == 6 * 2 * 2 * 4
    assert not any(row.failed for row in rows)
    by_trial = {(row.rates, row.tasks, row.number, row.algorithm): row for row in rows}
    for (rates, tasks, number, algorithm), row in by_trial.items():
        if algorithm == "hvlb-cc-a":
            plain = by_trial[rates, tasks, number, "hsv-cc"]
            assert row.slr <= plain.slr
            assert row.speedup >= plain.speedup


def test_summaries() -> None:
    rows = hvlb_lengths.run(hvlb_lengths.grid_3(graphs=2, tasks=10)[:4])
    found = hvlb_lengths.analyse(rows, "slr")
    assert {(summary.ccr, summary.algorithm) for summary in found} == {
        (ccr, name) for ccr in (0.1, 0.5) for name in hvlb_lengths.COMPARED
    }
    assert all(summary.lowest <= summary.mean <= summary.highest for summary in found)


def test_a_failure_has_no_numbers() -> None:
    trials = [
        hvlb_lengths.Trial(tasks=30, ccr=1, rates=(0.67, 0.83, 1.0), number=n, falling=False)
        for n in range(3)
    ]
    rows = [row for row in hvlb_lengths.run(trials) if row.algorithm == "hsv-cc"]
    assert any(row.failed for row in rows)
    assert all(math.isnan(row.slr) == row.failed for row in rows)


def test_failure_rates_of_the_shallow_family_are_the_published_ones() -> None:
    rows = hvlb_failures.run(hvlb_failures.grid(150))
    rates = {one.family: one for one in hvlb_failures.analyse(rows) if one.group == "all"}
    shallow, deep = rates["shallow"], rates["tgff"]
    published = hvlb_failures.PUBLISHED
    assert abs(shallow.hsv_cc - published["hsv-cc"]) < 0.12
    assert abs(shallow.b_depth - published["b-depth"]) < 0.12
    assert shallow.b_depth2 < 0.02
    assert deep.hsv_cc > deep.b_depth > deep.b_depth2 > 0.2


def test_holes_and_precision_are_the_published_ones() -> None:
    rows = hvlb_precision.run(hvlb_precision.grid(algorithms=("hvlb-cc-b",)))
    assert {(row.task, row.hole) for row in rows} == {("n2", 9.0), ("n5", 5.0)}
    assert hvlb_precision.analyse(rows) == {("hvlb-cc-b", "n2"): 1.5, ("hvlb-cc-b", "n5"): 1.4}
    plain = {row.arrival_rate: row.plain for row in rows if row.task == "n2"}
    assert plain[2.0] == 0.5
    assert hvlb_precision.RATES[-1] == Fraction(2)


def test_exact_alpha_is_never_worse_than_the_grid() -> None:
    found = hvlb_alpha.analyse(hvlb_alpha.run(hvlb_alpha.grid(3)))
    assert (found.graphs, found.worse) == (3, 0)
    assert found.speed_ratio > 5


def test_the_queue_that_cannot_fail_is_b_where_b_works() -> None:
    found = hvlb_order.analyse(hvlb_order.run(hvlb_order.grid(20)))
    assert found.b_differs == 0
    assert found.b_failed > 0
