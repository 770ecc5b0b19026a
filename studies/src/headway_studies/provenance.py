"""How what we say beside a paper came about: from what it prints, or with something of ours in it.

A number that is near a published one is evidence only as far as nobody chose it for that. So every
claim says which of four it is. Where several hold, the one counts that says most against the claim:
*fitted* before *changed* before *assumed* before *printed*.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Origin(StrEnum):
    """From the strongest evidence to the weakest."""

    PRINTED = "printed"
    """all inputs and the algorithm are in the paper"""
    ASSUMED = "assumed"
    """an input that the paper leaves open was chosen beforehand"""
    CHANGED = "changed"
    """our algorithm is not the printed one"""
    FITTED = "fitted"
    """something was chosen because the claim then holds"""


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """``told``: what was assumed, changed or fitted; ``tried``: what else was, before it fitted."""

    origin: Origin
    told: str = ""
    tried: str = ""

    def __post_init__(self) -> None:
        if bool(self.told) == (self.origin is Origin.PRINTED):
            raise ValueError(
                f"provenance {self.origin.value}: got told={self.told!r}; say what is not from the "
                "paper, and nothing where all is printed"
            )
        if bool(self.tried) != (self.origin is Origin.FITTED):
            raise ValueError(
                f"provenance {self.origin.value}: got tried={self.tried!r}; say what was tried "
                "where something was fitted, and only there"
            )

    @property
    def words(self) -> str:
        """For a reader: ``fitted: … (tried: …)``."""
        told = f"{self.origin.value}: {self.told}" if self.told else self.origin.value
        return f"{told} (tried: {self.tried})" if self.tried else told


PRINTED = Provenance(origin=Origin.PRINTED)


def assumed(told: str) -> Provenance:
    return Provenance(origin=Origin.ASSUMED, told=told)


def changed(told: str) -> Provenance:
    return Provenance(origin=Origin.CHANGED, told=told)


def fitted(told: str, *, tried: str) -> Provenance:
    return Provenance(origin=Origin.FITTED, told=told, tried=tried)
