"""The paper's experiments at small size: what they claim, and that one trial needs nothing else."""

from __future__ import annotations

import pytest

from headway_studies.beyond import exact_alpha, never_failing
from headway_studies.hvlb_cc import communication, data_precision, queue_failures
from headway_studies.hvlb_cc.schedule_trials import (
    COMPARED,
    ScheduleTrial,
    grid_1,
    grid_3,
    run_trial,
)
from headway_studies.row_reading import flag, number, text, values, where
from headway_studies.study import Row

MEASURES = ("makespan", "slr", "speedup", "load_balance")


def rows_of(trials: list[ScheduleTrial]) -> list[Row]:
    return [row for trial in trials for row in run_trial(trial)]


def test_load_balance_never_hurts() -> None:
    """HVLB_CC (A) at α = 0 is HSV_CC, so its best is at least as short on every graph."""
    rows = rows_of(grid_1(graphs=2, tasks=(10, 20)))
    assert len(rows) == 6 * 2 * 2 * len(COMPARED)
    assert not any(row["failed"] for row in rows)
    by_trial = {
        (row["rates"], row["tasks"], row["number"], text(row, "algorithm")): row for row in rows
    }
    for (rates, tasks, place, algorithm), row in by_trial.items():
        if algorithm == "hvlb-cc-a":
            plain = by_trial[rates, tasks, place, "hsv-cc"]
            assert number(row, "slr") <= number(plain, "slr")
            assert number(row, "speedup") >= number(plain, "speedup")


def test_no_schedule_is_shorter_than_possible() -> None:
    rows = rows_of(grid_3(graphs=3)) + rows_of(grid_3(graphs=3, most_depth=4))
    assert all(number(row, "slr") >= number(row, "least_slr") >= 1 for row in rows)
    assert any(number(row, "least_slr") > 1 for row in rows)


def test_gains_over_hundreds_of_graphs() -> None:
    """By hand: two hundreds; the worst of one algorithm is not on the graph of the other's."""
    lengths = {"hsv-cc": [2.0] * 99 + [4.0], "hvlb-cc-a": [3.0] + [1.0] * 99}
    rows: list[Row] = [
        {"algorithm": name, "ccr": 1.0, "slr": slr * part, "least_slr": 1.0, "failed": False}
        for part in (1, 1.5)
        for name in COMPARED
        for slr in lengths.get(name, [2.0] * 100)
    ]
    gains = communication.gains_of(rows, (1.0,))
    assert gains.hundreds("hvlb-cc-a", 1.0) == [0.25, 0.25]
    assert gains.hundreds(communication.LEAST, 1.0) == [0.75, 1 - 1 / 6]
    assert gains.mean("hvlb-cc-a", 1.0) == pytest.approx(1 - 1.02 / 2.02)


def test_a_failure_has_no_numbers() -> None:
    trials = [
        ScheduleTrial(tasks=30, ccr=1, rates=(0.67, 0.83, 1.0), number=n, falling=False)
        for n in range(3)
    ]
    rows = where(rows_of(trials), algorithm="hsv-cc")
    assert any(flag(row, "failed") for row in rows)
    for row in rows:
        assert all((row[measure] is None) == row["failed"] for measure in MEASURES)


def test_failure_rates_of_the_shallow_family_are_the_published_ones() -> None:
    def rates(family: str) -> dict[str, float]:
        rows = [queue_failures.run_trial(family, place) for place in range(150)]
        return {
            queue: sum(flag(row, queue) for row in rows) / len(rows)
            for queue in queue_failures.QUEUES
        }

    shallow, deep, published = rates("shallow"), rates("tgff"), queue_failures.PUBLISHED
    assert abs(shallow["hsv_cc"] - published["hsv_cc"]) < 0.12
    assert abs(shallow["b_depth"] - published["b_depth"]) < 0.12
    assert shallow["b_depth2"] < 0.02
    assert deep["hsv_cc"] > deep["b_depth"] > deep["b_depth2"] > 0.2


def test_holes_and_precision_are_the_published_ones() -> None:
    rows = data_precision.precision_rows("hvlb-cc-b")
    assert {(row["task"], row["hole"]) for row in rows} == {("n2", 9.0), ("n5", 5.0)}
    full = [row for row in rows if number(row, "precise") >= 1]
    assert max(values(where(full, task="n2"), "arrival_rate")) == 1.5
    assert max(values(where(full, task="n5"), "arrival_rate")) == 1.4
    (last,) = where(rows, task="n2", arrival_rate=2.0)
    assert last["plain"] == 0.5


def test_exact_alpha_is_never_worse_than_the_grid() -> None:
    rows = [exact_alpha.run_trial(trial) for trial in exact_alpha.grid(3)]
    assert len(rows) == 3
    assert all(number(row, "exact") <= number(row, "grid") for row in rows)


def test_the_queue_that_cannot_fail_is_b_where_b_works() -> None:
    trials = exact_alpha.grid(20, never_failing.SEED)
    rows = [never_failing.run_trial(trial) for trial in trials]
    assert all(row["b"] in (None, row["c"]) for row in rows)
    assert any(row["b"] is None for row in rows)
    assert all(number(row, "c") > 0 for row in rows)
