"""Colours of the picture, light and dark. Plain rules, no variables: they work in every viewer."""

from __future__ import annotations

PICTURE_CLASS = "headway-plan"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

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


def picture_css() -> str:
    """The style sheet; rules hold inside the picture only, so it can stand in a page."""
    return (
        f".{PICTURE_CLASS}{{font-family:{FONT}}}"
        + _rules(_LIGHT)
        + "@media screen and (prefers-color-scheme:dark){"
        + _rules(_DARK)
        + "}"
    )


def _rules(style: dict[str, str]) -> str:
    return "".join(f".{PICTURE_CLASS} {name}{{{rule}}}" for name, rule in style.items())
