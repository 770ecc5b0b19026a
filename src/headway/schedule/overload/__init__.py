"""Task sets under overload: a fast job-level kernel in virtual time, and what comes with it."""

from __future__ import annotations

from headway.schedule.overload.outcome import Outcome, TaskOutcome
from headway.schedule.overload.record import Happening, Record, Run
from headway.schedule.overload.releases import Release, draw_releases
from headway.schedule.overload.simulate import facts_of, simulate

__all__ = [
    "Happening",
    "Outcome",
    "Record",
    "Release",
    "Run",
    "TaskOutcome",
    "draw_releases",
    "facts_of",
    "simulate",
]
