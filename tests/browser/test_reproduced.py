"""The report of a real `headway reproduce all --quick` in a real browser."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.browser.conftest import Visitor
from tests.studies.quick_run import QuickRun

OUTSIDE = """[...document.querySelectorAll('figure.chart svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.width && (box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1);
  }).map(text => `${svg.closest('.study').id}: ${text.textContent}`);
})"""
"""texts of pictures that stick out of their frames"""
EMPTY = """[...document.querySelectorAll('.study')].filter(
  study => study.querySelector('.claim')
    && !study.querySelector('figure.chart svg .role-mark path, .grid tbody tr')
).map(study => study.id)"""
"""studies with claims and nothing to see"""
MARKS = """[...document.querySelectorAll('.glance a.mark')].map(mark => {
  mark.scrollIntoView({block: 'center'});
  const box = mark.getBoundingClientRect();
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  if (hit !== mark) return [mark.hash, 'covered'];
  mark.click();
  const target = document.querySelector('.claim:target');
  return [mark.hash, target && '#' + target.id, target && target.className, mark.className];
})"""
"""where each mark leads when it is clicked"""


def claims(quick_run: QuickRun) -> list[dict[str, Any]]:
    """All that the command found, in the order of the report."""
    told = json.loads((quick_run.folder / "verdicts.json").read_text(encoding="utf-8"))
    return [
        claim | {"place": f"#{one['name']}-{place}"}
        for one in told
        for place, claim in enumerate(one["claims"] or ())
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_fits_every_width(visitor: Visitor, quick_run: QuickRun, width: int, scheme: str) -> None:
    page = visitor.open(quick_run.report, width=width, color_scheme=scheme)
    page.evaluate("Promise.all(figures.map(draw))")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []
    assert page.evaluate(EMPTY) == []


def test_every_mark_leads_to_its_claim(visitor: Visitor, quick_run: QuickRun) -> None:
    page = visitor.open(quick_run.report)
    wanted = claims(quick_run)
    assert len(wanted) > 100
    led = [one for one in page.evaluate(MARKS) if one[0] in {claim["place"] for claim in wanted}]
    assert [(place, target) for place, target, *_ in led] == [
        (claim["place"], claim["place"]) for claim in wanted
    ]
    assert all(kind.split()[1] == mark.split()[1] for _, _, kind, mark in led)
    clicked_by_hand(page, wanted[-1])


def clicked_by_hand(page: Page, claim: dict[str, Any]) -> None:
    """With the pointer, as a reader does; what is then on the screen is the claim."""
    page.locator(f".glance a.mark[href='{claim['place']}']").click()
    target = page.locator(".claim:target")
    assert claim["ours"].split()[0] in target.inner_text()
    box = target.bounding_box()
    assert box is not None
    assert 0 <= box["y"] < 860


def test_the_numbers_at_the_top_are_those_of_the_claims(
    visitor: Visitor, quick_run: QuickRun
) -> None:
    page = visitor.open(quick_run.report)
    tally = page.locator(".tally li").all_inner_texts()
    counts = [int(one.split()[0]) for one in tally if "not run here" not in one]
    assert sum(counts) == len(claims(quick_run))
    assert not any("failed" in one for one in tally)
