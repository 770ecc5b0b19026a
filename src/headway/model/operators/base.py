"""What every operator has: a name, inputs, a cost, a selectivity, perhaps a timeout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.model.cost import Cost

ONLY_PORT = "input"
"""The port of an operator with one input; a Union's ports are ``input1``, ``input2``, ..."""


class Gather(StrEnum):
    """When an operator with a timeout runs."""

    ALL = "all"
    """As soon as every input has a tuple; at the latest when the timeout is over."""
    TIME = "time"
    """When the timeout is over, always: it collects for that long after the first tuple."""


@dataclass(frozen=True, slots=True)
class Input:
    """A stream entering an operator through a named port."""

    port: str
    stream: str


@dataclass(frozen=True, kw_only=True)
class OperatorBase:
    """The common part of all operators. An operator's output stream carries the operator's name.

    ``selectivity`` is the long-run mean of outputs per input, used for loads; ``most_outputs`` is
    the most a single input can cause, used for promises. A ``timeout`` (nanoseconds) bounds how
    long an operator with several inputs waits for the others once one is there."""

    name: str
    inputs: tuple[Input, ...]
    cost: Cost | None = None
    selectivity: float = 1.0
    most_outputs: int = 1
    timeout: int | None = None

    @property
    def streams(self) -> tuple[str, ...]:
        """The streams it reads, in port order."""
        return tuple(port.stream for port in self.inputs)
