"""Task sets under overload: a fast job-level kernel in virtual time, and what comes with it."""

from __future__ import annotations

from headway.schedule.overload.simulate import (
    Happening,
    Outcome,
    Release,
    Run,
    TaskOutcome,
    TrialRecord,
    draw_releases,
    facts_of,
    simulate,
)

__all__ = [
    "Happening",
    "Outcome",
    "Release",
    "Run",
    "TaskOutcome",
    "TrialRecord",
    "draw_releases",
    "facts_of",
    "simulate",
]
