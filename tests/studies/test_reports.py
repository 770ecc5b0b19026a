"""How often a car is reported, by hand."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.drive.short_drives import short_drive

from headway_studies.aedsms.crashes import Reports, reports

S = 1_000_000


def test_only_reports_in_time_count() -> None:
    """Impact at 10 s: what comes by 7.2 s is in time."""
    recording = short_drive()
    at = [recording.begin + when for when in (5 * S, 6 * S, 7 * S, 7 * S + 1, 8 * S)]
    table = pa.table(
        {
            "arrived_at": pa.array(at, pa.timestamp("us", "UTC")),
            "id": [2, 3, 2, 3, 2],
            "sender": [9, 9, 8, 8, 9],
        }
    )
    given = replace(recording, streams={**recording.streams, "v2v": table})
    (one,) = reports(given, {2: 10 * S})
    assert (one.car, one.count, one.senders, one.in_view) == (2, 2, 2, 5.0)
    assert one.offered == pytest.approx(4 / 2.2)


def test_the_chance_that_none_passes() -> None:
    one = Reports(car=2, count=3, senders=1, in_view=5.0, offered=400.0)
    assert one.all_shed(100) == 0.75**3
    assert one.all_shed(500) == 0.0
    assert Reports(car=2, count=0, senders=0, in_view=0.0, offered=0.0).all_shed(100) == 1.0
