"""One seed of a simulation as a page: what befell the car, what its nodes noted, what its outputs
gave, on one line of time. The page loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.report.html import escaped, page, section_table
from headway.report.plan.plan_tables import BROKEN, KEPT, Table
from headway.report.svg import element, group, label, picture_css, rect, width_of
from headway.simulation.campaign import SeedResult
from headway.simulation.fault_plan import Fault
from headway.simulation.simulated_process import Incarnation

CLASS = "headway-simulation"
WIDTH, MARGIN, ROW, BAR, TOP, BOTTOM = 1040.0, 16.0, 34.0, 18.0, 30.0, 30.0
MOST_TICKS = 12
MOST_EVENTS = 400
"""in the table"""
_LIGHT = {
    "text": "fill:#18212d",
    ".muted": "fill:#566273",
    ".page": "fill:#ffffff",
    ".grid": "stroke:#d5dde7;stroke-width:1",
    ".life": "fill:#9cc3f2",
    ".fault": "fill:#a01c15;fill-opacity:.35",
    ".noted": "fill:#18212d",
    ".given": "fill:#14632f",
    ".missed": "fill:#a01c15",
}
_DARK = {
    "text": "fill:#e7ecf3",
    ".muted": "fill:#a3b0c0",
    ".page": "fill:#10151c",
    ".grid": "stroke:#2e3a49",
    ".life": "fill:#2f5f9e",
    ".fault": "fill:#ffa9a2;fill-opacity:.45",
    ".noted": "fill:#e7ecf3",
    ".given": "fill:#7fdca0",
    ".missed": "fill:#ffa9a2",
}
QUIET = frozenset({"ready", "running", "finished"})


def simulation_html(plan: Plan, result: SeedResult) -> str:
    """The whole document."""
    run, seed = result.run, result.faults.seed
    violations = result.judgement.violations
    verdict = (
        f'<p class="verdict broken">{BROKEN} {len(violations)} properties do not hold</p>'
        if violations
        else f'<p class="verdict kept">{KEPT} every property holds</p>'
    )
    title = f"{plan.query.name}: seed {seed}"
    body = [
        f"<h1>{escaped(title)}</h1>",
        verdict,
        f'<p class="muted">{run.took / SECOND:.3f} s simulated, trace {run.trace_hash[:16]}</p>',
        section_table(_violations(result)),
        f"<section><h2>Time</h2><figure>{_Timeline(result).svg()}</figure>",
        "<p class='muted'>Blue: a process runs. Red: a fault. Marks on a node: what it noted. "
        "Marks of an output: its tuples, red after their deadline.</p></section>",
        section_table(_faults(result)),
        section_table(_losses(result)),
        section_table(_events(result)),
    ]
    return page(title, body)


# ---------------------------------------------------------------- tables


def _violations(result: SeedResult) -> Table:
    rows = [[one.rule, one.where, one.what] for one in result.judgement.violations]
    return Table(title="What does not hold", headers=["Property", "Where", "Seen"], rows=rows)


def _faults(result: SeedResult) -> Table:
    start = result.run.start
    rows = [
        [
            f"{(at - start) / MILLISECOND:,.1f}",
            fault.kind.value.replace("_", " "),
            " and ".join(fault.nodes),
            _length(fault),
        ]
        for at, fault in result.run.struck
    ]
    headers = ["From (ms)", "Fault", "Where", "For (ms)"]
    return Table(title="Faults", headers=headers, rows=rows, numeric=(0, 3))


def _length(fault: Fault) -> str:
    return "ever" if fault.until is None else f"{(fault.until - fault.at) / MILLISECOND:,.1f}"


def _losses(result: SeedResult) -> Table:
    rows = [[why, f"{count:,}"] for why, count in result.judgement.missing.items()]
    headers = ["Why tuples are missing", "Tuples"]
    return Table(title="Losses", headers=headers, rows=rows, numeric=(1,))


def _events(result: SeedResult) -> Table:
    noted = sorted(_noted(result))[:MOST_EVENTS]
    rows = [[f"{at / MILLISECOND:,.3f}", node, event, more] for at, node, event, more in noted]
    headers = ["Time (ms)", "Node", "Event", "What"]
    return Table(title="What the nodes noted", headers=headers, rows=rows, numeric=(0,))


def _noted(result: SeedResult) -> Iterator[tuple[int, str, str, str]]:
    """Time (of the recording, by the node's own clock), node, event and its facts."""
    for node, events in result.run.events.items():
        begin = next((one["start"] for one in events if one["event"] == "running"), None)
        for one in events:
            if begin is not None:
                known = ("at", "node", "event", "epoch", "start", "first_arrival", "silent_ns")
                facts = [f"{key} {value}" for key, value in one.items() if key not in known]
                yield one["at"] - begin, node, one["event"], ", ".join(facts)


# ---------------------------------------------------------------- the picture


class _Timeline:
    def __init__(self, result: SeedResult) -> None:
        self._result, self._run = result, result.run
        self._rows = [*result.run.events, *result.run.lines]
        widest = max(width_of(name, 12, bold=True) for name in self._rows)
        self._left = MARGIN + min(max(widest + 14, 60.0), 220.0)
        self._scale = (WIDTH - self._left - 2 * MARGIN) / max(1, result.run.took)

    def svg(self) -> str:
        height = TOP + ROW * len(self._rows) + BOTTOM
        parts = [f"<style>{picture_css(CLASS, _LIGHT, _DARK)}</style>"]
        parts.append(rect(0, 0, WIDTH, height, "page", 6))
        parts += self._grid(height)
        for place, name in enumerate(self._rows):
            parts.append(label(name, MARGIN, self._y(place) + 13, self._left, size=12, bold=True))
        parts += self._lives()
        parts += self._faults()
        parts += self._marks()
        parts += self._outputs()
        return element(
            "svg",
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {WIDTH:.0f} {height:.0f}",
            role="img",
            class_=CLASS,
        )

    def _x(self, time: int) -> float:
        return self._left + min(max(0, time), self._run.took) * self._scale

    def _y(self, place: int) -> float:
        return TOP + place * ROW

    def _grid(self, height: float) -> Iterator[str]:
        start, took = self._run.start, self._run.took
        steps = (one * 10**power for power in range(6, 13) for one in (1, 2, 5))
        step = next(one for one in steps if took <= MOST_TICKS * one)
        for time in range(start % step, took + 1, step):
            x = self._x(time)
            yield element("line", x1=x, x2=x, y1=TOP - 6, y2=height - BOTTOM, class_="grid")
            text = f"{(time - start) / MILLISECOND:,.0f} ms"
            yield label(text, x, height - 10, 80, size=11, class_="muted", anchor="middle")

    def _world(self, engine_time: int) -> int:
        return engine_time - self._run.epoch + self._run.start

    def _bar(self, name: str, first: int, last: int, class_: str, tip: str) -> str:
        x, y = self._x(first), self._y(self._rows.index(name))
        width = max(2.0, self._x(last) - x)
        return group("", rect(x, y, width, BAR, class_, 3), title=tip)

    def _lives(self) -> Iterator[str]:
        for one in self._run.processes:
            first = 0 if one.began is None else self._world(one.began)
            last = self._run.took if one.ended is None else self._world(one.ended)
            yield self._bar(one.node, first, last, "life", _life(one))

    def _faults(self) -> Iterator[str]:
        for at, fault in self._run.struck:
            last = self._run.took
            if fault.until is not None:
                last = at + (0 if fault.kind.value == "reset" else fault.until - fault.at)
            for node in fault.nodes:
                yield self._bar(node, at, last, "fault", str(fault).strip())

    def _marks(self) -> Iterator[str]:
        for time, node, event, more in _noted(self._result):
            if event not in QUIET:
                x, y = self._x(time + self._run.start), self._y(self._rows.index(node))
                mark = rect(x - 1, y + BAR, 2, 7, "noted")
                yield group("", mark, title=f"{event} {more}")

    def _outputs(self) -> Iterator[str]:
        for name, lines in self._run.lines.items():
            y = self._y(self._rows.index(name))
            for line in lines:
                x = self._x(self._world(line["completed"]))
                yield rect(x - 0.5, y, 1, BAR, "missed" if line["missed"] else "given")


def _life(one: Incarnation) -> str:
    how = "still running" if one.code is None else f"exit code {one.code}"
    return f"{one.node}, process {one.number}: {how} {one.error}".rstrip()
