"""The page: self-contained, escaped, with everything the tables say."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from tests.report.study import collision_warning

from headway.model.plan import Asked, ChangedLine, FixedBound, LatencyStep, PlanFix
from headway.model.quantities import SECOND
from headway.report.plan import plan_tables
from headway.report.plan.plan_page import enlarged, longest_bar, plan_html, time_bar

VOID = {"meta"}


class Reader(HTMLParser):
    """Checks that elements are closed in order and collects tags, addresses and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for key, value in attrs if key in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_well_formed_and_needs_nothing_else() -> None:
    html = plan_html(collision_warning())
    page = Reader(html)
    assert page.addresses == []
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert "url(" not in html
    assert "@import" not in html
    assert html == plan_html(collision_warning())


def test_it_is_made_for_phones_print_and_dark_mode() -> None:
    html = plan_html(collision_warning())
    assert 'name="viewport"' in html
    assert "@media print" in html
    assert "(prefers-color-scheme:dark)" in html


def test_it_says_what_can_be_promised_and_why() -> None:
    text = Reader(plan_html(collision_warning())).text
    assert "✗ 2 of 3 deadlines cannot be promised." in text
    assert "deadline 30 ms, bound 23.152 ms, slack 6.848 ms" in text
    assert "node3: node3 can be asked for more than it can do" in text
    assert "min(d2 - c2, d3 - c3) - bus1" in text


def _fix(name: str) -> PlanFix:
    bound = FixedBound(
        output=name, asked=Asked.DEADLINE, before=None, after=2_123_456, limit=3_000_000
    )
    lines = (
        ChangedLine(file=name, line=4, text=f"- {name}"),
        ChangedLine(file=name, line=4, text="+ pins: {}"),
    )
    return PlanFix(what=f"pin {name}", bounds=(bound,), lines=lines)


def test_changes_that_would_help_are_shown_line_by_line() -> None:
    plan = collision_warning()
    assert plan.verdict is not None
    helped = replace(plan, verdict=replace(plan.verdict, fixes=(_fix("map3"),)))
    text = Reader(plan_html(helped)).text
    assert "Pin map3. map3: no bound → 2.124 ms of 3 ms." in text
    assert "map3:4\n- map3\n+ pins: {}" in text


def test_names_are_escaped() -> None:
    plan = collision_warning()
    assert plan.verdict is not None
    hostile = replace(
        plan,
        query=replace(plan.query, name="<script>1</script>"),
        verdict=replace(
            plan.verdict,
            promises=tuple(
                replace(promise, advice="<img src=x>", blame='"><script>')
                for promise in plan.verdict.promises
            ),
            fixes=(_fix("<script>2</script>"),),
        ),
    )
    page = Reader(plan_html(hostile))
    assert "script" not in page.tags
    assert "img" not in page.tags


def test_a_plan_without_a_verdict_has_no_promises() -> None:
    text = Reader(plan_html(replace(collision_warning(), verdict=None))).text
    assert "nothing is known about time" in text
    assert "Where the time goes" not in text


def test_the_bars_show_each_step_in_proportion_and_have_one_scale() -> None:
    """As wide as the longest of all bounds and of the deadlines that are drawn."""
    plan = collision_warning()
    assert plan.verdict is not None
    bounds = {promise.output: promise.bound or 0 for promise in plan.verdict.promises}
    near = [p.deadline for p in plan.verdict.promises if p.deadline <= 2 * bounds[p.output]]
    whole = max(*bounds.values(), *near)
    assert longest_bar(plan) == whole
    for promise in plan.verdict.promises:
        bar = time_bar(promise, plan)
        widths = [float(width) for width in re.findall(r'<rect[^>]* width="([\d.]+)%"', bar)]
        assert len(widths) == len(promise.steps)
        for width, step in zip(widths, promise.steps, strict=True):
            share = step.time * enlarged(promise, plan) / (1.01 * whole)
            assert abs(width - 100 * share) < 0.01
    assert "deadline 30 ms" in time_bar(plan.verdict.promises[0], plan)


def test_a_bar_too_short_to_be_seen_is_drawn_larger_and_says_so() -> None:
    plan = collision_warning()
    assert plan.verdict is not None
    first, *others = plan.verdict.promises
    short = replace(
        first,
        bound=23_000,
        deadline=90_000,
        steps=(LatencyStep(place="gps", what="", time=23_000),),
    )
    plan = replace(plan, verdict=replace(plan.verdict, promises=(short, *others)))
    times = enlarged(short, plan)
    assert times in {100, 1000, 10_000}
    assert 0.1 < times * 23_000 / longest_bar(plan) <= 1
    (width,) = re.findall(r'<rect[^>]* width="([\d.]+)%"', time_bar(short, plan))
    assert abs(float(width) - 100 * times * 23_000 / (1.01 * longest_bar(plan))) < 0.01
    assert f"Drawn {times:,} times larger." in Reader(plan_html(plan)).text
    assert [enlarged(promise, plan) for promise in others] == [1, 1]


def test_the_page_says_which_ecu_is_on_which_bus() -> None:
    plan = collision_warning()
    rows = {row[0]: row[3] for row in plan_tables.connections(plan).rows}
    assert rows == {"bus1": "node1, node2, gateway", "bus2": "node3, gateway"}
    text = Reader(plan_html(plan)).text
    assert all(nodes in text for nodes in rows.values())


def test_a_far_deadline_is_named_and_not_drawn() -> None:
    plan = collision_warning()
    assert plan.verdict is not None
    promise = replace(
        plan.verdict.promises[0],
        deadline=3 * SECOND,
        bound=1,
        steps=(LatencyStep(place="gps", what="<arrives>", time=1),),
    )
    assert "deadline" not in time_bar(promise, plan)
    assert "&lt;arrives&gt;" in time_bar(promise, plan)
    assert time_bar(replace(promise, bound=None, steps=()), plan) == ""
