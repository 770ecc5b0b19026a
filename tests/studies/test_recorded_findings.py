"""What is said of a recorded drive follows from its rows, here made up."""

from __future__ import annotations

import pytest

from headway_studies.beyond.recorded_drive import (
    DECLARED,
    PLAIN,
    RECORDED_POLICIES,
    agreement_claims,
    deadline_claims,
)
from headway_studies.study import Row

DEADLINES = {"output1": 60.0, "output2": 300.0}


def run_at(rate: float, **bounds: float) -> list[Row]:
    """No deadline missed under any policy; what has no bound is not promised."""
    return [
        {
            "part": "rate", "rate": rate, "policy": policy, "output": output, "tuples": 10,
            "misses": 0, "median_ms": 1.0, "longest_ms": 2.0, "deadline_ms": deadline,
            "bound_ms": bounds.get(output), "compiled": True,
        }
        for policy in RECORDED_POLICIES
        for output, deadline in DEADLINES.items()
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("at_5", "at_2", "told"),
    [
        ({"output1": 60.0, "output2": 300.0}, {"output1": 61.0, "output2": 300.0}, "to 5"),
        ({"output1": 50.0, "output2": 400.0}, {"output1": 50.0}, "to 10"),
        ({"output2": 200.0}, {"output1": 50.0, "output2": 200.0}, "to 10"),
    ],
    ids=["bound over the deadline", "another output", "a faster one lacks a bound"],
)
def test_a_rate_is_promised_if_every_output_is(
    at_5: dict[str, float], at_2: dict[str, float], told: str
) -> None:
    rows = [*run_at(10.0, output1=30.0, output2=200.0), *run_at(5.0, **at_5), *run_at(2.0, **at_2)]
    found = [claim.ours for claim in deadline_claims(rows) if "slowest ECU" in claim.published]
    assert found == [f"S-EDF 2, FIFO+ 2, MC+ 2, PCS 2; promised down {told}"]


def test_nothing_promised_is_said_as_such() -> None:
    told = " ".join(claim.ours for claim in deadline_claims(run_at(10.0, output1=30.0)))
    assert "promised down to none" in told


def agreement_row(fusion: str, share: float) -> Row:
    return {
        "part": "agreement", "fusion": fusion, "moments": 100, "both": 100, "distance_median": 0.1,
        "distance_95": 0.2, "another_car": share, "speed_median": 0.1, "speed_95": 0.2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("share", "gated", "told"),
    [(0.0, 0.0, False), (0.01, 0.0, False), (0.02, 0.0, True), (0.02, 0.03, False)],
)
def test_a_cause_is_told_only_of_what_is_there(share: float, gated: float, told: bool) -> None:
    rows = [agreement_row(DECLARED, gated), agreement_row(PLAIN, share)]
    ahead, gate, *_ = (claim.ours for claim in agreement_claims(rows))
    assert f"more than 5 m at {gated:.1%} of 100 moments" in ahead
    assert gate.startswith(f"with both {gated:.1%}, without either {share:.1%}")
    assert ("goes on as the same object" in gate) == told
