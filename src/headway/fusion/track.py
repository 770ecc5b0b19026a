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

from headway.fusion.state import Associated, TrackState
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


class TrackRule(Protocol[Reading]):
    """What a track needs from the operator it belongs to."""

    def step(
        self, object: Key, state: TrackState | None, measurement: Measurement[Reading]
    ) -> TrackState | None:
        """What is known after the measurement; None while nothing is."""


class Unused(NamedTuple, Generic[Reading]):
    """A measurement that went into no estimate."""

    measurement: Measurement[Reading]
    outside: bool
    """whether there was an estimate, and a gate that it was outside of"""


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
        self.states: list[TrackState | None] = []

    @property
    def newest(self) -> int:
        """Time of the newest measurement."""
        return self.times[-1]

    def fuse(
        self, batch: Sequence[Measurement[Reading]], rule: TrackRule[Reading]
    ) -> Iterator[None]:
        """Takes in measurements in their order, and those kept that come after the first of them;
        yields after each, and must be run to the end before the track is asked anything.

        None of ``batch`` may lie before the front window.
        """
        todo = batch
        if self.measurements and batch[0] < self.measurements[-1]:
            replayed = len(self.measurements) - bisect_right(self.measurements, batch[0])
            todo = sorted([*self.measurements[-replayed:], *batch])
            del self.measurements[-replayed:], self.times[-replayed:], self.states[-replayed:]
        state = self.states[-1] if self.states else None
        for measurement in todo:
            state = rule.step(self.object, state, measurement)
            self.times.append(measurement.timestamp)
            self.states.append(state)
            yield
        self.measurements.extend(todo)

    def state_at(self, moment: int) -> TrackState | None:
        """The newest estimate not younger than ``moment``."""
        if moment >= self.times[-1]:
            return self.states[-1]
        place = bisect_right(self.times, moment)
        return self.states[place - 1] if place else None

    def prune(self, front: int, rear: int) -> list[Unused[Reading]]:
        """Forgets what is older than the windows; returns measurements that went into no estimate.

        ``front`` must not exceed ``rear``. The newest estimate before the rear window stays: all
        that may still come is built upon it.
        """
        oldest = self.newest - front
        cut = 0
        while self.measurements[cut].timestamp < oldest:
            cut += 1
        unused: list[Unused[Reading]] = []
        if cut:
            unused = self._unused(cut)
            del self.measurements[:cut]
        before = bisect_left(self.times, self.newest - rear) - 1
        if before > 0:
            del self.times[:before], self.states[:before]
        return unused

    def unused(self) -> list[Unused[Reading]]:
        """Measurements kept that went into no estimate."""
        return self._unused(len(self.measurements))

    def _unused(self, first: int) -> list[Unused[Reading]]:
        """Of so many of the oldest measurements."""
        offset = len(self.states) - len(self.measurements)
        found: list[Unused[Reading]] = []
        for place, measurement in enumerate(self.measurements[:first], start=offset):
            state = self.states[place]
            if state is None:
                found.append(Unused(measurement, False))
            elif (
                isinstance(state, Associated)
                and state.outside
                and not self._taken_over(place, state)
            ):
                found.append(Unused(measurement, True))
        return found

    def _taken_over(self, place: int, state: Associated) -> bool:
        """Whether the rival that the measurement at that place went into came to be believed."""
        return any(
            later is not None and isinstance(later, Associated) and later.born == state.rival_born
            for later in self.states[place + 1 :]
        )
