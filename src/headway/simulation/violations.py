"""A property that does not hold, as it is told."""

from __future__ import annotations

from dataclasses import dataclass

SHOWN = 3
"""tuples in a message"""


@dataclass(frozen=True, slots=True)
class Violation:
    """A property that a run does not have: which, of what, and what was seen instead."""

    rule: str
    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.rule} ({self.where}): {self.what}"


def some(texts: list[str]) -> str:
    """The first few."""
    return ", ".join(texts[:SHOWN]) + (", …" if len(texts) > SHOWN else "")
