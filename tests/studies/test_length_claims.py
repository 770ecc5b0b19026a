"""Claims on schedule lengths, on rows made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headway_studies.hvlb_cc.schedule_lengths import BEST_SPEEDUP, STUDY, WORST_SLR
from headway_studies.hvlb_cc.schedule_trials import TASKS
from headway_studies.study import Row, Verdict

RATES = tuple(WORST_SLR)
ALGORITHMS = tuple(BEST_SPEEDUP)


def rows(**better: float) -> list[Row]:
    """Two graphs a cell. ``better``: how much (A) and (B) are better than HSV_CC, which has the
    published worst and best numbers, and a graph that failed."""
    found: list[Row] = []
    for place, name in enumerate(ALGORITHMS):
        gain = 1 + better.get(name[-1], 0.0) if place else 1.0
        for tasks in TASKS:
            for rates in RATES:
                common: Row = {"algorithm": name, "tasks": tasks, "rates": rates, "ccr": 1.0}
                worst, best = WORST_SLR[rates][0], BEST_SPEEDUP["hsv-cc"]
                for part in (1.0, 0.9):
                    measures: Row = {
                        "slr": worst * part / gain,
                        "speedup": best * part * gain,
                        "load_balance": 1.5 * part / gain,
                        "failed": False,
                    }
                    found.append({**common, **measures})
                nothing: Row = {"slr": None, "speedup": None, "load_balance": None, "failed": True}
                found.append({**common, **nothing})
    return found


def verdicts(given: Sequence[Row]) -> dict[str, list[Verdict]]:
    found: dict[str, list[Verdict]] = {}
    for claim in STUDY.analyse(given).claims:
        found.setdefault(claim.published.split()[0], []).append(claim.verdict)
    return found


@pytest.mark.parametrize(
    ("a", "b", "better", "best"),
    [
        (0.02, 0.05, Verdict.SAME, Verdict.SAME),
        (0.02, 0.0, Verdict.DIFFERS, Verdict.DIFFERS),  # as good is not better
        (-0.01, 0.05, Verdict.DIFFERS, Verdict.DIFFERS),
    ],
)
def test_who_is_better(a: float, b: float, better: Verdict, best: Verdict) -> None:
    found = verdicts(rows(a=a, b=b))
    assert found == {"(A)": [better] * 3, "worst": [Verdict.SAME] * 3, "best": [best]}


def test_gains_in_words() -> None:
    """Lower lengths and higher speedups are gains alike, counted from HSV_CC's mean."""
    claims = STUDY.analyse(rows(a=0.25, b=0.25)).claims
    cells = len(TASKS) * len(RATES)
    told = f"better in the mean in {cells} (A) and {cells} (B) of {cells} cells, by"
    assert [claim.ours for claim in claims[:3]] == [
        f"{told} 20.0 %",  # 1 - 1 / 1.25
        f"{told} 25.0 %",
        f"{told} 20.0 %",
    ]


def test_another_scale_is_told() -> None:
    """Beyond a factor of two of what is published."""
    wide = [
        {**row, "slr": row["slr"] * 2.5 if isinstance(row["slr"], float) else None}
        for row in rows(a=0.02, b=0.05)
    ]
    assert verdicts(wide)["worst"] == [Verdict.DIFFERS] * 3
    fast = [
        {**row, "speedup": row["speedup"] * 2.5 if isinstance(row["speedup"], float) else None}
        for row in rows(a=0.02, b=0.05)
    ]
    assert verdicts(fast)["best"] == [Verdict.DIFFERS]
