"""The replay in a real browser: what is on the page at which moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Visitor
from tests.browser.sample_replay import OWN, SPEED, WARNED, WARNING_AT, sample_replay

from headway.report.replay.replay_data import BrakedWay, Encounter
from headway.report.replay.replay_page import replay_page

REPLAY = sample_replay()
PAGE = replay_page(REPLAY)


def opened(visitor: Visitor, **context: Any) -> Page:
    page = visitor.open(PAGE, **context)
    page.wait_for_function("window.replayState !== undefined")
    return page


def state(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("replayState()")
    return found


def seek(page: Page, seconds: float) -> dict[str, Any]:
    """As a hand on the slider does."""
    page.locator("#seek").fill(str(round(seconds * 1e6)))
    return state(page)


def car(found: dict[str, Any], id: int) -> dict[str, Any]:
    (one,) = [car for car in found["cars"] if car["id"] == id]
    return dict(one)


def pixels(page: Page, canvas: str) -> list[int]:
    """A fingerprint of what is drawn: the sum of each channel."""
    sums: list[int] = page.evaluate(
        """(id) => {
          const shown = document.getElementById(id);
          const copy = new OffscreenCanvas(shown.width, shown.height);
          const pen = copy.getContext("2d", { willReadFrequently: true });
          pen.drawImage(shown, 0, 0);
          const sums = [0, 0, 0, 0];
          const { data } = pen.getImageData(0, 0, shown.width, shown.height);
          data.forEach((value, i) => (sums[i % 4] += value));
          return sums.slice(0, 3);
        }""",
        canvas,
    )
    return sums


def test_the_large_button_goes_when_somebody_seeks(visitor: Visitor) -> None:
    page = opened(visitor)
    assert page.locator("#big-play").is_visible()
    seek(page, 2.0)
    assert not page.locator("#big-play").is_visible()


def test_opens_paused_at_the_start_with_every_car(visitor: Visitor) -> None:
    page = opened(visitor)
    found = state(page)
    assert (found["time"], found["playing"], found["run"]) == (0, False, "S-EDF")
    assert found["duration"] == 8
    assert len(found["cars"]) == len(REPLAY.traffic.cars) - 1  # one drives on to the map later
    assert page.locator("h1").inner_text() == REPLAY.title
    assert not page.locator("#failure").is_visible()


def test_cars_stand_where_they_really_were(visitor: Visitor) -> None:
    page = opened(visitor)
    before, drawn = seek(page, 1.0), pixels(page, "map")
    after = seek(page, 4.0)
    for frame, found in ((10, before), (40, after)):
        for number, one in enumerate(REPLAY.traffic.cars[:4]):
            shown = car(found, one.id)
            assert shown["x"] == pytest.approx(REPLAY.traffic.x[frame, number], abs=0.006)
            assert shown["y"] == pytest.approx(REPLAY.traffic.y[frame, number], abs=0.006)
    assert car(after, OWN)["y"] - car(before, OWN)["y"] == pytest.approx(3 * SPEED, abs=0.02)
    assert pixels(page, "map") != drawn
    assert len(seek(page, 7.0)["cars"]) == len(REPLAY.traffic.cars)


def test_an_estimate_appears_when_it_leaves_the_engine(visitor: Visitor) -> None:
    page = opened(visitor)
    page.locator("#seek").evaluate("slider => slider.step = 1000")
    estimates = REPLAY.runs[0].estimates
    row = int((estimates.id == WARNED).argmax())  # the first of this car
    assert not any(
        one["id"] == WARNED for one in seek(page, estimates.produced[row] / 1e6 - 0.002)["known"]
    )
    (known,) = [
        one
        for one in seek(page, estimates.produced[row] / 1e6 + 0.002)["known"]
        if one["id"] == WARNED
    ]
    assert known["x"] == pytest.approx(estimates.x[row], abs=0.006)
    assert known["latency"] == pytest.approx(
        estimates.produced[row] - estimates.sensed[row], abs=51
    )
    assert known["sensor"] == "radar"
    # χ² of 5.99; eigenvalues of ((1.5, .5), (.5, .9)) are 1.783 and 0.617
    assert known["major"] == pytest.approx((5.991 * 1.783) ** 0.5, abs=0.01)
    assert known["minor"] == pytest.approx((5.991 * 0.617) ** 0.5, abs=0.01)


@pytest.mark.parametrize("run", ["S-EDF", "FIFO+"])
def test_the_warning_appears_at_its_time(visitor: Visitor, run: str) -> None:
    page = opened(visitor)
    page.get_by_label(run).check()
    at = WARNING_AT[run] / 1e6
    assert seek(page, at - 0.1)["warnings"] == []
    assert not page.locator("#alert").is_visible()
    (warning,) = seek(page, at)["warnings"]
    assert warning["id"] == WARNED
    assert warning["ttc"] == pytest.approx(6.0 - at, abs=0.01)
    assert page.locator("#alert").inner_text() == f"⚠ car {WARNED}: collision in {6 - at:.1f} s"
    assert page.locator("#spoken").inner_text() == f"Warning of car {WARNED}"


def test_the_run_switch_changes_what_is_known_not_what_is_true(visitor: Visitor) -> None:
    page = opened(visitor)
    quick, strips = seek(page, 6.5), pixels(page, "strips")
    page.get_by_label("FIFO+").check()
    slow = state(page)
    assert slow["run"] == "FIFO+"
    assert slow["cars"] == quick["cars"]
    assert slow["known"] != quick["known"]
    assert (quick["crashes"], slow["crashes"]) == ([], [WARNED])
    assert pixels(page, "strips") != strips
    assert page.locator("aside h2:visible").inner_text() == "FIFO+"
    assert page.locator("aside td.broken:visible").inner_text() == "crash"


def test_two_runs_side_by_side(visitor: Visitor) -> None:
    """The same moment in both: one is warned, the other is not yet, and later crashes."""
    page = opened(visitor)
    assert not page.locator("#other").is_visible()
    page.get_by_role("button", name="two side by side").click()
    assert state(page)["beside"] == "FIFO+"
    assert page.locator("#run-name").inner_text() == "S-EDF"
    seek(page, 3.0)
    assert page.locator("#alert").is_visible()
    assert not page.locator("#other-alert").is_visible()
    assert pixels(page, "map") != pixels(page, "other-map")
    seek(page, 6.5)
    assert page.locator("#other-alert").inner_text() == (
        f"✕ crash with car {WARNED}, known 1.3 s before"
    )
    assert "crash" not in (page.locator("#alert").text_content() or "")
    page.locator("#other-run").select_option("0")
    assert "crash" not in (page.locator("#other-alert").text_content() or "")
    page.keyboard.press("2")
    assert page.locator("#alert").inner_text().startswith("✕ crash")
    page.keyboard.press("b")
    assert state(page)["beside"] is None
    assert not page.locator("#other").is_visible()


def test_the_whole_map_fills_its_frame(visitor: Visitor) -> None:
    page = opened(visitor)
    page.get_by_role("button", name="whole map").click()
    box = page.locator("#map").bounding_box()
    assert box is not None
    spans = page.evaluate("replayState().spans")
    assert box["width"] / box["height"] == pytest.approx(spans[0] / spans[1], rel=0.02)
    page.get_by_role("button", name="follow").click()
    wide = page.locator("#map").bounding_box()
    assert wide is not None
    assert wide["width"] > box["width"]


def test_the_page_says_what_one_sees_and_what_a_crash_is(visitor: Visitor) -> None:
    page = opened(visitor)
    assert page.locator(".story").inner_text() == (
        "Our car (blue) drives among 39 others, and one of them would hit it (orange). S-EDF knows "
        "1 of 1 in time to stop; FIFO+ knows 0 of 1 in time to stop."
    )
    assert (
        page.locator("aside p:visible")
        .inner_text()
        .startswith("A crash: our car knew of the other less than 2.8 s before the impact")
    )


def test_opens_a_little_before_the_first_car_that_would_hit_ours(visitor: Visitor) -> None:
    late = replace(
        REPLAY,
        runs=tuple(
            replace(run, encounters=(Encounter(WARNED, 7_000_000, crash=True, detected=known),))
            for run, known in zip(REPLAY.runs, (None, 6_500_000), strict=True)
        ),
    )
    page = visitor.open(replay_page(late))
    page.wait_for_function("window.replayState !== undefined")
    # 7 s less 2.8 s, when it should have been known, less 3 s
    assert state(page)["time"] == pytest.approx(1.2)
    assert car(state(page), OWN)
    assert state(page)["follow"]


def test_keyboard(visitor: Visitor) -> None:
    page = opened(visitor)
    page.keyboard.press("ArrowRight")
    assert state(page)["time"] == pytest.approx(0.1)
    page.keyboard.press("Shift+ArrowRight")
    assert state(page)["time"] == pytest.approx(1.1)
    page.keyboard.press("ArrowLeft")
    assert state(page)["time"] == pytest.approx(1.0)
    page.keyboard.press("2")
    page.keyboard.press("f")
    assert (state(page)["run"], state(page)["follow"]) == ("FIFO+", False)
    page.locator("#speed").select_option("0.1")  # more than a minute to the end
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    page.wait_for_function("replayState().time > 1.05")
    assert state(page)["playing"]
    page.keyboard.press("Space")
    assert not state(page)["playing"]
    page.keyboard.press("End")
    assert state(page)["time"] == 8


def test_plays_to_the_end_and_stops(visitor: Visitor) -> None:
    page = opened(visitor)
    seek(page, 7.0)
    page.locator("#speed").select_option("10")
    page.locator("#play").click()
    page.wait_for_function("!replayState().playing")
    assert state(page)["time"] == 8
    assert page.locator("#play").get_attribute("aria-label") == "Play"


def test_pointing_at_a_car_compares_truth_and_estimate(visitor: Visitor) -> None:
    page = opened(visitor)
    found = seek(page, 4.0)
    box = page.locator("#map").bounding_box()
    assert box is not None
    x, y = car(found, WARNED)["at"]
    page.mouse.move(box["x"] + x, box["y"] + y)
    tip = page.locator("#tip").inner_text()
    assert f"Car {WARNED} · without V2V · on collision course" in tip
    assert "truth 166.7, 300.0 m" in tip
    assert "estimate" in tip
    assert "(radar)" in tip


def test_a_jump_goes_to_the_detection(visitor: Visitor) -> None:
    page = opened(visitor)
    page.get_by_role("button", name=f"Show car {WARNED}").click()
    assert state(page)["time"] == pytest.approx(WARNING_AT["S-EDF"] / 1e6 - 0.5)


def test_a_phone_needs_no_scrolling_sideways(visitor: Visitor) -> None:
    page = opened(visitor, width=390, height=844, has_touch=True)
    seek(page, 3.0)
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    box = page.locator("#map").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390


def test_dark_mode_darkens_the_map_too(visitor: Visitor) -> None:
    page = opened(visitor, color_scheme="light")
    light = pixels(page, "map")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("getComputedStyle(document.body).backgroundColor === 'rgb(16, 21, 28)'")
    page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert sum(pixels(page, "map")) < sum(light) / 2


def test_damaged_data_is_told_on_the_page(visitor: Visitor) -> None:
    start = PAGE.index('id="replay-columns">') + len('id="replay-columns">')
    page = visitor.open(PAGE[:start] + PAGE[start + 400 :])
    page.locator("#failure").wait_for(state="visible")
    assert page.locator("#failure").inner_text().startswith("The replay cannot be shown")


def test_our_car_brakes_beside_itself(visitor: Visitor) -> None:
    """Where it would be had it braked: an outline, while our car drives on to meet the next."""
    way = BrakedWay(begin=2_000_000, speed=SPEED, reaction=0.5, deceleration=8.0)
    met = (
        Encounter(WARNED, 6_000_000, False, 2_000_000, 4.0, braked=way),
        Encounter(WARNED, 6_000_000, True, 2_000_000, 4.0, braked=way, hit=10.0),
    )
    runs = tuple(replace(run, encounters=(one,)) for run, one in zip(REPLAY.runs, met, strict=True))
    page = visitor.open(replay_page(replace(REPLAY, runs=runs, brakes=True)))
    page.wait_for_function("window.replayState !== undefined")
    assert seek(page, 1.9)["braking"] == []
    begin = car(seek(page, 2.0), OWN)
    for after, driven in (
        (0.5, 0.5 * SPEED),
        (1.0, SPEED - 4 * 0.5**2),
        (3.5, 0.5 * SPEED + SPEED**2 / 16),  # it stands
    ):
        (found,) = seek(page, 2.0 + after)["braking"]
        moved = ((found["x"] - begin["x"]) ** 2 + (found["y"] - begin["y"]) ** 2) ** 0.5
        assert moved == pytest.approx(driven, abs=0.02)
    assert state(page)["crashes"] == []
    assert (
        "S-EDF brakes and hits 0 of 1; FIFO+ brakes and hits 1 of 1"
        in page.locator(".story").inner_text()
    )
    assert page.locator("aside td.kept:visible").inner_text() == "no touch"
    assert page.locator("aside p:visible").inner_text().startswith("A crash: the two cars touch.")
    page.keyboard.press("2")
    assert seek(page, 6.5)["crashes"] == [WARNED]
    assert page.locator("aside td.broken:visible").inner_text() == "crash at 36 km/h"
