"""The pictures of docs/concepts.md: ``python docs/site/draw_concepts.py`` writes them again.

Times of the picture of a bound are those that Headway gives for ``examples/starter``; the others
are drawn to explain a word. A test draws all of them again and compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path

import headway as hw

ROOT = Path(__file__).parents[2]
IMAGES = ROOT / "docs" / "img"
WIDTH, LEFT, RIGHT = 680, 120, 24

STYLE = """
text{font:13px system-ui,sans-serif;fill:#24292f} .small{font-size:11px;fill:#57606a}
.lane{stroke:#8c959f;stroke-width:1} .work{fill:#4c78a8} .other{fill:#b8c4d2} .wait{fill:#f2cf5b}
.mark{stroke:#d1495b;stroke-width:2} .bad{fill:#d1495b} .good{fill:#3a7d44} .on{fill:#fff}
.thin{stroke:#57606a;stroke-width:1;fill:none}
@media (prefers-color-scheme:dark){text{fill:#e6edf3} .small{fill:#9da7b1} .other{fill:#45505c}
.lane{stroke:#6e7681} .thin{stroke:#9da7b1} .work{fill:#5b8fc7} .wait{fill:#b8962e}}
""".replace("\n", " ")


class Picture:
    """Lanes of time from left to right, ``span`` units wide."""

    def __init__(self, lanes: Iterable[str], span: float, title: str) -> None:
        self.lanes = list(lanes)
        self.scale = (WIDTH - LEFT - RIGHT) / span
        self.title = title
        self.parts: list[str] = []
        for row, name in enumerate(self.lanes):
            y = self.y(row)
            self.parts.append(f'<text x="8" y="{y + 4}">{escape(name)}</text>')
            self.parts.append(
                f'<line class="lane" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y + 14}" y2="{y + 14}"/>'
            )

    @property
    def height(self) -> int:
        return 54 * len(self.lanes) + 30

    def y(self, row: int) -> int:
        return 34 + 54 * row

    def x(self, time: float) -> float:
        return round(LEFT + time * self.scale, 1)

    def box(self, row: int, start: float, end: float, text: str, kind: str = "work") -> None:
        x, width, y = self.x(start), round((end - start) * self.scale, 1), self.y(row) - 12
        on = ' class="on"' if kind in ("work", "bad", "good") else ""
        self.parts.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="26" rx="3"/>'
        )
        middle = round(x + width / 2, 1)
        self.parts.append(
            f'<text{on} x="{middle}" y="{y + 18}" text-anchor="middle">{escape(text)}</text>'
        )

    def tuple_at(self, row: int, time: float, kind: str = "work", text: str = "") -> None:
        x, y = self.x(time), self.y(row) + 14
        self.parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="5"/>')
        if text:
            self.note(row, time, text)

    def note(self, row: int, time: float, text: str, below: bool = False) -> None:
        y = self.y(row) + (30 if below else 0)
        self.parts.append(
            f'<text class="small" x="{self.x(time)}" y="{y}" text-anchor="middle">'
            f"{escape(text)}</text>"
        )

    def mark(self, time: float, text: str, rows: tuple[int, int] | None = None) -> None:
        first, last = rows or (0, len(self.lanes) - 1)
        x, top, bottom = self.x(time), self.y(first) - 16, self.y(last) + 22
        self.parts.append(f'<line class="mark" x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"/>')
        self.parts.append(
            f'<text class="small" x="{x}" y="{top - 4}" text-anchor="middle">{escape(text)}</text>'
        )

    def svg(self) -> str:
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
            f'role="img" aria-label="{escape(self.title)}">\n'
            f"<style>{STYLE}</style>\n{body}\n</svg>\n"
        )


def train() -> Picture:
    picture = Picture(["one by one", "as a train"], 10.5, "A train is scheduled once")
    for row, gaps in ((0, (0.0, 3.5, 7.0)), (1, (0.0, 3.0, 6.0))):
        for place, name in enumerate(("filter", "map", "map")):
            start = gaps[place] + 0.5
            picture.box(row, start, start + 3, name)
            if row == 0 or place == 0:
                picture.box(row, gaps[place], gaps[place] + 0.5, "", "wait")
    picture.note(0, 5.2, "yellow: a decision of the scheduler", below=True)
    picture.note(1, 5.2, "one decision; between operators a more urgent train may go first", True)
    return picture


def bound() -> Picture:
    """The steps of the bound of ``alarm`` in the example, beside its longest latency in a run."""
    folder = ROOT / "examples" / "starter"
    plan = hw.compile(folder / "query.yaml", folder / "vehicle.yaml")
    promise = plan.promises[0]
    latency = hw.run(plan, folder / "recording").summary.outputs[0].latency_max / 1e6
    deadline = promise.deadline / 1e6
    picture = Picture(["seen in a run", "bound"], deadline + 0.6, "Where the time of a bound goes")
    picture.box(0, 0, latency, f"{latency:.2f} ms", "other")
    reached = 0.0
    kinds = ("wait", "work", "other", "work")
    for place, step in enumerate(promise.steps):
        end = reached + step.time / 1e6
        label = ("to arrive", "wheels", "can", "board")[place] if end - reached > 0.3 else ""
        picture.box(1, reached, end, label, kinds[place])
        reached = end
    picture.note(1, reached + 1.3, f"no run is later than {reached:.2f} ms")
    picture.mark(deadline, f"deadline {deadline:g} ms")
    return picture


def gap() -> Picture:
    picture = Picture(["speed", "window"], 10, "A window closes when a later tuple comes")
    for time in (0.4, 1.2, 2.0, 2.8, 3.6, 7.2, 8.0):
        picture.tuple_at(0, time)
    picture.note(0, 5.4, "gap: the longest silence")
    picture.box(1, 0, 4, "half a second of tuples")
    picture.box(1, 4, 7.2, "waits", "wait")
    picture.mark(7.2, "now it is clear that nothing is missing", (1, 1))
    return picture


def burst() -> Picture:
    picture = Picture(["8 per 8 ms", "1 per 1 ms"], 9, "A rate over a long time allows a burst")
    for number in range(8):
        picture.tuple_at(0, 1 + number * 0.14)
        picture.tuple_at(1, 1 + number)
    picture.box(0, 2.2, 8.2, "the last one waits for seven", "wait")
    picture.note(1, 5, "nobody waits: the same rate, a bound an eighth as long", below=True)
    return picture


def most_outputs() -> Picture:
    picture = Picture(["in", "out"], 10, "Selectivity is a mean, most_outputs a worst case")
    given = {1: 0, 2: 1, 3: 0, 4: 3, 5: 0, 6: 0, 7: 1, 8: 0}
    for time, results in given.items():
        picture.tuple_at(0, time)
        for place in range(results):
            picture.tuple_at(1, time + 0.3 * place, "good")
    picture.note(0, 4.4, "8 tuples")
    picture.note(1, 4.4, "5 results: selectivity 0.625, most_outputs 3", below=True)
    return picture


def lateness() -> Picture:
    picture = Picture(["sensed", "arrived"], 10, "How far behind the newest a tuple may be")
    for number, (sensed, arrived) in enumerate(
        ((1, 2), (2, 3), (5, 5.6), (3.6, 6.8), (2.6, 8.4)), 1
    ):
        late = 5 - sensed > 2 and arrived > 5.6
        kind = "bad" if late else "work"
        picture.tuple_at(0, sensed, kind, str(number))
        picture.tuple_at(1, arrived, kind, str(number))
    picture.mark(3, "newest less the lateness", (0, 0))
    picture.note(1, 6.8, "behind, but within the lateness", below=True)
    picture.note(1, 8.9, "too late")
    return picture


PICTURES: dict[str, Callable[[], Picture]] = {
    "train": train,
    "bound": bound,
    "gap": gap,
    "burst": burst,
    "most-outputs": most_outputs,
    "lateness": lateness,
}


def main() -> None:
    for name, draw in PICTURES.items():
        (IMAGES / f"concept-{name}.svg").write_text(draw().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
