"""Trials of one setting in numbers: what the papers' tables print."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from statistics import fmean

from headway.experiments.collision.measured import Measured, TrialRow
from headway.experiments.collision.setting import Setting


@dataclass(frozen=True, kw_only=True)
class SettingSummary:
    """Over all trials of a setting. Latencies in milliseconds, TTC in seconds, errors in metres."""

    setting: str
    trials: int
    v2v_peak: float
    """mean over the trials of the most V2V tuples in a second"""
    v2v_entered: float
    """mean share of the V2V tuples that passed the load shedder"""
    latency1_max: float
    """mean over the trials of the longest latency of output1"""
    latency1_worst: float
    """the longest of all"""
    latency2_worst: float
    miss_ratio1: float
    miss_ratio2: float
    miss_ratio3: float
    miss_ratio: float
    meetings: int
    crashes: int
    crash_rate: float
    worst_ttc: float
    mean_ttc: float
    error_mean: float
    error_carried_mean: float
    error_out_mean: float


def summary_of(setting: Setting, rows: Sequence[TrialRow]) -> SettingSummary:
    """``rows`` are those of one setting."""
    met = sum(row.meetings for row in rows)
    crashes = sum(row.crashes for row in rows)
    return SettingSummary(
        setting=setting.label,
        trials=len(rows),
        v2v_peak=fmean(row.v2v_peak for row in rows),
        v2v_entered=_ratio(sum(r.v2v_entered for r in rows), sum(r.v2v_arrived for r in rows)),
        latency1_max=fmean(row.latency1_max for row in rows),
        latency1_worst=max(row.latency1_max for row in rows),
        latency2_worst=max(row.latency2_max for row in rows),
        miss_ratio1=_ratio(sum(r.misses1 for r in rows), sum(r.tuples1 for r in rows)),
        miss_ratio2=_ratio(sum(r.misses2 for r in rows), sum(r.tuples2 for r in rows)),
        miss_ratio3=_ratio(sum(r.misses3 for r in rows), sum(r.tuples3 for r in rows)),
        miss_ratio=fmean(row.miss_ratio for row in rows),
        meetings=met,
        crashes=crashes,
        crash_rate=_ratio(crashes, met),
        worst_ttc=min(row.worst_ttc for row in rows),
        mean_ttc=fmean(row.mean_ttc for row in rows),
        error_mean=mean_of(row.error_mean for row in rows),
        error_carried_mean=mean_of(row.error_carried_mean for row in rows),
        error_out_mean=mean_of(row.error_out_mean for row in rows),
    )


def summaries(
    settings: Sequence[Setting], trials: Iterable[Sequence[Measured]]
) -> list[SettingSummary]:
    """``trials`` holds for each trial what every setting gave, in the order of ``settings``."""
    by_setting: list[list[TrialRow]] = [[] for _ in settings]
    for trial in trials:
        for place, measured in enumerate(trial):
            by_setting[place].append(measured.trial)
    return [summary_of(one, rows) for one, rows in zip(settings, by_setting, strict=True)]


def mean_of(values: Iterable[float]) -> float:
    """Of those that are numbers; NaN if none is."""
    known = [value for value in values if not isnan(value)]
    return fmean(known) if known else float("nan")


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
