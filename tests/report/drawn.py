"""Reads a picture back: where its boxes, arrows and texts are."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree

from headway.report.plan.ecu_layout import EcuFrame
from headway.report.svg import width_of

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Written:
    """A line of text and the rectangle it covers at most."""

    text: str
    frame: EcuFrame


class Drawn:
    """The parts of a picture by the names the drawing gives them."""

    def __init__(self, svg: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.items = self._frames("data-key")
        self.ecus = self._frames("data-node")
        self.bars = self._frames("data-medium")
        self.gateways = self._frames("data-gateway")

    def _frames(self, attribute: str) -> dict[str, EcuFrame]:
        return {
            group.attrib[attribute]: _frame(group.find(f"{SVG}rect"))
            for group in self.root.iter(f"{SVG}g")
            if attribute in group.attrib
        }

    @property
    def arrows(self) -> list[tuple[str, str, float, float]]:
        """(from, to, x, y) with the tip of the arrow."""
        found = []
        for group in self.root.iter(f"{SVG}g"):
            for head in group.iter(f"{SVG}path"):
                if group.get("class") == "wire" and (end := head.get("data-to")) is not None:
                    at = re.match(r"M(\S+) (\S+)l", head.attrib["d"])
                    assert at is not None
                    start = group.attrib["data-from"]
                    found.append((start, end, float(at[1]), float(at[2])))
        return found

    @property
    def streams(self) -> dict[str, str]:
        """Stream between ECUs -> path data."""
        return {
            group.attrib["data-from"]: path.attrib["d"]
            for group in self.root.iter(f"{SVG}g")
            for path in group.iter(f"{SVG}path")
            if path.get("class") == "crossing" and "data-from" in group.attrib
        }

    def item_texts(self) -> dict[str, list[Written]]:
        return {
            group.attrib["data-key"]: [_written(text) for text in group.iter(f"{SVG}text")]
            for group in self.root.iter(f"{SVG}g")
            if "data-key" in group.attrib
        }

    @property
    def texts(self) -> list[Written]:
        return [_written(text) for text in self.root.iter(f"{SVG}text")]

    @property
    def all_titles(self) -> str:
        return "\n".join(title.text or "" for title in self.root.iter(f"{SVG}title"))


def overlap(one: EcuFrame, other: EcuFrame) -> bool:
    return (
        one.x < other.right
        and other.x < one.right
        and one.y < other.bottom
        and other.y < one.bottom
    )


def inside(inner: EcuFrame, outer: EcuFrame) -> bool:
    return (
        inner.x >= outer.x
        and inner.right <= outer.right + 0.2
        and inner.y >= outer.y
        and inner.bottom <= outer.bottom
    )


def _frame(rect: ElementTree.Element | None) -> EcuFrame:
    assert rect is not None
    x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return EcuFrame(x, y, width, height)


def _written(element: ElementTree.Element) -> Written:
    size = float(element.attrib["font-size"])
    text = "".join(
        [element.text or "", *(child.tail or "" for child in element)],
    )
    width = width_of(text, size, bold=element.get("font-weight") == "bold")
    share = {"start": 0.0, "middle": 0.5, "end": 1.0}[element.get("text-anchor", "start")]
    x, y = float(element.attrib["x"]) - share * width, float(element.attrib["y"])
    return Written(text, EcuFrame(x, y - 0.75 * size, width, 0.95 * size))
