"""The largest limit of the load shedder at which no deadline is missed, by bisection.

Outputs 1 and 2 count, as in the papers' figure 17. A run stops at its first miss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa

from headway.engine.engine import Engine
from headway.experiments.collision.application import RADIO, SHED_WINDOW, Application, plan_for
from headway.experiments.collision.measured import WEIGHTS
from headway.experiments.collision.setting import Setting
from headway.experiments.collision.trial import arrivals
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.user_operator import Row
from headway.world.drive_recording import DriveRecording

STEP = SECOND // SHED_WINDOW
"""tuples per second: one more in each window of the load shedder"""
MOST = 1500
"""tuples per second; ETSI asks for 1,000"""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """``rate`` (V2V tuples per second) is kept and one step more is not; 0 where the smallest limit
    is missed, too. ``late`` is the output that stops it, empty if nothing did up to ``MOST``."""

    rate: int
    late: str
    kept_without_v2v: bool


class _Missed(Exception):
    """Ends a run."""


def first_miss(application: Application, recording: DriveRecording, setting: Setting) -> str:
    """The output that first missed a deadline; empty if none did."""
    plan = plan_for(application, setting.shed, setting.keep, setting.item_cost)
    due = {one.name: one.deadline for one in plan.query.outputs if WEIGHTS[one.name]}

    def watch(output: str, row: Row, completed: int) -> None:
        deadline = due.get(output)
        if deadline is not None and completed > row[0] * MICROSECOND + deadline:
            raise _Missed(output)

    engine = Engine(
        plan=plan, policy=setting.policy, keep_trace=False, keep_outputs=False, on_output=watch
    )
    try:
        engine.run(arrivals(recording, plan, v2v=setting.v2v))
    except _Missed as missed:
        return str(missed)
    return ""


def largest_limit(
    application: Application, recording: DriveRecording, setting: Setting, most: int = MOST
) -> Limit:
    """``setting`` but for its limit; most V2V tuples that pass without a miss in this drive."""
    stopped: dict[int, str] = {}
    all_pass = busiest_window(recording)

    @cache
    def late_at(steps: int) -> str:
        return first_miss(application, recording, replace(setting, shed=steps * STEP))

    def kept(steps: int) -> bool:
        late = late_at(min(steps, all_pass))
        if late:
            stopped[steps] = late
        return not late

    steps = largest(kept, most // STEP)
    silent = replace(setting, shed=None, v2v=False)
    return Limit(
        rate=steps * STEP,
        late=stopped.get(steps + 1, ""),
        kept_without_v2v=steps > 0 or not first_miss(application, recording, silent),
    )


def busiest_window(recording: DriveRecording) -> int:
    """The most V2V tuples in a window of the load shedder, at least 1: no limit of so many or more
    sheds any, so that all of those give one and the same run."""
    arrived = recording.streams[RADIO].column("arrived_at").cast(pa.int64()).to_numpy()
    _, counts = np.unique(arrived * MICROSECOND // SHED_WINDOW, return_counts=True)
    return int(counts.max(initial=1))


def largest(holds: Callable[[int], bool], most: int) -> int:
    """The largest n up to ``most`` for which ``holds``, if it holds up to some n and not beyond;
    0 if it never does."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
