"""What a task keeps from one execution to the next: operator state and windows.

The future work of HVLB_CC (section 7): with several executions in one schedule it matters where
the state is, and which inputs an execution reads.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.model.quantities import Number


@dataclass(frozen=True, kw_only=True)
class Memory:
    """``pinned`` keeps all executions of the task on one processor, so that its state never
    moves; otherwise ``state`` is the volume that moves when the next execution runs elsewhere.

    ``window`` makes an execution wait for all inputs released within that time before its own
    release; without one it reads the latest of each input only."""

    state: Number = 0
    pinned: bool = False
    window: Number | None = None
