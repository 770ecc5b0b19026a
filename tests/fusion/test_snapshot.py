"""An operator taken up from its snapshot goes on as if nothing had happened."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.fusion.support import feed, fix, own_vehicle, run, seen, surroundings
from tests.fusion.test_windows import Event, as_arrived, own_events, surroundings_events

from headway.fusion.operator import SensorFusion
from headway.model.operators import AssociationGate
from headway.model.quantities import MILLISECOND


def continues(
    original: SensorFusion[Any], fresh: SensorFusion[Any], events: list[Event], cut: float
) -> None:
    executions = as_arrived(events, Random(1))
    place = round(cut * len(executions))
    feed(original, executions[:place])
    fresh.restore(json.loads(json.dumps(original.snapshot(), allow_nan=False)))
    assert fresh.snapshot() == original.snapshot()
    assert feed(fresh, executions[place:]) == feed(original, executions[place:])
    assert fresh.snapshot() == original.snapshot()
    assert fresh.take_refused() == original.take_refused()


@given(surroundings_events(), st.floats(0, 1))
def test_surroundings(events: list[Event], cut: float) -> None:
    """The front window is short, so that tuples come too late too."""
    front = 100 * MILLISECOND
    continues(surroundings(front), surroundings(front), events, cut)


@given(own_events(), st.floats(0, 1))
def test_own_vehicle(events: list[Event], cut: float) -> None:
    front = 100 * MILLISECOND
    continues(own_vehicle(front), own_vehicle(front), events, cut)


GATE = AssociationGate(0.9, 2)


@given(surroundings_events(), st.floats(0, 1), st.booleans())
def test_surroundings_with_a_gate(events: list[Event], cut: float, correlated: bool) -> None:
    windows = (100 * MILLISECOND, 300 * MILLISECOND)
    original, fresh = (surroundings(*windows, GATE, correlated) for _ in range(2))
    continues(original, fresh, events, cut)


@given(own_events(), st.floats(0, 1))
def test_own_vehicle_with_a_gate(events: list[Event], cut: float) -> None:
    original, fresh = (own_vehicle(100 * MILLISECOND, gate=GATE) for _ in range(2))
    continues(original, fresh, events, cut)


def test_refused_tuples_and_the_own_vehicle_are_not_forgotten() -> None:
    first = surroundings()
    run(first, board=[seen(0, 7, 1.0, own=True), seen(0, 1, float("inf"))])
    second = surroundings()
    second.restore(json.loads(json.dumps(first.snapshot(), allow_nan=False)))
    assert second.unusable == 1
    assert second.take_late() == [seen(0, 1, float("inf"))]
    assert [row[1:3] for row in run(second, v2v=[seen(1, 1, 2.0)])] == [(7, True), (1, False)]


def test_a_value_that_is_not_read_may_be_nan() -> None:
    first, second = own_vehicle(), own_vehicle()
    run(first, gps=[fix(0, 1.0, bearing=float("nan"))])
    second.restore(json.loads(json.dumps(first.snapshot(), allow_nan=False)))
    assert str(second.front_window("", "gps")) == str(first.front_window("", "gps"))
