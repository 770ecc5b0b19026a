"""What every picture of a plan has: its colours, the frame around it, heading, loads, legend."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.plan import Load
from headway.report.plan.picture_layout import LOAD_WIDTH, MARGIN
from headway.report.plan.plan_sketch import DETAIL_SIZE, ItemState, Sketch
from headway.report.plan.plan_tables import load_fits, percent, sign
from headway.report.svg import element, label, meter, number, picture_css, tooltip

# ---------------------------------------------------------------- colours

PICTURE_CLASS = "headway-plan"

_LIGHT = {
    "text": "fill:#18212d",
    ".muted": "fill:#566273",
    ".page": "fill:#ffffff",
    ".ecu": "fill:#f3f6fa;stroke:#b4c0cf;stroke-width:1.2",
    ".ecu-header": "fill:#e2e9f2",
    ".operator": "fill:#ffffff;stroke:#5c6f88;stroke-width:1.1",
    ".source": "fill:#fff6e0;stroke:#a67c1a;stroke-width:1.1",
    ".output": "fill:#ffffff;stroke:#5c6f88;stroke-width:1.4",
    ".output.kept": "fill:#e6f6ea;stroke:#1d7a3c",
    ".output.broken": "fill:#fdeaea;stroke:#b3261e",
    "text.kept": "fill:#14632f",
    "text.broken": "fill:#a01c15",
    ".bar": "fill:#ecebf7;stroke:#a9a4d6;stroke-width:1",
    ".gateway": "fill:#dcd9f2;stroke:#6f67b8;stroke-width:1.2",
    ".lane": "stroke:#c9c5e6;stroke-width:1;fill:none",
    ".stream": "stroke:#45566c;stroke-width:1.3;fill:none",
    ".crossing": "stroke:#5a4fb0;stroke-width:1.4;fill:none",
    ".band": "stroke:#b9d4f7;stroke-width:9;stroke-linecap:butt;fill:none",
    ".stream-head": "fill:#45566c",
    ".crossing-head": "fill:#5a4fb0",
    ".dot": "fill:#5a4fb0",
    ".chip": "fill:#d3e4fb",
    ".meter": "fill:#ffffff;stroke:#8d9bad;stroke-width:.8",
    ".used": "fill:#3c78c3",
    ".used.over": "fill:#b3261e",
    ".tick": "stroke:#18212d;stroke-width:1.2",
}
_DARK = {
    "text": "fill:#e7ecf3",
    ".muted": "fill:#a3b0c0",
    ".page": "fill:#10151c",
    ".ecu": "fill:#19212c;stroke:#46566b",
    ".ecu-header": "fill:#253142",
    ".operator": "fill:#0f151d;stroke:#8497b0",
    ".source": "fill:#33290f;stroke:#cfa544",
    ".output": "fill:#0f151d;stroke:#8497b0",
    ".output.kept": "fill:#10301c;stroke:#4cc077",
    ".output.broken": "fill:#3a1614;stroke:#f2857d",
    "text.kept": "fill:#7fdca0",
    "text.broken": "fill:#ffa9a2",
    ".bar": "fill:#211f38;stroke:#5d57a0",
    ".gateway": "fill:#35315f;stroke:#a39be6",
    ".lane": "stroke:#443f74",
    ".stream": "stroke:#9fb0c6",
    ".crossing": "stroke:#b3abf5",
    ".band": "stroke:#27456e",
    ".stream-head": "fill:#9fb0c6",
    ".crossing-head": "fill:#b3abf5",
    ".dot": "fill:#b3abf5",
    ".chip": "fill:#27456e",
    ".meter": "fill:#0f151d;stroke:#7688a0",
    ".used": "fill:#6ea8ec",
    ".used.over": "fill:#f2857d",
    ".tick": "stroke:#e7ecf3",
}


# ---------------------------------------------------------------- loads


METER = 56.0


def load_width(load: Load | None) -> float:
    return 0.0 if load is None else LOAD_WIDTH


def _load_text(load: Load) -> str:
    return percent(load.utilisation) + ("" if load_fits(load) else f" {sign(False)}")


def draw_load(load: Load | None, right: float, baseline: float, width: float = LOAD_WIDTH) -> str:
    """A bar and a number, in so much room; only the bar gives way."""
    if load is None:
        return ""
    text, state = _load_text(load), "muted" if load_fits(load) else "broken"
    return label(
        text, right, baseline, width, size=DETAIL_SIZE, anchor="end", class_=state
    ) + meter(
        right - width + 8,
        baseline - 7.5,
        METER - (LOAD_WIDTH - width),
        load.utilisation,
        load.capacity,
        over=not load_fits(load),
    )


# ---------------------------------------------------------------- the frame


LEGEND_SIZE = 10.5


def document(sketch: Sketch, width: float, height: float, parts: Sequence[str]) -> str:
    """The whole SVG document, with what it is called and says for those who cannot see it."""
    inside = [
        _named("title", sketch.heading),
        _named("desc", sketch.description),
        f"<style>{picture_css(PICTURE_CLASS, _LIGHT, _DARK)}</style>",
        element("rect", class_="page", width=width, height=height, rx=6),
        *parts,
    ]
    size = f"{number(width)} {number(height)}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{PICTURE_CLASS}" role="img"'
        f' aria-labelledby="{PICTURE_CLASS}-title {PICTURE_CLASS}-desc"'
        f' width="{number(width)}" height="{number(height)}"'
        f' viewBox="0 0 {size}">\n' + "\n".join(inside) + "\n</svg>\n"
    )


def _named(kind: str, text: str) -> str:
    """The picture's title or description, with the name by which it is called."""
    written = tooltip(text).removeprefix("<title>").removesuffix("</title>")
    return f'<{kind} id="{PICTURE_CLASS}-{kind}">{written}</{kind}>'


def heading_lines(sketch: Sketch, width: float) -> list[str]:
    inside = width - 2 * MARGIN
    colour = "muted" if sketch.state is ItemState.UNKNOWN else str(sketch.state)
    return [
        label(sketch.heading, MARGIN, 26, inside, size=16, bold=True),
        label(sketch.summary, MARGIN, 45, inside, size=12, class_=colour),
    ]
