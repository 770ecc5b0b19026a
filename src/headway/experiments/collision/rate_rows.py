"""Rows of the study of rates: what a policy takes without a miss, by vehicle, item and radar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.experiments.collision.limit import MOST
from headway.experiments.collision.vehicles import ONE_NODE, THREE_NODES
from headway.experiments.rows import values, where
from headway.experiments.study import Row

POLICIES = ("s-edf", "fifo+")
LIMITS = (10, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
"""of the load shedder, V2V tuples/s: where miss ratios are measured"""


@dataclass(frozen=True)
class Variant:
    """What the papers do not print; None: as the example and the world have it."""

    vehicle: str = THREE_NODES
    item_us: int | None = None
    """µs an item"""
    radar_objects: int | None = None
    """a cycle, at most"""

    @property
    def words(self) -> str:
        item = "1 ms" if self.item_us is None else f"{self.item_us / 1000:g} ms"
        seen = "8" if self.radar_objects is None else str(self.radar_objects)
        return f"{self.vehicle}, {item} an item, at most {seen} radar objects"

    def of(self, limits: Sequence[Row]) -> list[Row]:
        """The rows of this variant; none if it was not run."""
        return where(
            limits,
            vehicle=self.vehicle,
            item_us=self.item_us,
            radar_objects=self.radar_objects,
        )


MAIN = Variant()
FEWEST_OBJECTS = Variant(radar_objects=1)
CHEAP_ITEMS = Variant(item_us=500)
ONE_CHEAP_NODE = Variant(ONE_NODE, 250)
"""the one nearest to the published rate of FIFO"""
OTHERS = (
    CHEAP_ITEMS,
    Variant(item_us=250),
    Variant(radar_objects=2),
    FEWEST_OBJECTS,
    Variant(ONE_NODE),
    Variant(ONE_NODE, 500),
    ONE_CHEAP_NODE,
    Variant(ONE_NODE, radar_objects=2),
)


def least_rate(rows: Sequence[Row], policy: str) -> int:
    """V2V tuples a second that the policy takes without a miss in every trial."""
    return int(min(values(where(rows, policy=policy), "rate")))


def rate_words(rate: int) -> str:
    return f"{rate}/s" if rate < MOST else f"{MOST}/s or more"
