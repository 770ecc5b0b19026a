"""CAMs: what goes in comes out within the standard's steps, and no bytes do harm."""

from __future__ import annotations

import sys
from math import hypot, pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.world.support import needs_pycrate

from headway.errors import EnvironmentMissing
from headway.world import cam
from headway.world.broadcasts import damaged
from headway.world.cam import CamReports, CamValues, Drop, codec, quantise, reports_of, values_of

BEGIN = 1_767_225_600_000_000


def reports(**given_columns: Any) -> CamReports:
    columns: dict[str, Any] = {
        "id": 7, "timestamp": BEGIN + 1000, "x": 120.0, "y": -35.0, "vx": 16.0, "vy": 3.0,
        "var_x": 0.5, "var_y": 0.25, "var_vx": 0.04, "var_vy": 0.09, **given_columns,
    }  # fmt: skip
    arrays: dict[str, Any] = {name: np.array([value]) for name, value in columns.items()}
    return CamReports(**arrays)


metres = st.floats(-2000, 2000)
speeds = st.floats(0.3, 60)
variances = st.floats(0.001, 200)


@needs_pycrate
@examples(300)
@given(
    st.integers(0, 2**32 - 1), st.integers(0, 40_000_000), st.integers(0, 60_000),
    metres, metres, speeds, st.floats(-pi, pi), variances, variances,
    st.floats(0.0001, 0.3), st.floats(0.0001, 0.3),
)  # fmt: skip
def test_round_trip_within_the_steps_of_the_standard(
    id: int, since: int, age: int, x: float, y: float, speed: float, along: float,
    var_x: float, var_y: float, var_vx: float, var_vy: float,
) -> None:  # fmt: skip
    said = reports(
        id=id, timestamp=BEGIN + since * 1000, x=x, y=y, vx=speed * np.cos(along),
        vy=speed * np.sin(along), var_x=var_x, var_y=var_y, var_vx=var_vx, var_vy=var_vy,
    )  # fmt: skip
    uper = codec()
    (row,) = quantise(said).rows()
    came = uper.decode(uper.encode(row))
    assert not isinstance(came, Drop)
    assert came == row
    heard = reports_of(values_of([came]), said.timestamp + age * 1000)
    assert heard.id[0] == id
    assert heard.timestamp[0] == said.timestamp[0]
    # 0.1 µdeg is 11.1 mm; a speed step 0.01 m/s; a heading step 0.1 degrees.
    assert abs(heard.x[0] - x) <= 0.006
    assert abs(heard.y[0] - y) <= 0.006
    off = hypot(heard.vx[0] - said.vx[0], heard.vy[0] - said.vy[0])
    assert off <= 0.0051 + speed * np.radians(0.0501)
    # Half axes in steps of 1 cm, to 40.93 m.
    for name in ("var_x", "var_y"):
        sent, got = np.sqrt(getattr(said, name)[0]), np.sqrt(getattr(heard, name)[0])
        assert abs(sent - got) <= 0.0051 / 2.447


@needs_pycrate
def test_velocity_confidence_comes_back_along_the_way() -> None:
    """Along x: the speed's confidence is σ_vx, the heading's is σ_vy over the speed."""
    said = reports(vx=16.0, vy=0.0, var_vx=0.04, var_vy=0.25)
    heard = reports_of(quantise(said), said.timestamp)
    assert np.sqrt(heard.var_vx[0]) == pytest.approx(0.2, abs=0.005 / 1.96)
    assert np.sqrt(heard.var_vy[0]) == pytest.approx(0.5, abs=16 * np.radians(0.05) / 1.96)


def test_known_numbers() -> None:
    """North at 10 m/s is heading 0, east 900; σ = 1 m is a half axis of 2.45 m."""
    north = quantise(reports(vx=0.0, vy=10.0, var_x=1.0, var_y=4.0))
    assert (north.heading_value[0], north.speed_value[0]) == (0, 1000)
    assert north.semi_major_confidence[0] == 490
    assert north.semi_minor_confidence[0] == 245
    assert north.semi_major_orientation[0] == 0
    east = quantise(reports(vx=10.0, vy=0.0, var_x=4.0, var_y=1.0))
    assert (east.heading_value[0], east.semi_major_orientation[0]) == (900, 900)
    west = quantise(reports(vx=-10.0, vy=0.0))
    assert west.heading_value[0] == 2700


def test_what_is_unknown_or_too_uncertain_stays_unknown() -> None:
    unknown = quantise(reports(vx=np.nan, var_x=np.nan))
    assert unknown.speed_value[0] == 16383
    assert unknown.heading_value[0] == 3601
    assert 4095 in (unknown.semi_major_confidence[0], unknown.semi_minor_confidence[0])
    heard = reports_of(unknown, np.array([BEGIN + 1000]))
    assert np.isnan(heard.vx[0])
    assert np.isnan(heard.vy[0])
    vague = quantise(reports(var_x=1e6, var_y=1e6, vx=10.0, vy=0.0, var_vx=25.0))
    assert vague.semi_major_confidence[0] == 4094
    assert vague.speed_confidence[0] == 126
    heard = reports_of(vague, np.array([BEGIN + 1000]))
    assert np.isnan(heard.var_x[0])
    assert np.isnan(heard.var_vx[0])


@needs_pycrate
def test_a_thousand_damaged_messages_do_no_harm_and_all_are_counted() -> None:
    random = np.random.default_rng(4)
    uper = codec()
    (row,) = quantise(reports()).rows()
    good = uper.encode(row)
    outcomes = uper.decode_all(damaged(good, random) for _ in range(1000))
    dropped = [outcome for outcome in outcomes if isinstance(outcome, Drop)]
    decoded = [outcome for outcome in outcomes if not isinstance(outcome, Drop)]
    assert len(dropped) + len(decoded) == 1000
    assert len(dropped) > 400
    assert decoded, "some flipped bits only change a number"
    reports_of(values_of(decoded), np.full(len(decoded), BEGIN))
    assert uper.decode(good) == row  # the codec is none the worse


@needs_pycrate
@examples(300)
@given(st.binary(max_size=200))
def test_any_bytes_are_decoded_or_dropped(data: bytes) -> None:
    outcome = codec().decode(data)
    assert isinstance(outcome, Drop | tuple)


@needs_pycrate
def test_other_messages_are_dropped_by_name() -> None:
    uper = codec()
    (row,) = quantise(reports()).rows()
    good = uper.encode(row)
    assert uper.decode(b"\x02\x01" + good[2:]) is Drop.OTHER_MESSAGE  # a DENM's header
    nowhere = list(row)
    nowhere[2] = 900_000_001
    assert uper.decode(uper.encode(tuple(nowhere))) is Drop.NO_POSITION
    assert uper.decode(b"") is Drop.UNDECODABLE


def test_without_pycrate_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycrate_asn1dir.ITS_CAM_2", None)
    cam.codec.cache_clear()
    try:
        with pytest.raises(EnvironmentMissing, match=r"pip install 'headway\[cam\]'"):
            cam.codec()
    finally:
        cam.codec.cache_clear()


def test_rows_and_columns_are_the_same_numbers() -> None:
    values = quantise(reports())
    again = values_of(values.rows())
    assert isinstance(again, CamValues)
    assert again.rows() == values.rows()
    assert values_of([]).rows() == []
