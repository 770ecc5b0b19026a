"""Front and rear windows: the right earlier estimate, whatever the order of arrival."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fusion.support import feed, fix, memory, own_vehicle, run, seen, surroundings

from headway.fusion.refused_tuples import RefusalReason, Refused
from headway.fusion.surroundings import SurroundingsFusion
from headway.model.operators import AssociationGate
from headway.model.quantities import MILLISECOND
from headway.model.user_operator import Row

MS = 1_000
"""A millisecond of sensing time."""
FRONT, REAR = 400, 1000
"""Milliseconds."""

Event = tuple[int, str, Row]
"""Time of arrival, port, row."""


@st.composite
def surroundings_events(draw: st.DrawFn) -> list[Event]:
    """Tuples about a few objects, each arriving at most a front window after sensing."""
    keys = draw(
        st.lists(
            st.tuples(st.integers(0, 4000), st.sampled_from(["board", "v2v"]), st.integers(0, 2)),
            unique=True,
            min_size=1,
            max_size=40,
        )
    )
    random = Random(draw(st.integers(0, 2**32)))
    events: list[Event] = []
    for moment, port, object in keys:
        row = (
            *(moment * MS, object, port, object == 0),
            *(random.gauss(0, 50), random.gauss(0, 50)),
            *((random.gauss(0, 10), 1.0) if random.random() < 0.5 else (None, None)),
            *(random.uniform(0.5, 9), random.uniform(0.5, 9)),
            *(random.uniform(0.5, 9), random.uniform(0.5, 9)),
        )
        events.append(((moment + random.randint(0, FRONT)) * MS, port, row))
    return events


@st.composite
def own_events(draw: st.DrawFn) -> list[Event]:
    keys = draw(
        st.lists(
            st.tuples(st.integers(0, 3000), st.sampled_from(["gps", "speed"])),
            unique=True,
            min_size=1,
            max_size=40,
        )
    )
    random = Random(draw(st.integers(0, 2**32)))
    events: list[Event] = []
    for moment, port in keys:
        at = moment * MS
        bearing = random.uniform(0, 360) if random.random() < 0.5 else None
        gps = fix(at, moment / 50 + random.gauss(0, 2), random.gauss(0, 2), bearing)
        row = gps if port == "gps" else (at, abs(random.gauss(15, 5)), 0.04)
        events.append((at + random.randint(0, FRONT) * MS, port, row))
    return events


def in_order(events: list[Event]) -> list[list[tuple[str, Row]]]:
    """One tuple an execution, by sensing time; ties by sensor, which is the port here."""
    ordered = sorted(events, key=lambda event: (event[2][0], event[1], event[2][1]))
    return [[(port, row)] for _, port, row in ordered]


def as_arrived(events: list[Event], sizes: Random) -> list[list[tuple[str, Row]]]:
    """By arrival, in executions of one to four tuples."""
    ordered = sorted(events, key=lambda event: event[0])
    executions: list[list[tuple[str, Row]]] = []
    while ordered:
        size = sizes.randint(1, 4)
        executions.append([(port, row) for _, port, row in ordered[:size]])
        ordered = ordered[size:]
    return executions


@given(surroundings_events(), st.randoms(use_true_random=False))
def test_arrival_does_not_matter_for_surroundings(events: list[Event], sizes: Random) -> None:
    expected = surroundings(FRONT * MILLISECOND, REAR * MILLISECOND)
    feed(expected, in_order(events))
    shuffled = surroundings(FRONT * MILLISECOND, REAR * MILLISECOND)
    feed(shuffled, as_arrived(events, sizes))
    assert memory(shuffled) == memory(expected)  # every bit
    assert shuffled.too_late == expected.too_late == 0


@given(own_events(), st.randoms(use_true_random=False))
def test_arrival_does_not_matter_for_the_own_vehicle(events: list[Event], sizes: Random) -> None:
    expected = own_vehicle(FRONT * MILLISECOND, REAR * MILLISECOND)
    feed(expected, in_order(events))
    shuffled = own_vehicle(FRONT * MILLISECOND, REAR * MILLISECOND)
    feed(shuffled, as_arrived(events, sizes))
    assert memory(shuffled) == memory(expected)
    assert shuffled.too_late == expected.too_late == 0
    assert shuffled.unstarted == expected.unstarted


GATE = AssociationGate(0.9, 2)


@given(surroundings_events(), st.randoms(use_true_random=False), st.booleans())
def test_arrival_does_not_matter_with_a_gate(
    events: list[Event], sizes: Random, correlated: bool
) -> None:
    def fresh() -> SurroundingsFusion:
        windows = (FRONT * MILLISECOND, REAR * MILLISECOND)
        return surroundings(*windows, GATE, correlated)

    expected, shuffled = fresh(), fresh()
    feed(expected, in_order(events))
    feed(shuffled, as_arrived(events, sizes))
    assert memory(shuffled) == memory(expected)
    assert shuffled.too_late == expected.too_late == 0


@given(own_events(), st.randoms(use_true_random=False))
def test_arrival_does_not_matter_for_the_own_vehicle_with_a_gate(
    events: list[Event], sizes: Random
) -> None:
    expected, shuffled = (
        own_vehicle(FRONT * MILLISECOND, REAR * MILLISECOND, GATE) for _ in range(2)
    )
    feed(expected, in_order(events))
    feed(shuffled, as_arrived(events, sizes))
    assert memory(shuffled) == memory(expected)


def test_the_comparison_can_fail() -> None:
    """With too short a front window the late tuple is refused, and the memory differs."""
    tuples = [seen(0, 1, 0.0), seen(100 * MS, 1, 2.0), seen(50 * MS, 1, 1.5)]
    whole, short = surroundings(), surroundings(front=20 * MILLISECOND)
    for fusion in (whole, short):
        for row in tuples:
            run(fusion, board=[row])
    assert (whole.too_late, short.too_late) == (0, 1)
    assert whole.rear_window(1)[-1] != short.rear_window(1)[-1]


def test_a_late_tuple_is_fused_with_the_estimate_before_it() -> None:
    fusion, expected = surroundings(), surroundings()
    for moment, x in ((0, 0.0), (200, 4.0), (300, 6.0), (100, 2.5)):
        run(fusion, board=[seen(moment * MS, 1, x)])
    for moment, x in ((0, 0.0), (100, 2.5)):
        run(expected, board=[seen(moment * MS, 1, x)])
    assert fusion.rear_window(1)[:2] == expected.rear_window(1)
    assert [row[0] for row in fusion.front_window(1, "radar")] == [0, 100_000, 200_000, 300_000]
    assert fusion.front_window(1, "lidar") == []


def test_a_tuple_before_the_first_becomes_the_first() -> None:
    fusion = surroundings()
    run(fusion, board=[seen(100 * MS, 1, 5.0)])
    run(fusion, board=[seen(0, 1, 0.0)])
    assert [state.timestamp for state in fusion.rear_window(1)] == [0, 100 * MS]
    assert fusion.rear_window(1)[0].x == 0.0


def test_ties_go_by_sensor_then_by_arrival() -> None:
    radar, lidar = seen(0, 1, 1.0, sensor="radar"), seen(0, 1, 2.0, sensor="lidar")
    second = seen(0, 1, 3.0, sensor="lidar")
    fusion = surroundings()
    run(fusion, board=[radar])
    run(fusion, board=[lidar])
    run(fusion, board=[second])
    kept = [m.row for m in fusion._tracks[1].measurements]
    assert kept == [lidar, second, radar]


def test_too_late_is_counted_and_handed_over() -> None:
    fusion = surroundings()
    run(fusion, board=[seen(0, 1, 0.0), seen(2000 * MS, 1, 9.0), seen(1500 * MS, 2, 0.0)])
    kept = memory(fusion)
    on_the_edge, late, unknown = seen(1000 * MS, 1, 1), seen(999 * MS, 1, 1), seen(999 * MS, 3, 1)
    assert run(fusion, board=[late], v2v=[unknown]) == []
    assert memory(fusion) == kept
    assert fusion.too_late == 2
    assert set(fusion.take_refused()) == {
        Refused(RefusalReason.LATE, "board", late),
        Refused(RefusalReason.LATE, "v2v", unknown),
    }
    assert fusion.take_late() == []
    assert run(fusion, board=[on_the_edge]) != []
    assert fusion.too_late == 2


def test_an_object_is_judged_by_its_own_time() -> None:
    """A vehicle whose radio lags is not late because others are ahead."""
    fusion = surroundings()
    run(fusion, board=[seen(0, 1, 0.0), seen(900 * MS, 2, 0.0)])
    run(fusion, board=[seen(1900 * MS, 2, 0.0)])
    run(fusion, board=[seen(500 * MS, 1, 1.0)])
    assert fusion.too_late == 0
    assert [state.timestamp for state in fusion.rear_window(1)] == [0, 500 * MS]


def test_after_a_gap_longer_than_the_rear_window_an_object_is_met_anew() -> None:
    fusion = surroundings()
    run(fusion, board=[seen(0, 1, 0.0)])
    run(fusion, board=[seen(1001 * MS, 1, 50.0)])
    assert fusion.rear_window(1)[-1].x == 50.0
    assert fusion.rear_window(1)[-1].var_x == 4.0


def test_unseen_objects_are_forgotten() -> None:
    fusion = surroundings()
    run(fusion, board=[seen(0, 1, 0.0), seen(1 * MS, 2, 0.0)])
    run(fusion, board=[seen(1100 * MS, 2, 0.0)])
    assert fusion.estimate(1, 1100 * MS) is None  # unknown by now …
    assert fusion.objects == [1, 2]  # … but a late tuple may still need it
    run(fusion, board=[seen(2000 * MS, 2, 0.0)])
    assert fusion.objects == [1, 2]
    run(fusion, board=[seen(2001 * MS, 2, 0.0)])
    assert fusion.objects == [2]


@pytest.mark.parametrize("disorder", [0, 300])
def test_memory_is_bounded(disorder: int) -> None:
    """30,000 tuples, one per millisecond, about objects that come and go."""
    random = Random(5)
    fusion = surroundings(FRONT * MILLISECOND, REAR * MILLISECOND)
    arrivals = sorted((moment + random.randint(0, disorder), moment) for moment in range(30_000))
    most_rows = most_states = most_objects = 0
    for place in range(0, len(arrivals), 20):
        run(
            fusion,
            board=[
                seen(moment * MS, moment // 5000, 0.0) for _, moment in arrivals[place : place + 20]
            ],
        )
        tracks = fusion._tracks.values()
        most_rows = max(most_rows, sum(len(track.measurements) for track in tracks))
        most_states = max(most_states, sum(len(track.states) for track in tracks))
        most_objects = max(most_objects, len(tracks))
    assert fusion.too_late == 0
    assert most_objects <= 2
    assert most_rows <= 2 * (FRONT + 1)
    assert most_states <= 2 * (REAR + 2)
    assert len(fusion.take_refused()) == 0


@pytest.mark.parametrize("bad", [None, float("nan"), float("inf"), -float("inf"), 1e10])
def test_an_unusable_position_never_reaches_an_estimate(bad: float | None) -> None:
    fusion, expected = surroundings(), surroundings()
    run(expected, board=[seen(0, 1, 0.0)])
    run(fusion, board=[seen(0, 1, 0.0)])
    row = seen(50 * MS, 1, bad)
    assert run(fusion, board=[row]) == []
    assert memory(fusion) == memory(expected)
    assert fusion.unusable == 1
    assert [refused.row is row for refused in fusion.take_refused()] == [True]
    good = seen(100 * MS, 1, 2.0)
    assert run(fusion, board=[good]) == run(expected, board=[good])


@pytest.mark.parametrize("variance", [None, float("nan"), -1.0, float("inf")])
def test_an_unusable_variance_is_refused(variance: float | None) -> None:
    fusion = surroundings()
    row = (0, 1, "radar", False, 0.0, 0.0, None, None, variance, 4.0, None, None)
    assert run(fusion, board=[row]) == []
    assert fusion.unusable == 1


def test_an_unusable_velocity_is_left_out() -> None:
    fusion, expected = surroundings(), surroundings()
    row = (0, 1, "radar", False, 1.0, 2.0, float("nan"), 3.0, 4.0, 4.0, 1.0, 1.0)
    assert run(fusion, board=[row]) == run(expected, board=[seen(0, 1, 1.0, 2.0)])
    assert fusion.unusable == 0


def test_a_tuple_without_object_or_sensor_is_unusable() -> None:
    fusion = surroundings()
    nameless = (0, None, "radar", False, 0.0, 0.0, None, None, 4.0, 4.0, None, None)
    from_nobody = (0, 1, None, False, 0.0, 0.0, None, None, 4.0, 4.0, None, None)
    assert run(fusion, board=[nameless, from_nobody]) == []
    assert fusion.unusable == 2


def test_a_perfect_sensor_is_trusted_to_a_millimetre() -> None:
    fusion = surroundings()
    for moment in range(5):
        row = (moment * MS, 1, "radar", False, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        run(fusion, board=[row])
    state = fusion.rear_window(1)[-1]
    assert 0 < state.var_x <= 1e-6
