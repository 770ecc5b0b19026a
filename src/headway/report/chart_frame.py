"""What all charts share: colours for light and dark, the frame, the legend."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from headway.report.chart_axes import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from headway.report.svg import element, label, number, plain, rect, width_of

HUES = (212, 24, 145, 330, 48, 268, 178, 4, 96, 300)
LEGEND_LINE = 20.0
LIGHT_CSS = (
    "svg.chart text{font-family:system-ui,sans-serif;fill:#18212d}"
    "svg.chart .muted{fill:#566273}svg.chart .page{fill:#fff}"
    "svg.chart .axis{stroke:#8896a8;fill:none}svg.chart .grid{stroke:#e1e7ee;fill:none}"
    "svg.chart .line{fill:none}svg.chart .ring{fill-opacity:.35}"
    "svg.chart .published{stroke-dasharray:6 4}"
    "svg.chart .limit{stroke:#a01c15;stroke-width:1.5;stroke-dasharray:5 3;fill:none}"
    "svg.chart .inside{fill:#18212d}"
    + "".join(
        f"svg.chart .s{i}{{stroke:hsl({hue} 62% 42%)}}"
        f"svg.chart .f{i}{{fill:hsl({hue} 55% 58%)}}svg.chart .t{i}{{fill:hsl({hue} 60% 80%)}}"
        for i, hue in enumerate(HUES)
    )
)
CHART_CSS = (
    LIGHT_CSS + "@media screen and (prefers-color-scheme:dark){svg.chart text{fill:#e7ecf3}"
    "svg.chart .muted{fill:#a3b0c0}svg.chart .page{fill:#10151c}svg.chart .axis{stroke:#6c7d92}"
    "svg.chart .grid{stroke:#263140}svg.chart .limit{stroke:#ffa9a2}"
    "svg.chart .inside{fill:#fff}"
    + "".join(
        f"svg.chart .s{i}{{stroke:hsl({hue} 70% 66%)}}"
        f"svg.chart .f{i}{{fill:hsl({hue} 48% 46%)}}svg.chart .t{i}{{fill:hsl({hue} 45% 34%)}}"
        for i, hue in enumerate(HUES)
    )
    + "}"
)


def colour(place: int) -> int:
    """The number of the colour of the so-manyth thing."""
    return place % len(HUES)


def chart(title: str, *parts: str, height: float = HEIGHT, below: str = "", rows: int = 0) -> str:
    """A whole picture; ``below`` is a legend of so many rows under the axes."""
    width = LEFT + WIDTH + RIGHT
    full = TOP + height + BOTTOM + rows * LEGEND_LINE
    moved = f"translate(0,{number(TOP + height + BOTTOM)})"
    return element(
        "svg",
        f"<title>{escape(plain(title))}</title>",
        rect(0, 0, width, full, "page"),
        *parts,
        element("g", below, transform=moved) if below else "",
        xmlns="http://www.w3.org/2000/svg",
        class_="chart",
        role="img",
        viewBox=f"0 0 {number(width)} {number(full)}",
    )


def legend(names: Sequence[tuple[str, str, bool]]) -> tuple[str, int]:
    """(name, class, line) each; the drawing and how many rows it takes. Lines get a stroke, others
    a square."""
    parts, x, row = [], LEFT, 0
    for name, class_, line in names:
        width = width_of(name, 11) + 44
        if x + width > LEFT + WIDTH and x > LEFT:
            x, row = LEFT, row + 1
        y = row * LEGEND_LINE
        mark = (
            element(
                "path", class_=f"line {class_}", d=f"M{number(x)} {number(y)}h22", stroke_width=3
            )
            if line
            else rect(x + 8, y - 6, 12, 12, class_, 2)
        )
        parts += [mark, label(name, x + 28, y + 4, WIDTH)]
        x += width
    return "".join(parts), row + 1
