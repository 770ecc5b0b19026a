"""The live page in a real browser: numbers come as states change; light, dark, narrow."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, expect
from tests.cli.invoke import EXAMPLES
from tests.cli.test_watch import Given
from tests.engine.test_live_state import STATE
from tests.waiting import PATIENCE_S

import headway as hw
from headway.cli.watch_server import Latest, WatchServer
from headway.engine.live_state import LiveEvent, LiveNode, LiveOperator
from headway.report.watch_page import watch_html

HELLO = EXAMPLES / "hello"


@pytest.fixture
def watched() -> Iterator[tuple[Given, str]]:
    plan = hw.compile(HELLO / "query.yaml", HELLO / "vehicle.yaml").plan
    fast = LiveOperator(operator="fast", node="ecu", taken=10, given=5)
    given = Given(replace(STATE, operators=(fast,)))
    latest = Latest(given)
    server = WatchServer(latest, watch_html("<b>hello</b>", plan), 0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield given, server.address
    server.stop()
    latest.close()
    thread.join()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 400)])
def test_the_page_follows_the_run(
    browser: Browser, watched: tuple[Given, str], scheme: str, width: int
) -> None:
    given, address = watched
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page.set_default_timeout(PATIENCE_S * 1000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    patience = PATIENCE_S * 1000
    expect(page.locator("h1")).to_have_text("<b>hello</b>", timeout=patience)
    expect(page.locator("[data-output=alarm]")).to_contain_text("1 missed", timeout=patience)
    expect(page.locator("#status")).to_contain_text("running", timeout=patience)
    given.state = replace(
        given.state,
        passed=given.state.passed + 1_000_000_000,
        operators=(LiveOperator(operator="fast", node="ecu", taken=52, given=5, waiting=11),),
        nodes=(LiveNode(node="rear", state="lost", peers=(("front", "lost"),)),),
        events=(LiveEvent(at=1_500_000_000, where="front", what="peer lost"),),
    )
    expect(page.locator("[data-node=rear]")).to_contain_text("lost", timeout=patience)
    expect(page.locator("#events li").first).to_contain_text("peer lost", timeout=patience)
    mark = page.locator('[data-key="stream:fast"] .live-count')
    expect(mark).to_contain_text("11 wait", timeout=patience)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    given.state = replace(given.state, running=False)
    expect(page.locator("#status")).to_contain_text("ended", timeout=patience)
    assert complaints == []
    assert all(url.startswith(address) for url in asked)
    page.close()
