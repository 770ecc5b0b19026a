"""Task set files: what they mean, and what is refused with its line and the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from headway.errors import InputError, TaskSetError
from headway.files.taskset_file import load_task_set, parse_task_set
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, Constant, Distribution, Range, Recorded, check_hard_load
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.overload.one_processor import simulate

EXAMPLES = Path(__file__).parents[3] / "examples" / "overload"


def test_every_way_to_write_a_utilisation() -> None:
    text = """taskset: ways
overhead: 1 %
tasks:
  a: {kind: hard, period: 10 ms, utilisation: 0.25}
  b: {kind: soft, gap: 20 ms, mean_gap: 30 ms, deadline: 15 ms, utilisation: [10 %, 0.3]}
  c: {kind: soft, period: 5 ms, utilisation: {low: 1 %, high: 9 %, distribution: uniform}}
"""
    task_set = parse_task_set(text).task_set
    a, b, c = task_set.tasks
    assert task_set.overhead == FULL // 100
    assert a.utilisation == Constant(250_000)
    assert b.utilisation == Recorded((100_000, 300_000))
    assert (b.sporadic, b.period, b.mean_gap) == (True, 20 * MILLISECOND, 30 * MILLISECOND)
    assert c.utilisation == Range(10_000, 90_000, 50_000, Distribution.UNIFORM)
    assert b.utilisation.draw(3, np.random.default_rng(0)) == [100_000, 300_000, 100_000]


BAD = {
    "a: {kind: hard, period: -5 ms, utilisation: 0.1}": "the time is negative",
    "a: {kind: soft, period: 0 ms, utilisation: 0.1}": "the time is not above 0",
    "a: {kind: hard, period: 5 ms, utilisation: 1.2}": "the utilisation is above 1",
    "a: {kind: hard, period: 5 ms, utilisation: [0.2, 1.2]}": "the utilisation is above 1",
    "a: {kind: hard, period: 5 ms, deadline: 6 ms, utilisation: 0.1}": "past the period",
    "a: {kind: hard, gap: 5 ms, deadline: 6 ms, utilisation: 0.1}": "past the gap",
    "a: {kind: soft, utilisation: 0.1}": "either a period or a gap",
    "a: {kind: soft, period: 1 ms, gap: 1 ms, utilisation: 0.1}": "either a period or a gap",
    "a: {kind: soft, period: 1 ms, utilisation: []}": "the list is empty",
    "a: {kind: soft, period: 1 ms, utilisation: -1}": "the utilisation is out of range",
    "a: {kind: soft, period: 1 ms, utilisation: 0}": "not above 0",
    "a: {kind: soft, period: 1 ms, utilisation: {low: 0.2, high: 0.1}}": "outside its range",
    "a: {kind: soft, period: 1 ms, utilisation: 0.12345678}": "too fine",
    "a: {kind: soft, gap: 2 ms, mean_gap: 1 ms, utilisation: 0.1}": "the mean gap is below the gap",
    "a: {kind: firm, period: 1 ms, utilisation: 0.1}": "not one of the choices",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_tasks_are_refused_with_line_and_reason(line: str) -> None:
    with pytest.raises(InputError, match=BAD[line]) as caught:
        parse_task_set(f"taskset: bad\ntasks:\n  {line}\n", "bad.yaml")
    assert "bad.yaml:3:" in str(caught.value)


def test_an_empty_set_is_refused() -> None:
    with pytest.raises(InputError, match=r"bad\.yaml:2:1: tasks: there is no task"):
        parse_task_set("taskset: bad\ntasks: {}\n", "bad.yaml")


HEAVY = """taskset: heavy
overhead: 10 %
tasks:
  a: {kind: hard, period: 10 ms, utilisation: 0.35}
  b: {kind: hard, period: 10 ms, utilisation: 0.6}
"""


def test_hard_load_above_capacity_is_refused_at_admission_and_named() -> None:
    loaded = parse_task_set(HEAVY, "heavy.yaml")
    with pytest.raises(TaskSetError) as caught, loaded.placed():
        check_hard_load(loaded.task_set)
    text = str(caught.value)
    assert text.startswith("heavy.yaml:5:")
    assert "the hard tasks need 95 % of a processor that has 90 %" in text
    assert "a 35 %, b 60 %" in text


@pytest.mark.parametrize("name", [n for n, p in OVERLOAD_POLICIES.items() if p.guarded])
def test_no_policy_that_reserves_runs_into_it(name: str) -> None:
    with pytest.raises(TaskSetError, match="the hard tasks need 95 %"):
        simulate(parse_task_set(HEAVY).task_set, [], overload_policy_named(name), MILLISECOND)


def test_the_load_is_scaled_by_the_soft_tasks_alone() -> None:
    task_set = load_task_set(EXAMPLES / "crossing.yaml").task_set
    double = task_set.at_load(2 * FULL)
    assert double.requested == pytest.approx(2 * FULL, abs=len(task_set.tasks))
    assert double.hard_capacity == task_set.hard_capacity == 410_000
    with pytest.raises(TaskSetError, match="the load cannot be 30 %"):
        task_set.at_load(300_000)
