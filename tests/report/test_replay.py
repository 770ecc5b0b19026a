"""What a replay refuses, how it is packed, and what the page holds without a browser."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.browser.sample_replay import sample_replay

from headway.errors import DataError
from headway.report.replay.replay_data import Replay, ReplayEstimates
from headway.report.replay.replay_page import ColumnStore, confidence_ellipse, replay_page

SMALL = sample_replay(cars=6, seconds=1.0)


def unpacked(store: ColumnStore, told: dict[str, float]) -> list[float]:
    """What assets/replay_data.js does, with whole numbers of any size."""
    planes = zlib.decompress(base64.b64decode(store.base64()))
    at, count = int(told["at"]), int(told["count"])
    values, total = [], 0
    for i in range(count):
        folded = sum(planes[at + i + plane * count] << (8 * plane) for plane in range(4))
        total = (total + ((folded >> 1) ^ -(folded & 1)) + 2**31) % 2**32 - 2**31
        values.append(np.nan if total == -(2**31) else total * told["step"])
    return values


@given(
    st.lists(
        st.one_of(
            st.integers(-(2**31) + 1, 2**31 - 1).map(lambda n: n / 100), st.just(float("nan"))
        ),
        max_size=40,
    ),
    st.lists(st.integers(-5, 5), max_size=5),
)
def test_columns_come_back_in_whole_steps(values: list[float], before: list[int]) -> None:
    store = ColumnStore()
    store.add(np.array(before, dtype=np.int64))
    told = store.add(np.array(values), 0.01)
    np.testing.assert_allclose(unpacked(store, told), values, atol=0.005)


def test_a_number_that_does_not_fit_is_refused() -> None:
    with pytest.raises(DataError, match=r"too large for a replay; got 3e\+07; at most 2\.1"):
        ColumnStore().add(np.array([1.0, -3e7]), 0.01)


def test_the_ellipse_holds_95_percent() -> None:
    covariance = np.array([[4.0, 1.5], [1.5, 1.0]])
    points = np.random.default_rng(1).multivariate_normal([0, 0], covariance, 200_000)
    major, minor, angle = (
        float(part[0]) for part in confidence_ellipse(*(np.array([v]) for v in (4.0, 1.0, 1.5)))
    )
    along = points @ [np.cos(angle), np.sin(angle)]
    across = points @ [-np.sin(angle), np.cos(angle)]
    inside = (along / major) ** 2 + (across / minor) ** 2 <= 1
    assert np.mean(inside) == pytest.approx(0.95, abs=0.002)


def test_a_minute_among_300_cars_stays_small() -> None:
    assert len(replay_page(sample_replay(cars=300, seconds=60.0, blocks=8))) < 2_000_000


def test_no_text_of_the_user_becomes_markup() -> None:
    run = replace(SMALL.runs[0], name="</script><b>x")
    html = replay_page(replace(SMALL, title="<i>t</i>", runs=(run,)))
    assert "</script><b>" not in html
    assert "<i>t" not in html


def test_a_run_may_know_nothing() -> None:
    times, numbers = np.zeros(0, np.int64), np.zeros(0, np.float64)
    nothing = ReplayEstimates(times, times, times, *(numbers,) * 7, times)
    run = replace(SMALL.runs[0], estimates=nothing, warnings=(), latencies=(), encounters=())
    assert "output1</" not in replay_page(replace(SMALL, runs=(run,)))


def _worse(**changes: object) -> Replay:
    return replace(SMALL, **changes)  # type: ignore[arg-type]


def _estimates(**changes: object) -> Replay:
    run = SMALL.runs[0]
    return _worse(runs=(replace(run, estimates=replace(run.estimates, **changes)),))  # type: ignore[arg-type]


E = SMALL.runs[0].estimates
BAD = [
    (_worse(own=99), r"own: our car is not among the cars; got 99"),
    (_worse(runs=()), r"runs: there is no run; give at least one"),
    (_worse(runs=SMALL.runs[:1] * 2), r"runs: stands there more than once; got S-EDF 2 times"),
    (
        _worse(traffic=replace(SMALL.traffic, x=SMALL.traffic.x[:, :2])),
        r"traffic.x: not one column for each car; got shape \(11, 2\); give \(frames, 6\)",
    ),
    (
        _worse(traffic=replace(SMALL.traffic, x=SMALL.traffic.x * np.inf)),
        r"traffic: a car is infinitely far away",
    ),
    (
        _worse(traffic=replace(SMALL.traffic, y=SMALL.traffic.y * np.nan)),
        r"no car is ever on the map",
    ),
    (_estimates(x=E.x[:-1]), r"runs.S-EDF.estimates: columns are not of one length; got produced"),
    (_estimates(produced=E.produced[::-1]), r"runs.S-EDF.estimates: are not in order of time"),
    (_estimates(sensed=E.produced + 1), r"an output came before it was sensed; got row 0"),
    (_estimates(var_x=-E.var_x), r"a variance is negative"),
    (_estimates(vy=E.vy * np.nan), r"estimates.vy: a value is not a finite number"),
    (
        _estimates(sensor=E.sensor + 4),
        r"a sensor is unknown; give places in own, radar, v2v, fused",
    ),
]


@pytest.mark.parametrize(("replay", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_parts_that_do_not_fit_are_refused(replay: Replay, message: str) -> None:
    with pytest.raises(DataError, match=message):
        replay_page(replay)
