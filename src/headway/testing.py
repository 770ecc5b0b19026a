"""For the tests of your own queries: sources and sinks that are lists, a clock that a test moves.

    import headway as hw
    from headway.testing import ListSink, ListSource, ManualClock

    def test_a_fast_car_raises_the_alarm():
        alarms = ListSink()
        speed = ListSource([{"v": 29.0}, {"v": 31.0}], every="10 ms")
        hw.run("query.yaml", {"speed": speed}, sinks={"alarm": alarms})
        assert [v for _, v in alarms.rows] == [31.0 * 3.6]

Nothing here depends on how fast the machine is: virtual time does not, and under a
:class:`ManualClock` the engine of wall-clock time does not either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import overload

from headway.engine.clock import ManualClock
from headway.engine.results import OutputTuple
from headway.errors import DataError
from headway.model.quantities import MICROSECOND, parse_duration
from headway.model.schema import ARRIVAL_COLUMN, TIMESTAMP_COLUMN, VEHICLE_COLUMN

__all__ = ["BEGIN", "ListSink", "ListSource", "ManualClock"]

BEGIN = 1_767_225_600_000_000
"""2026-01-01 00:00 UTC in microseconds: when a test begins that does not care"""


class ListSource(Sequence[dict[str, object]]):
    """Rows of a source, given their times: one ``every`` so often from ``begin`` on.

    A row that has a ``timestamp`` keeps it. ``delay`` is how long a tuple takes from the sensor to
    the vehicle (without it a row arrives when it is sensed, unless it says when itself);
    ``vehicle`` says whose all rows are. It is a list of mappings, and so can be given to
    ``hw.run`` wherever a list of rows can."""

    def __init__(
        self,
        rows: Iterable[Mapping[str, object]],
        *,
        every: str = "10 ms",
        begin: int = BEGIN,
        delay: str | None = None,
        vehicle: str | None = None,
    ) -> None:
        period = _microseconds(every, "every")
        late = None if delay is None else _microseconds(delay, "delay")
        self._rows: list[dict[str, object]] = []
        for number, given in enumerate(rows):
            row: dict[str, object] = {TIMESTAMP_COLUMN: begin + number * period, **given}
            sensed = row[TIMESTAMP_COLUMN]
            if late is not None and ARRIVAL_COLUMN not in row:
                if not isinstance(sensed, int):
                    want = "whole microseconds where there is a delay"
                    raise DataError("not a time", at=f"rows[{number}].{TIMESTAMP_COLUMN}",
                                            got=repr(sensed), want=want)  # fmt: skip
                row[ARRIVAL_COLUMN] = sensed + late
            if vehicle is not None:
                row.setdefault(VEHICLE_COLUMN, vehicle)
            self._rows.append(row)

    @overload
    def __getitem__(self, index: int) -> dict[str, object]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, object]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, object] | list[dict[str, object]]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"ListSource({self._rows!r})"


class ListSink:
    """Takes the tuples of an output as they come: ``hw.run(…, sinks={'alarm': ListSink()})``, or
    as a callback of :class:`headway.engine.wall_engine.Subscriptions`."""

    def __init__(self) -> None:
        self.tuples: list[OutputTuple] = []
        """each with the time it was completed and its deadline, in nanoseconds"""

    def __call__(self, given: OutputTuple) -> None:
        self.tuples.append(given)

    @property
    def rows(self) -> list[tuple[object, ...]]:
        """The timestamp (microseconds) and the fields, in the order of completion."""
        return [tuple(one.row) for one in self.tuples]

    @property
    def missed(self) -> int:
        """How many came after their deadline."""
        return sum(one.missed for one in self.tuples)

    def __len__(self) -> int:
        return len(self.tuples)


def _microseconds(text: str, what: str) -> int:
    try:
        return parse_duration(text) // MICROSECOND
    except ValueError as error:
        raise DataError(str(error), at=what, got=repr(text)) from None
