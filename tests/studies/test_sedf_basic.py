"""The basic study (S-EDF section 6.1): the orders and orderings the paper states."""

from __future__ import annotations

from functools import cache
from statistics import fmean

import pytest
from tests.engine.support import run, slots_of

from headway_studies.row_reading import number, values, where
from headway_studies.s_edf.sedf_basic import (
    MARGIN,
    OPERATOR_COST,
    POLICIES,
    TUPLES,
    BasicTrial,
    arrivals,
    grid,
    prepare,
    run_trial,
    statements,
)
from headway_studies.study import Row


@cache
def rows() -> tuple[Row, ...]:
    return tuple(run_trial(trial) for trial in grid())


def ratio(policy: str, given: str, tuples: int, *, batches: bool) -> float:
    (row,) = where(rows(), policy=policy, input=given, tuples=tuples, batches=batches)
    return number(row, "miss_ratio")


def means(given: str, *, batches: bool) -> dict[str, float]:
    """Policy -> miss ratio, the mean over N."""
    chosen = where(rows(), input=given, batches=batches)
    return {
        policy: fmean(values(where(chosen, policy=policy), "miss_ratio")) for policy in POLICIES
    }


@pytest.mark.parametrize(
    ("policy", "order"),
    [("pcs", "o1 o2 o5 o3 o6 o4"), ("fifo+", "o1 o2 o3 o4 o5 o6"), ("mc+", "o1 o2 o3 o4 o5 o6")],
)
def test_static_order(policy: str, order: str) -> None:
    result = run(prepare(), arrivals(BasicTrial(policy=policy, input="input2", tuples=1)), policy)
    assert [slot.operator for slot in slots_of(result)] == order.split()


def test_trains_of_the_query() -> None:
    assert [task.operators for task in prepare().tasks] == [
        ("o1",),
        ("o2", "o3", "o4"),
        ("o5", "o6"),
    ]


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("given", ["input1", "input2"])
def test_trains_beat_primitive(given: str, batches: bool) -> None:
    """Figures 9 and 10: by what scheduling costs. Batches leave less to gain (figure 9): half the
    decisions are saved still, but hardly any deadline."""
    mean = means(given, batches=batches)
    if batches and given == "input1":
        assert mean["s-edf"] <= mean["s-edf-primitive"]
    else:
        assert mean["s-edf"] < mean["s-edf-primitive"]
    for policy, others in (("s-edf", 3), ("s-edf-primitive", 6)):
        for row in where(rows(), input=given, batches=batches, policy=policy):
            tuples = number(row, "tuples")
            jobs = tuples if given == "input2" else 2 if batches else 2 * tuples
            assert row["decisions"] == others * jobs + number(row, "preemptions")
    gain_alone = gain(means("input1", batches=False))
    gain_batched = gain(means("input1", batches=True))
    assert gain_batched < gain_alone


def gain(mean: dict[str, float]) -> float:
    return mean["s-edf-primitive"] - mean["s-edf"]


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("given", ["input1", "input2"])
@pytest.mark.parametrize("other", ["fifo+", "mc+", "pcs"])
def test_s_edf_beats_the_others(given: str, other: str, batches: bool) -> None:
    """In the mean, and for every N nobody is better (figures 11 and 12)."""
    mean = means(given, batches=batches)
    assert mean["s-edf"] < mean[other]
    for tuples in TUPLES[given]:
        assert ratio("s-edf", given, tuples, batches=batches) <= ratio(
            other, given, tuples, batches=batches
        )


@pytest.mark.parametrize("batches", [False, True])
@pytest.mark.parametrize("given", ["input1", "input2"])
def test_fifo_beats_pcs(given: str, batches: bool) -> None:
    """Single tuples of input1 tie: at the paper's figure they come in batches."""
    mean = means(given, batches=batches)
    if given == "input1" and not batches:
        assert mean["fifo+"] == mean["pcs"]
    else:
        assert mean["fifo+"] < mean["pcs"]
    for tuples in TUPLES[given]:
        assert ratio("fifo+", given, tuples, batches=batches) <= ratio(
            "pcs", given, tuples, batches=batches
        )


def test_mc_is_like_fifo_on_input_1() -> None:
    """With batches the same up to four tuples. Over all N it is within 0.1: with many it loses the
    first batch too, because o1 of the second goes before it."""
    for tuples in range(1, 5):
        assert ratio("mc+", "input1", tuples, batches=True) == ratio(
            "fifo+", "input1", tuples, batches=True
        )
    for batches in (False, True):
        mean = means("input1", batches=batches)
        assert abs(mean["mc+"] - mean["fifo+"]) < 0.1


