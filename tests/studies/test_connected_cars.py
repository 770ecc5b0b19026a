"""The study of cars that run the query: passes compared by hand, what is said of rows by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headway.world.broadcasts import Broadcasts
from headway.world.cam import CamReports
from headway_studies.beyond import connected_cars
from headway_studies.beyond.connected_cars import CARS, MODEL, SETTINGS
from headway_studies.study import Row


def spoken(count: int = 4) -> Broadcasts:
    whole = np.arange(count, dtype=np.int64)
    columns = (np.arange(count, dtype=np.float64) for _ in range(8))
    return Broadcasts(whole, 1000 * whole, CamReports(whole, whole, *columns))


def test_messages_are_counted_that_say_or_go_otherwise() -> None:
    before = spoken()
    same = {"messages": 4.0, "changed": 0.0, "moved": 0.0, "farthest_ms": 0.0}
    assert connected_cars._compared(before, spoken()) == same
    later = replace(before, sent_at=before.sent_at + np.array([0, 500, -2000, 0]))
    assert connected_cars._compared(before, later) == {**same, "moved": 2.0, "farthest_ms": 2.0}
    x, vx = before.reports.x.copy(), before.reports.vx.copy()
    x[1], vx[1], vx[3] = 9.0, 9.0, 9.0
    other = replace(before, reports=replace(before.reports, x=x, vx=vx))
    assert connected_cars._compared(before, other) == {**same, "changed": 2.0}


def test_a_pass_with_more_messages_is_no_pass() -> None:
    with pytest.raises(ValueError, match="say more or less"):
        connected_cars._compared(spoken(4), spoken(5))


def rows() -> list[Row]:
    made: list[Row] = [
        {"part": "again", "pass": number, "trial": 0, "messages": 1000.0, "changed": 0.0,
         "moved": moved, "farthest_ms": 9.2}
        for number, moved in ((2, 70.0), (3, 5.0))
    ]  # fmt: skip
    for trial in range(2):
        for source, off in ((MODEL, 0.3), (CARS, 0.4)):
            made.append(
                {"part": "heard", "source": source, "trial": trial, "messages": 500.0,
                 "about_themselves": off, "about_others": 2 * off, "later_themselves": off,
                 "later_others": off, "inside": 1.0}
            )  # fmt: skip
            made += [
                {"part": "drive", "source": source, "trial": trial, "setting": setting.label,
                 "cars": 6, "crashes": trial, "ttc": 3.0 + trial, "error": off, "misses1": 0,
                 "tuples1": 10, "latency1": 20.0}
                for setting in SETTINGS
            ]  # fmt: skip
    return made


def test_what_is_said() -> None:
    one_pass, third, *outcomes, told = connected_cars.analyse(rows()).claims
    assert one_pass.ours == (
        "of 1,000 messages 0 say something else when all cars hear each other; 70 are sent at "
        "another moment, by 9.2 ms at most"
    )
    assert third.ours == "5 messages move again, by 9.2 ms at most"
    assert len(outcomes) == len(SETTINGS)
    assert outcomes[0].ours == (
        f"{MODEL}: 1 of 12 cars detected too late, worst TTC 3.00 s, error 0.30 m; "
        f"{CARS}: 1 of 12 cars detected too late, worst TTC 3.00 s, error 0.40 m"
    )
    assert f"{CARS}: of themselves 0.40 m (after 10 s 0.40 m), of others 0.80 m" in told.ours
