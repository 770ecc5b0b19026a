"""Where the tuples of a stream go, and who takes those of an output."""

from __future__ import annotations

from collections.abc import Callable

from headway.runtime.operators.base import Row
from headway.runtime.units import Unit

Sink = Callable[[Row, int], None]
"""takes a tuple of an output and the time of its completion (ns)"""

BulkSink = Callable[[list[Row], int], None]
"""takes many tuples of an output that were completed at one time"""


class Wire:
    """Where the tuples of a stream go from one node: outputs, units there, other nodes."""

    __slots__ = ("node", "output_names", "outputs", "passed", "sent", "stream", "units")

    def __init__(self, stream: str, node: str) -> None:
        self.stream, self.node = stream, node
        self.outputs: tuple[Sink, ...] = ()
        self.output_names: tuple[str, ...] = ()
        self.units: tuple[tuple[Unit, str], ...] = ()
        self.sent = False
        self.passed = 0
        """tuples so far"""
