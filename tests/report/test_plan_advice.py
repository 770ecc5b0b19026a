"""What would help, in words: no time is rounded below a bound, and much is not told at once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.report.study import collision_warning

from headway.model.plan import (
    Asked,
    ChangedLine,
    FixedBound,
    LatencyStep,
    PlanFix,
    Promise,
    Verdict,
)
from headway.model.quantities import MILLISECOND, parse_duration
from headway.report.plan.plan_advice import (
    MOST_LINES,
    bounds_text,
    broken_promises,
    changed_text,
    fix_title,
    short,
)


@examples(200)
@given(st.integers(0, 10**13))
def test_a_short_time_is_a_little_more_and_never_less(time: int) -> None:
    assert time <= parse_duration(short(time)) <= time * 1.001 + 1


@pytest.mark.parametrize(
    ("time", "text"),
    [(0, "0 ms"), (735_999_999, "736 ms"), (48_000_000, "48 ms"), (1_234_567, "1.235 ms")],
)
def test_how_times_are_written(time: int, text: str) -> None:
    assert short(time) == text


def test_the_sentences_of_a_broken_promise() -> None:
    said = list(broken_promises(collision_warning()))
    assert said == [
        "output2 is to come within 300 ms, and may take 300.1 ms. "
        "The longest part of it, 300.1 ms: T4 runs.",
        "output3 is to come within 3 s, and there is no bound: "
        "node3 can be asked for more than it can do.",
    ]


def test_of_many_broken_promises_the_first_are_told() -> None:
    step = LatencyStep(place="n", what="T1 runs", time=2 * MILLISECOND)
    promises = tuple(
        Promise(
            output=f"o{n}",
            deadline=MILLISECOND,
            hard=True,
            bound=2 * MILLISECOND,
            steps=(step,),
        )
        for n in range(6)
    )
    plan = replace(collision_warning(), verdict=Verdict(loads=(), promises=promises))
    *first, last = broken_promises(plan)
    assert len(first) == 4
    assert last == "2 more of what is asked cannot be promised either."


def test_a_change_in_words() -> None:
    bounds = (
        FixedBound(output="o", asked=Asked.DEADLINE, before=None, after=5_000, limit=9_000),
        FixedBound(output="o", asked=Asked.AGE, before=9_999, after=1_000, limit=2_000),
    )
    lines = tuple(
        ChangedLine(file=file, line=n, text=f"+ {n}")
        for file, count in (("a.yaml", 2), ("b.yaml", MOST_LINES))
        for n in range(count)
    )
    fix = PlanFix(what="pin o to n1", bounds=bounds, lines=lines)
    assert fix_title(fix) == "Pin o to n1."
    assert bounds_text(fix) == "o: no bound → 5 us of 9 us; age of o: 9.999 us → 1 us of 2 us."
    shown = list(changed_text(fix))
    assert shown[:4] == ["a.yaml:0", "+ 0", "+ 1", "b.yaml:0"]
    assert shown[-1] == "… and 2 lines more"
    assert len(shown) == MOST_LINES + 3
