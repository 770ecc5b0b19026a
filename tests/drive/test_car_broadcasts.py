"""Every car runs the query and broadcasts its output1: what is said, when, and who hears it."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
from tests.drive.short_drives import app

from headway.drive.car_broadcasts import (
    CONFIDENCE,
    broadcasting,
    broadcasts_of,
    check_on_board,
    speakers,
    told_by,
)
from headway.drive.collision_warning import Setting, plan_for
from headway.drive.trial import arrivals, run_trial
from headway.drive.trial_results import Drive, recorded
from headway.engine.engine import Engine
from headway.errors import InputError
from headway.model.plan import Plan
from headway.world.broadcasts import SILENCE, Broadcasts, Heard, Told, hear_broadcasts, on_air
from headway.world.cam import CamReports
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import BEGIN, OWN_ID, record
from headway.world.drive_scenario import Scenario
from headway.world.grid_traffic import GridTraffic
from headway.world.radio import RadioModel

FEW = Scenario(
    cars=6, duration=3.0, columns=2, rows=1, collision_crossings=(), crowded_crossings=(), crowd=0
)
"""Three seconds of seven cars with a radio."""
MS = 1000


@cache
def plan() -> Plan:
    return broadcasting(plan_for(app()))


@cache
def traffic() -> GridTraffic:
    return GridTraffic(FEW)


@cache
def said() -> Broadcasts:
    return broadcasts_of(plan(), traffic())


def same(one: CamReports, other: CamReports) -> bool:
    return all(
        np.array_equal(getattr(one, field.name), getattr(other, field.name), equal_nan=True)
        for field in fields(CamReports)
    )


# ---------------------------------------------------------------- what is said


def test_a_car_says_what_its_own_query_gives_as_output1() -> None:
    car = speakers(traffic())[2]
    told = told_by(plan(), traffic(), car, 0)
    engine = Engine(plan=plan_for(app()), policy="s-edf", keep_trace=False)
    recording = record(traffic(), car)
    output = engine.run(arrivals(recording, plan_for(app()), v2v=False)).outputs["output1"]
    ids = [car if row[1] == OWN_ID else row[1] for row in output.rows]
    assert traffic().ids[told.reports.id].tolist() == ids
    assert (told.reports.timestamp + BEGIN).tolist() == [row[0] for row in output.rows]
    for place, name in enumerate(("x", "y", "vx", "vy"), start=3):
        assert getattr(told.reports, name).tolist() == [row[place] for row in output.rows]
    # Also the moment: the variances cost no time.
    assert told.ready_at.tolist() == [-(-at // 1000) - BEGIN for at in output.completed]


def test_the_confidence_is_that_of_the_sensors() -> None:
    """Ours after the first fix 3 m; who is seen by radar, ours and the radar's 0.5 m."""
    car = speakers(traffic())[2]
    told = told_by(plan(), traffic(), car, 0)
    own = told.reports.id == told.sender
    assert np.sqrt(told.reports.var_x[own][0]) == pytest.approx(3.0, rel=0.01)
    for name in CONFIDENCE:
        assert np.isfinite(getattr(told.reports, name)).all()
    by_time = dict(zip(told.reports.timestamp[own], told.reports.var_x[own], strict=True))
    for at, variance in zip(told.reports.timestamp[~own], told.reports.var_x[~own], strict=True):
        assert variance - by_time[at] == pytest.approx(0.25, rel=1e-5)


def test_what_a_car_hears_does_not_change_what_it_says() -> None:
    """When it comes out does change, earlier or later: the node that makes output1 fuses V2V, too.
    It is within the deadline either way."""
    for car in speakers(traffic())[:3]:
        alone, among = (told_by(plan(), traffic(), car, 0, hears=one) for one in (SILENCE, said()))
        assert same(alone.reports, among.reports)
        for told in (alone, among):
            assert ((told.ready_at - told.reports.timestamp) <= 30 * MS).all()


def test_an_output_that_is_made_of_what_others_say_is_refused() -> None:
    given = plan_for(app())
    outputs = tuple(
        replace(one, stream="sdfo2") if one.name == "output1" else one
        for one in given.query.outputs
    )
    with pytest.raises(InputError, match="output1 is made of what others say"):
        check_on_board(replace(given, query=replace(given.query, outputs=outputs)))
    check_on_board(given)


