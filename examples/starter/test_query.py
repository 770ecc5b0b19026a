"""Tests of the query: python -m pytest. They run in virtual time, so they are quick and exact."""

from pathlib import Path

import headway as hw
from headway.testing import ListSink, ListSource

HERE = Path(__file__).parent


def test_every_deadline_holds() -> None:
    plan = hw.compile(HERE / "query.yaml", HERE / "vehicle.yaml")
    assert plan.safe


def test_a_fast_car_raises_the_alarm() -> None:
    alarms = ListSink()
    speed = ListSource([{"v": 29.0}, {"v": 31.0}], every="10 ms", delay="1 ms")
    hw.run(HERE / "query.yaml", {"speed": speed}, sinks={"alarm": alarms})
    assert [v for _, v in alarms.rows] == [31.0 * 3.6]


def test_the_recorded_braking_is_seen() -> None:
    result = hw.run(hw.compile(HERE / "query.yaml", HERE / "vehicle.yaml"), HERE / "recording")
    braking = result.outputs["hard_braking"]
    assert len(braking) > 0
    assert ((braking["fastest"] - braking["slowest"]) > 3).all()
