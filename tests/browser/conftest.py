"""Pages in a real browser: Chromium or Chrome of this machine, driven by Playwright.

Playwright's own browsers are not used: one that is installed anyway need not be downloaded again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from tests.waiting import PATIENCE_S

CANDIDATES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
MISSING = (
    "no browser to open pages with: install Chromium (on Debian or Ubuntu: apt install chromium) "
    "or set HEADWAY_BROWSER to the program"
)


def find_browser() -> str | None:
    """The program of ``HEADWAY_BROWSER``, or the first Chromium-like one on the path."""
    names = [named] if (named := os.environ.get("HEADWAY_BROWSER")) else CANDIDATES
    return next((found for name in names if (found := shutil.which(name))), None)


# Not for the whole session: while it is open, Playwright's event loop runs in this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_browser()
    if program is None:
        pytest.skip(MISSING)
    # Chromium refuses its sandbox to root, the usual user in containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=program, args=arguments, timeout=PATIENCE_S * 1000
        )
        yield chromium
        chromium.close()


@dataclass
class Visitor:
    """Opens HTML as a file and notes everything a self-contained page must not do."""

    browser: Browser
    folder: Path
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def open(self, html: str, width: int = 1280, height: int = 860, **context: Any) -> Page:
        """A page in a context of its own; ``color_scheme='dark'``, ``has_touch=True`` and so on."""
        file = self.folder / "page.html"
        file.write_text(html, encoding="utf-8")
        viewport = {"width": width, "height": height}
        page = self.browser.new_context(viewport=viewport, offline=True, **context).new_page()  # type: ignore[arg-type]
        page.set_default_timeout(PATIENCE_S * 1000)
        page.on(
            "console",
            lambda message: (
                self.complaints.append(message.text)
                if message.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(file.as_uri())
        return page

    def asked_for(self) -> set[str]:
        """Whatever was loaded beside the page itself; data inside the page does not count."""
        own = (self.folder / "page.html").as_uri()
        return {
            url for url in self.requests if url != own and not url.startswith(("data:", "blob:"))
        }


@pytest.fixture
def visitor(browser: Browser, tmp_path: Path) -> Iterator[Visitor]:
    """After the test: no error or warning on the console, nothing loaded."""
    one = Visitor(browser, tmp_path)
    yield one
    for context in browser.contexts:
        context.close()
    assert one.complaints == []
    assert one.asked_for() == set()
