"""Panels one below the other in one picture: what the charts of fleets and load tests share."""

from __future__ import annotations

from collections.abc import Sequence

from headway.report.svg import element, label, number

STYLE = (
    "text{font-family:system-ui,sans-serif;fill:#18212d}.muted{fill:#566273}"
    ".page{fill:#fff}.axis{stroke:#b4c0cf;fill:none}"
)
DARK_STYLE = "text{fill:#e7ecf3}.muted{fill:#a3b0c0}.page{fill:#10151c}.axis{stroke:#46566b}"


def styled(own: str, own_dark: str) -> str:
    """The style of a picture: shared rules and its own, for light and for dark."""
    return f"{STYLE}{own}@media(prefers-color-scheme:dark){{{DARK_STYLE}{own_dark}}}"


def panels_svg(
    title: str,
    panels: Sequence[str],
    *,
    style: str,
    left: float,
    top: float,
    width: float,
    right: float,
    pitch: float,
    first: float,
) -> str:
    """A picture of its own; a panel every ``pitch``, the first one ``first`` below ``top``."""
    height, full = top + len(panels) * pitch, left + width + right
    placed = [
        element(
            "g", panel, transform=f"translate({number(left)},{number(top + i * pitch + first)})"
        )
        for i, panel in enumerate(panels)
    ]
    return element(
        "svg",
        f"<style>{style}</style>",
        element("rect", class_="page", width=full, height=height),
        label(title, left, 24, width, size=15, bold=True),
        *placed,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {number(full)} {number(height)}",
        width=full,
        height=height,
    ) + "\n"  # fmt: skip


def axes(width: float, height: float) -> str:
    return element("path", class_="axis", d=f"M0 0V{number(height)}H{number(width)}")
