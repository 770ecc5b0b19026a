"""How often the cars on collision course are reported by V2V while there is still time to stop.

With a load shedder that lets in a share p of all tuples at random, none of n reports passes with
probability (1 − p)ⁿ: then the car is noticed too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headway.experiments.collision.application import RADIO
from headway.experiments.collision.encounters import STOPPING_TIME
from headway.world.drive_recording import DriveRecording

_US_PER_S = 1e6


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Of one car, until ``STOPPING_TIME`` before the impact."""

    car: int
    count: int
    senders: int
    in_view: float
    """seconds before the impact at the first report; 0 where there is none"""
    offered: float
    """V2V tuples per second that came meanwhile, about whomever"""

    def all_shed(self, limit: int) -> float:
        """The chance that a load shedder that lets in ``limit`` tuples per second at random lets in
        none of them."""
        passing = min(1.0, limit / self.offered) if self.offered else 1.0
        return float((1 - passing) ** self.count)


def reports(recording: DriveRecording, impacts: Mapping[int, int]) -> Iterator[Reports]:
    """In the order of the cars' ids; ``impacts`` in microseconds from the begin."""
    table = recording.streams[RADIO]
    arrived = table.column("arrived_at").cast(pa.int64()).to_numpy() - recording.begin
    ids, senders = table.column("id").to_numpy(), table.column("sender").to_numpy()
    for car, impact in sorted(impacts.items()):
        left = (impact - arrived) / _US_PER_S
        mine = (ids == car) & (left > STOPPING_TIME)
        first = float(left[mine].max()) if mine.any() else 0.0
        meanwhile = int(((left > STOPPING_TIME) & (left <= first)).sum())
        yield Reports(
            car=car,
            count=int(mine.sum()),
            senders=len(np.unique(senders[mine])),
            in_view=first,
            offered=meanwhile / (first - STOPPING_TIME) if mine.any() else 0.0,
        )