def test_an_output_without_confidence_is_refused() -> None:
    given = plan_for(app())
    outputs = tuple(
        replace(one, stream="radar") if one.name == "output1" else one
        for one in given.query.outputs
    )
    with pytest.raises(InputError, match="says nothing of its confidence; got no column var_x"):
        broadcasting(replace(given, query=replace(given.query, outputs=outputs)))


def test_the_plan_is_changed_in_output1_only() -> None:
    given, carrying = plan_for(app()), plan()
    assert dict(carrying.schemas)["map3"].names == (*dict(given.schemas)["map3"].names, *CONFIDENCE)
    assert carrying.placement == given.placement
    assert [one for one in carrying.query.steps if one.name != "map3"] == [
        one for one in given.query.steps if one.name != "map3"
    ]
    assert broadcasting(carrying) is carrying


# ---------------------------------------------------------------- when it is sent, and who hears it


def reports(*of: tuple[int, int]) -> CamReports:
    """About these cars (columns) at these times (µs)."""
    about, at = (np.array(column, dtype=np.int64) for column in zip(*of, strict=True))
    return CamReports(about, at, *(np.zeros(len(of)) for _ in range(8)))


def test_a_message_goes_at_the_cars_moment_or_when_it_is_there() -> None:
    slow = RadioModel(interval=0.005)
    sent = [
        on_air(
            traffic(),
            [Told(3, np.array(ready) * MS, reports(*((3, 0) for _ in ready)))],
            SensorModel(),
            slow,
            trial=0,
        ).sent_at
        for ready in ([1, 2, 3], [1, 95, 96, 300])
    ]
    moment = int(sent[0][0])
    assert 0 <= moment < 100 * MS - 8 * 5 * MS
    assert (sent[0] - moment).tolist() == [0, 5 * MS, 10 * MS]
    assert sent[1].tolist() == [moment, 95 * MS, 100 * MS, 300 * MS]


def heard_at(said: Broadcasts, receiver: int) -> Heard:
    return hear_broadcasts(traffic(), receiver, said, RadioModel())


def test_a_broadcast_is_heard_within_reach_as_a_whole_and_by_others() -> None:
    motion = traffic().at(np.array([0.0]))
    apart = np.hypot(motion.x[0] - motion.x[0, 0], motion.y[0] - motion.y[0, 0])
    for sender in range(1, len(apart)):
        three = reports((sender, 0), (0, 0), (1, 0))
        spoken = Broadcasts(np.full(3, sender), np.array([0, 500, 1000]), three)
        heard = heard_at(spoken, 0)
        straight = motion.y[0, sender] ** 2 < 10**2  # in our street nothing is between us
        if straight:
            assert len(heard.sender) == (3 if apart[sender] <= 200 else 0)
        assert heard.out_of_reach == (0 if len(heard.sender) else 1)
        assert len(heard_at(spoken, sender).sender) == 0
    assert (apart[1:] <= 200).any()


def test_what_is_said_after_the_end_is_not_heard() -> None:
    late = Broadcasts(np.array([1]), np.array([3_000_000]), reports((1, 2_990_000)))
    assert len(heard_at(late, 0).sender) == 0


def test_silence() -> None:
    recording = record(traffic(), said=SILENCE)
    assert recording.streams["v2v"].num_rows == recording.counts.sent == 0
    assert recording.streams["radar"].equals(record(traffic()).streams["radar"])


def test_the_model_of_the_others_sends_the_same_messages() -> None:
    """Who tells of whom and when is the same; what they say is not: a model has driven before,
    and its radar errs anew for each receiver."""
    ours, model = (record(traffic(), said=one) for one in (said(), None))
    names = ("timestamp", "id", "sender")
    rows = [
        sorted(zip(*(one.streams["v2v"].column(name).to_pylist() for name in names), strict=True))
        for one in (ours, model)
    ]
    assert len(rows[0]) > 50
    # output1 comes out a few milliseconds after sensing: who sends sooner than that sends later.
    assert set(rows[0]) <= set(rows[1])
    assert len(rows[1]) - len(rows[0]) <= 2 * len(traffic().ids)


# ---------------------------------------------------------------- our car in it


def test_our_car_hears_the_others_and_the_same_again() -> None:
    def once() -> tuple[object, object]:
        drive = Drive(
            application=app(), world=FEW, number=1, settings=(Setting(),), cars_speak=True
        )
        recording = recorded(drive)
        trial = run_trial(app(), recording, Setting())
        return recording.streams["v2v"], trial.result.outputs["output3"].rows

    first, again = once(), once()
    assert first[0] == again[0]
    assert first[1] == again[1]
    assert first[1]
