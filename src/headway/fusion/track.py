"""What the fusion operator remembers of one object: a front window of its measurements, by sensor,
and a rear window of the estimates they gave.

The estimates are a function of the object's measurements in the order (timestamp, sensor, arrival)
and of nothing else: not of the order in which they came, nor of how they fell into executions. So a
measurement that comes late is put in its place, and those after it are fused again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from headway.fusion.state import FilterState
from headway.model.user_operator import Row

Key = str | int | bool
"""An object's or a sensor's key."""
Reading = TypeVar("Reading")


class Measurement(NamedTuple, Generic[Reading]):
    """One input tuple. The first three fields order it; no two measurements share them."""

    timestamp: int
    sensor: Key
    arrival: int
    """running number of arrival"""
    port: str
    row: Row
    reading: Reading
    """what the operator read from the row"""


class TrackFilter(Protocol[Reading]):
    """What a track needs from the operator it belongs to."""

    def first(self, object: Key, measurement: Measurement[Reading]) -> FilterState | None: ...
    def predict(self, state: FilterState, to: int) -> FilterState: ...
    def update(self, state: FilterState, measurement: Measurement[Reading]) -> FilterState: ...


class Track(Generic[Reading]):
    """The windows of one object, both in the order (timestamp, sensor, arrival).

    ``times`` and ``states`` are the rear window: for each measurement its time and the estimate
    after it, or None while nothing has come that an estimate could start with. ``measurements`` is
    the front window, the last part of the same sequence.
    """

    __slots__ = ("measurements", "object", "states", "times")

    def __init__(self, object: Key) -> None:
        self.object = object
        self.measurements: list[Measurement[Reading]] = []
        self.times: list[int] = []
        self.states: list[FilterState | None] = []

    @property
    def newest(self) -> int:
        """Time of the newest measurement."""
        return self.times[-1]

    def fuse(
        self, batch: Sequence[Measurement[Reading]], filter: TrackFilter[Reading], memory: int
    ) -> Iterator[None]:
        """Takes in measurements in their order, and those kept that come after the first of them;
        yields after each, and must be run to the end before the track is asked anything.

        ``memory`` is the length of the rear window: an estimate older than that is not built upon,
        the object is met anew. None of ``batch`` may lie before the front window.
        """
        todo = batch
        if self.measurements and batch[0] < self.measurements[-1]:
            replayed = len(self.measurements) - bisect_right(self.measurements, batch[0])
            todo = sorted([*self.measurements[-replayed:], *batch])
            del self.measurements[-replayed:], self.times[-replayed:], self.states[-replayed:]
        state = self.states[-1] if self.states else None
        for measurement in todo:
            timestamp = measurement.timestamp
            if state is None or timestamp - state.timestamp > memory:
                state = filter.first(self.object, measurement)
            else:
                state = filter.update(filter.predict(state, timestamp), measurement)
            self.times.append(timestamp)
            self.states.append(state)
            yield
        self.measurements.extend(todo)

    def state_at(self, moment: int) -> FilterState | None:
        """The newest estimate not younger than ``moment``."""
        if moment >= self.times[-1]:
            return self.states[-1]
        place = bisect_right(self.times, moment)
        return self.states[place - 1] if place else None

    def prune(self, front: int, rear: int) -> list[Measurement[Reading]]:
        """Forgets what is older than the windows; returns measurements that went into no estimate.

        ``front`` must not exceed ``rear``. The newest estimate before the rear window stays: all
        that may still come is built upon it.
        """
        oldest = self.newest - front
        cut = 0
        while self.measurements[cut].timestamp < oldest:
            cut += 1
        unused: list[Measurement[Reading]] = []
        if cut:
            offset = len(self.states) - len(self.measurements)
            unused = [
                measurement
                for measurement, state in zip(
                    self.measurements[:cut], self.states[offset:], strict=False
                )
                if state is None
            ]
            del self.measurements[:cut]
        before = bisect_left(self.times, self.newest - rear) - 1
        if before > 0:
            del self.times[:before], self.states[:before]
        return unused

    def unused(self) -> list[Measurement[Reading]]:
        """Measurements kept that went into no estimate."""
        states = self.states[len(self.states) - len(self.measurements) :]
        return [m for m, state in zip(self.measurements, states, strict=True) if state is None]
