"""A fleet made from a recording: each vehicle drives a seeded variation of a recorded one.

Sensors of different vehicles are out of step and networks jitter, so each source gets a phase of
its own and each tuple a little more delay, never beyond the delay that the query declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from headway.drive.driven_fleet import Met
from headway.model.query import Source
from headway.model.time import MICROSECOND, MILLISECOND
from headway.model.user_operator import Row
from headway.runtime.engine import RunResult
from headway.runtime.happenings import Arrival
from headway.sources.recordings import read_recording

PHASE = 50 * MILLISECOND
JITTER = MILLISECOND

Recorded = list[tuple[int, int, Row]]
"""(arrival in microseconds, source's place, row)"""


@dataclass(frozen=True)
class Fleet:
    """``recorded`` are the recording's vehicles, in order of name."""

    sources: tuple[Source, ...]
    recorded: tuple[Recorded, ...]
    count: int
    seed: int

    def name(self, number: int) -> str:
        return f"v{number:0{len(str(self.count - 1))}d}"

    def arrivals(self, number: int) -> Iterator[Arrival]:
        """Of one vehicle, in order of arrival; the first drives the recording as it is."""
        base = self.recorded[number % len(self.recorded)]
        if number < len(self.recorded):
            for at, place, row in base:
                yield Arrival(at * MICROSECOND, self.sources[place].name, row)
            return
        random = Random(f"{self.seed}/{number}")
        phases = [random.randrange(PHASE // MICROSECOND) for _ in self.sources]
        last = [-(1 << 62)] * len(self.sources)
        moved = []
        for order, (at, place, row) in enumerate(base):
            jitter = random.randrange(JITTER // MICROSECOND)
            later = at + phases[place] + self._allowed(place, at, row, jitter)
            last[place] = later = max(later, last[place])
            timestamp = None if row[0] is None else row[0] + phases[place]
            moved.append((later, place, order, (timestamp, *row[1:])))
        moved.sort()
        for at, place, _, row in moved:
            yield Arrival(at * MICROSECOND, self.sources[place].name, row)

    def met(self, number: int, result: RunResult) -> Iterable[Met]:
        """A recording does not say who was on collision course."""
        return ()

    def _allowed(self, place: int, at: int, row: Row, jitter: int) -> int:
        """No more jitter than the source's declared delay leaves."""
        delay = self.sources[place].delay // MICROSECOND
        if not delay or row[0] is None:
            return 0
        sensed: int = row[0]
        return max(0, min(jitter, sensed + delay - at))


def fleet_from(recording: Path, sources: tuple[Source, ...], count: int, seed: int) -> Fleet:
    """Reads the recording once; its vehicles take turns."""
    places = {source.name: place for place, source in enumerate(sources)}
    by_vehicle: dict[str, Recorded] = {}
    for arrival in read_recording(recording, sources):
        mine = by_vehicle.setdefault(arrival.vehicle or "", [])
        mine.append((arrival.arrived_at, places[arrival.source], arrival.row))
    recorded = tuple(by_vehicle[name] for name in sorted(by_vehicle))
    return Fleet(sources, recorded, count, seed)
