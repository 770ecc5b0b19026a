"""The basic study over the cost of a decision: what is said of rows, and that it can fail."""

from __future__ import annotations

from functools import cache

import pytest

from headway_studies.provenance import Origin
from headway_studies.row_reading import number
from headway_studies.s_edf import basic_costs, sedf_basic
from headway_studies.s_edf.basic_costs import COSTS, DERIVED, MOST, PRINTED_COST, PUBLISHED_DELAY
from headway_studies.study import NO_REASON, Claim, Row, Verdict
from headway_studies.study_charts import HeatMap

AS_PRINTED, DELAY, PREEMPTIONS, RANGE = range(4)
"""places of the claims"""


@cache
def rows() -> tuple[Row, ...]:
    return tuple(row for cell in basic_costs.cells(True) for row in basic_costs.run(cell))


def claims(*, delay: float = 0.0, preemptions: int = 0) -> tuple[Claim, ...]:
    """With another delay, and preemptions, of 28 tuples on input2 at the derived cost."""
    chosen = {"policy": "s-edf", "input": "input2", "tuples": MOST, "decision_us": DERIVED}
    changed = [
        {**row, "delay_ms": number(row, "delay_ms") + delay, "preemptions": preemptions}
        if all(row[key] == value for key, value in chosen.items())
        else row
        for row in rows()
    ]
    return basic_costs.analyse(changed).claims


def test_both_printed_numbers_are_among_the_costs() -> None:
    assert {PRINTED_COST, DERIVED} <= set(COSTS)
    assert PRINTED_COST == 2.6
    assert list(COSTS) == sorted(COSTS)


def test_the_derived_cost_is_the_one_that_gives_the_printed_delay() -> None:
    """And no other of the grid: the delay rises by 0.05 ms with each microsecond."""
    found = claims()[DELAY]
    assert (found.verdict, found.came.origin) == (Verdict.SAME, Origin.FITTED)
    assert claims(delay=0.2)[DELAY].verdict is Verdict.DIFFERS
    delays = {
        cost: number(basic_costs._most_tuples(rows(), cost), "delay_ms")
        for cost in (PRINTED_COST, DERIVED)
    }
    slope = (delays[DERIVED] - delays[PRINTED_COST]) / (DERIVED - PRINTED_COST)
    assert slope == pytest.approx(0.04975, abs=1e-4)
    assert abs(delays[DERIVED] - PUBLISHED_DELAY) < slope


def test_with_the_printed_cost_of_a_preemption_three_statements_fail() -> None:
    found = claims()[AS_PRINTED]
    assert found.verdict is Verdict.DIFFERS
    assert found.ours.startswith("6 of 9 with 2.6 µs a decision; not: figure 10")
    assert found.why != NO_REASON


def test_preemptions_are_counted() -> None:
    assert claims()[PREEMPTIONS].why == basic_costs.NO_PREEMPTION
    assert claims(preemptions=3)[PREEMPTIONS].verdict is Verdict.SAME


def test_all_nine_hold_at_the_derived_cost() -> None:
    """None of them was looked at when it was chosen."""
    found = sedf_basic.statements([row for row in rows() if row["decision_us"] == DERIVED])
    assert [one.by > 0 for one in found] == [True] * 9
    assert sedf_basic.FROM_DELAY.origin is Origin.ASSUMED
    assert claims()[RANGE].ours.startswith("at 65 µs, of 2 ")


def test_the_heat_map_marks_the_printed_cost() -> None:
    (heat, _) = basic_costs.analyse(list(rows())).pictures
    assert isinstance(heat, HeatMap)
    assert heat.marked == ("2.6", "65")
    assert [len(line) for line in heat.values] == [2] * 9
    assert sum(line[0] > 0 for line in heat.values) == 6
