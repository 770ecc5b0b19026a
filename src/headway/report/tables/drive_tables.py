"""A drive in tables: how each setting of our car fared."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

from headway.drive.encounters import STOPPING_TIME
from headway.drive.trial_results import SettingSummary
from headway.drive.warning_results import BrakingSummary, WarningSummary
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table, percent
from headway.world.drive_scenario import KMH


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


def warnings(found: Sequence[WarningSummary]) -> Table:
    """Cars that our car was warned of, and those of them that would never have come near."""
    return Table(
        title="Cars warned of",
        headers=["Setting", "Trials", "Warned of", "Never near", "Share", "Never near a drive"],
        rows=[
            [
                one.setting,
                f"{one.trials:,}",
                f"{one.warned:,}",
                f"{one.false:,}",
                percent(one.false / one.warned) if one.warned else NONE,
                f"{one.false / one.trials:.1f}",
            ]
            for one in found
        ],
        numeric=tuple(range(1, 6)),
    )


def braking(found: Sequence[BrakingSummary]) -> Table:
    """Crashes by the papers' rule, and by where the two cars are."""
    return Table(
        title="Our car brakes when it is warned",
        headers=["Setting", "Met", f"Seen later than {STOPPING_TIME} s before", "Hit", "at (km/h)"],
        rows=[
            [
                one.setting,
                f"{one.met:,}",
                f"{one.late:,}",
                f"{one.crashes:,}",
                f"{one.speed / KMH:.0f}" if one.crashes else NONE,
            ]
            for one in found
        ],
        numeric=tuple(range(1, 5)),
    )


def braking_verdict(found: Sequence[BrakingSummary]) -> list[str]:
    """A line per setting."""
    return [
        f"{BROKEN if one.crashes else KEPT} {one.setting}, braking: {one.crashes:,} of "
        f"{one.met:,} cars were hit ({one.late:,} by the rule of {STOPPING_TIME} s)."
        for one in found
        if one.met
    ]


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
