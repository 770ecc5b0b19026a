"""The short way from a source to its only train."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headway.runtime.ingest import Ingest
from headway.runtime.operators.base import Row
from headway.runtime.operators.fused import Fused
from headway.runtime.processor import Processor
from headway.runtime.units import Unit
from headway.runtime.wires import Wire


class Lane(NamedTuple):
    """A source whose tuples all enter one stateless train on a single core, and nothing else."""

    source: str
    ingest: Ingest
    entrance: Wire
    unit: Unit
    port: str
    processor: Processor
    place: str
    whole: Fused
    run: Callable[[Row], tuple[Row | None, int]]
    exit: Wire
    most: int
    """how many tuples the budget for batches allows at once"""