def test_mc_is_worse_than_fifo_on_input_2() -> None:
    """Old tuples wait in front of o4 while new ones make it start from the front again."""
    mean = means("input2", batches=False)
    assert mean["mc+"] > mean["fifo+"]
    for tuples in range(14, 30, 2):
        assert ratio("mc+", "input2", tuples, batches=False) > ratio(
            "fifo+", "input2", tuples, batches=False
        )


def test_far_beyond_its_means_s_edf_loses_to_fifo_without_batches() -> None:
    """What the paper does not show: at N = 40 nearly all deadlines are lost, and S-EDF, which runs
    o1 of every tuple first, loses them more evenly. EDF is no policy for overload: hence
    ROP-EDF."""
    trials = [BasicTrial(policy=policy, input="input1", tuples=40) for policy in ("s-edf", "fifo+")]
    s_edf, fifo = (number(run_trial(trial), "miss_ratio") for trial in trials)
    assert s_edf > fifo > 0.4


def test_chain_is_fifo_where_nothing_shrinks() -> None:
    """All chains of the query free a tuple in 300 µs; so the oldest goes first, as under FIFO+."""
    for given in TUPLES:
        for tuples in (4, 12):
            for batches in (False, True):
                chain, fifo = (
                    run_trial(
                        BasicTrial(policy=policy, input=given, tuples=tuples, batches=batches)
                    )
                    for policy in ("chain", "fifo+")
                )
                assert {**chain, "policy": ""} == {**fifo, "policy": ""}


def test_one_deadline_for_both_outputs_costs_what_the_shorter_one_needs() -> None:
    """RTSTREAM runs trains, so it decides less often than FIFO+; but output2 goes by the deadline
    of output1, and S-EDF, which knows better, misses less."""
    mean = {
        policy: fmean(
            number(run_trial(BasicTrial(policy=policy, input="input2", tuples=n)), "miss_ratio")
            for n in TUPLES["input2"]
        )
        for policy in ("s-edf", "rtstream", "fifo+")
    }
    assert mean["s-edf"] < mean["rtstream"] < mean["fifo+"]


def test_without_scheduling_costs_trains_gain_nothing() -> None:
    """The difference of figures 9 and 10 is scheduling cost and nothing else."""
    plan = prepare(decision_cost=0, preemption_cost=0)
    given = arrivals(BasicTrial(policy="", input="input2", tuples=28))
    trains, single = (run(plan, given, policy) for policy in ("s-edf", "s-edf-primitive"))
    assert trains.outputs["output1"].completed == single.outputs["output1"].completed
    assert trains.kernel.now == single.kernel.now == 28 * 6 * OPERATOR_COST


def test_statements_by_hand() -> None:
    """Each statement holds by the difference of mean miss ratios that it speaks of."""
    means = {
        ("input1", False): {"s-edf": 0.20, "s-edf-primitive": 0.50},
        ("input2", False): {"s-edf": 0.30, "s-edf-primitive": 0.45},
        ("input1", True): {
            "s-edf": 0.10, "s-edf-primitive": 0.18, "fifo+": 0.40, "mc+": 0.41, "pcs": 0.60,
        },
        ("input2", True): {
            "s-edf": 0.20, "s-edf-primitive": 0.21, "fifo+": 0.50, "mc+": 0.90, "pcs": 0.70,
        },
    }  # fmt: skip
    rows: list[Row] = [
        {"input": given, "batches": batches, "policy": policy, "tuples": 1, "miss_ratio": ratio}
        for (given, batches), policies in means.items()
        for policy, mean in policies.items()
        for ratio in (mean - 0.05, mean + 0.05)
    ]
    found = {(one.figure, one.published): one.by for one in statements(rows)}
    assert found == {
        ("figure 9", "operator trains lower the miss ratio on input1"): pytest.approx(0.30),
        ("figure 10", "operator trains lower the miss ratio on input2"): pytest.approx(0.15),
        ("figure 9", "batches leave trains less to gain"): pytest.approx(0.30 - 0.08),
        ("figure 11", "S-EDF misses less than FIFO+, MC+ and PCS on input1"): pytest.approx(0.30),
        ("figure 11", "FIFO+ is better than PCS on input1"): pytest.approx(0.20),
        ("figure 12", "S-EDF misses less than FIFO+, MC+ and PCS on input2"): pytest.approx(0.30),
        ("figure 12", "FIFO+ is better than PCS on input2"): pytest.approx(0.20),
        ("figure 11", "MC+ is about like FIFO+ on input1"): pytest.approx(MARGIN - 0.01),
        ("figure 12", "MC+ is worse than FIFO+ on input2"): pytest.approx(0.40),
    }
