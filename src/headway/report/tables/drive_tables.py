"""A drive in tables: how each setting of our car fared."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from headway.drive.encounters import STOPPING_TIME
from headway.drive.trial_results import SettingSummary
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table, percent


def crashes(found: Sequence[SettingSummary]) -> Table:
    """Detections and crashes: a row per setting."""
    return Table(
        title="Cars on collision course",
        headers=["Setting", "Trials", "Met", "Crashes", "Crash rate", "Worst TTC (s)",
                 "Mean TTC (s)", "Position error (m)", "when out (m)"],
        rows=[
            [
                one.setting,
                f"{one.trials:,}",
                f"{one.meetings:,}",
                f"{one.crashes:,}",
                percent(one.crash_rate) if one.meetings else NONE,
                f"{one.worst_ttc:.2f}" if one.meetings else NONE,
                f"{one.mean_ttc:.2f}" if one.meetings else NONE,
                _metres(one.error_mean),
                _metres(one.error_carried_mean),
            ]
            for one in found
        ],
        numeric=tuple(range(1, 9)),
    )  # fmt: skip


def deadlines(found: Sequence[SettingSummary]) -> Table:
    """Latencies and misses: a row per setting."""
    return Table(
        title="Deadlines",
        headers=["Setting", "V2V peak (/s)", "V2V let in", "output1 max (ms)", "worst (ms)",
                 "output2 worst (ms)", "Missed 1", "Missed 2", "Missed 3"],
        rows=[
            [
                one.setting,
                f"{one.v2v_peak:,.0f}",
                percent(one.v2v_entered) if one.v2v_peak else NONE,
                f"{one.latency1_max:.1f}",
                f"{one.latency1_worst:.1f}",
                f"{one.latency2_worst:.1f}",
                percent(one.miss_ratio1),
                percent(one.miss_ratio2),
                percent(one.miss_ratio3),
            ]
            for one in found
        ],
        numeric=tuple(range(1, 9)),
    )  # fmt: skip


def verdict(found: Sequence[SettingSummary]) -> list[str]:
    """A line per setting."""
    lines = []
    for one in found:
        missed = one.miss_ratio1 or one.miss_ratio2
        sign = BROKEN if missed or one.crashes else KEPT
        deadlines = "a hard deadline was missed" if missed else "no hard deadline was missed"
        if not one.meetings:
            lines.append(f"{sign} {one.setting}: {deadlines}.")
        elif one.crashes:
            lines.append(
                f"{sign} {one.setting}: {one.crashes:,} of {one.meetings:,} cars were seen later "
                f"than {STOPPING_TIME} s before the impact, or not at all; {deadlines}."
            )
        else:
            lines.append(
                f"{sign} {one.setting}: every car was seen in time to stop, the last one "
                f"{one.worst_ttc:.2f} s before the impact; {deadlines}."
            )
    return lines


def _metres(value: float) -> str:
    return NONE if isnan(value) else f"{value:.2f}"
