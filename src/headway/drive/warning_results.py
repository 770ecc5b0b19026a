"""What warnings came to, as tidy rows and in numbers: false ones, and what braking made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from headway.drive.alarms import Alarm
from headway.drive.braking import Stop
from headway.drive.collision_warning import Setting
from headway.drive.trial import US_PER_S


@dataclass(frozen=True, kw_only=True)
class AlarmRow:
    """The first warning of one car; seconds from the begin."""

    trial: int
    policy: str
    v2v: bool
    shed: int | None
    warned_of: str
    car: int
    warned: float
    computed_ttc: float
    nearest: float
    """metres: how near it comes from then on, if nobody brakes"""
    false: bool


@dataclass(frozen=True, kw_only=True)
class StopRow:
    """One car on collision course, and our car that brakes when it is warned."""

    trial: int
    policy: str
    v2v: bool
    shed: int | None
    warned_of: str
    car: int
    impact: float
    ttc: float | None
    late: bool
    """the papers' rule: less than the stopping time was left"""
    crash: bool
    """the two cars touch"""
    speed: float
    """m/s of ours when they do"""
    nearest: float
    """metres between their middles"""


def alarm_rows(setting: Setting, number: int, found: Sequence[Alarm]) -> Iterator[AlarmRow]:
    for one in found:
        yield AlarmRow(
            trial=number,
            policy=setting.policy,
            v2v=setting.v2v,
            shed=setting.shed,
            warned_of=setting.warned_of.value,
            car=one.car,
            warned=one.warned / US_PER_S,
            computed_ttc=one.computed_ttc,
            nearest=one.nearest,
            false=one.false,
        )


def stop_rows(setting: Setting, number: int, found: Iterable[Stop]) -> Iterator[StopRow]:
    for one in found:
        yield StopRow(
            trial=number,
            policy=setting.policy,
            v2v=setting.v2v,
            shed=setting.shed,
            warned_of=setting.warned_of.value,
            car=one.meeting.car,
            impact=one.meeting.impact / US_PER_S,
            ttc=one.meeting.ttc,
            late=one.meeting.crash,
            crash=one.crash,
            speed=one.speed,
            nearest=one.nearest,
        )


@dataclass(frozen=True, kw_only=True)
class WarningSummary:
    """Over all trials of a setting."""

    setting: str
    trials: int
    warned: int
    """cars that our car was warned of, drive by drive"""
    false: int
    """of these, cars that would never have come near"""


@dataclass(frozen=True, kw_only=True)
class BrakingSummary:
    """Over all trials of a setting."""

    setting: str
    met: int
    late: int
    """crashes by the papers' rule"""
    crashes: int
    """cars that ours hits although it brakes"""
    speed: float
    """m/s of our car when it does, in the mean; 0 where it hits none"""


def warning_summary(setting: Setting, trials: Sequence[Sequence[AlarmRow]]) -> WarningSummary:
    every = [row for rows in trials for row in rows]
    return WarningSummary(
        setting=setting.label,
        trials=len(trials),
        warned=len(every),
        false=sum(row.false for row in every),
    )


def braking_summary(setting: Setting, rows: Sequence[StopRow]) -> BrakingSummary:
    hit = [row for row in rows if row.crash]
    return BrakingSummary(
        setting=setting.label,
        met=len(rows),
        late=sum(row.late for row in rows),
        crashes=len(hit),
        speed=fmean(row.speed for row in hit) if hit else 0.0,
    )
