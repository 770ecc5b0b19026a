"""A query: sources, operators and component uses, outputs with deadlines (HLQ, AEDSMS section 5.1).

A query names no node: where its operators run is the vehicle's and the compiler's business. A
stream is named after what produces it: a source, an operator, or ``use.port`` for a component's
output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from headway.model.expression import Expression
from headway.model.names import Name, StreamName
from headway.model.operators import Input, Operator
from headway.model.quantities import ArrivalCurve, Rate
from headway.model.schema import Schema

LEFT_OUT = "left out"
"""of a field whose key is not written into a file where it holds nothing"""


class Decide(StrEnum):
    """When a load shedder decides."""

    ARRIVAL = "arrival"
    """At once: no added latency; keeps what fits the quota and beats the value learnt so far."""
    WINDOW_END = "window_end"
    """At the window's end: exactly the best N, up to one window later."""


@dataclass(frozen=True, kw_only=True)
class LoadShedder:
    """At most ``at_most`` tuples pass per ``per`` nanoseconds of arrival time; the least valuable
    go."""

    at_most: int
    per: int
    value: Expression
    decide: Decide = Decide.ARRIVAL


@dataclass(frozen=True, kw_only=True)
class Source:
    """An input stream.

    ``rate`` is the worst case; ``gap`` the longest silence, where one is promised; ``delay`` the
    longest time from sensing to arrival; ``lateness`` how far a timestamp may lie behind the
    newest one seen before the tuple counts as late. With an ``offset`` its tuples arrive that long
    after a multiple of the rate's period since the epoch, at most the rate's jitter later.
    """

    name: StreamName
    schema: Schema
    rate: Rate | None = None
    gap: int | None = None
    delay: int = 0
    lateness: int = 0
    shedder: LoadShedder | None = None
    offset: int | None = field(default=None, metadata={LEFT_OUT: True})

    @property
    def held(self) -> int:
        """The longest time the load shedder keeps a tuple."""
        shedder = self.shedder
        return shedder.per if shedder and shedder.decide is Decide.WINDOW_END else 0

    @property
    def age(self) -> int:
        """The oldest a tuple can be when it enters the query."""
        return self.delay + self.held

    @property
    def arrivals(self) -> ArrivalCurve | None:
        """What may enter the query after shedding; None when no rate is declared.

        Shedding windows are fixed, so two quotas can meet at their border: a jitter of one
        window. A shedder that decides at the window's end also lets a window's tuples through
        together."""
        rates = []
        if self.rate is not None:
            rates.append(Rate(self.rate.count, self.rate.period, self.rate.jitter + self.held))
        if self.shedder is not None:
            rates.append(Rate(self.shedder.at_most, self.shedder.per, self.shedder.per))
        return ArrivalCurve(tuple(rates)) if rates else None


class Criticality(StrEnum):
    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True, kw_only=True)
class Output:
    """An output stream with its end-to-end deadline (the paper's l_s), from sensing to
    insertion."""

    name: StreamName
    stream: StreamName
    deadline: int | None
    criticality: Criticality = Criticality.HARD
    weight: float = 1.0
    age: int | None = None
    """the greatest data age allowed, of any source's value in it"""
    reaction: int | None = None
    """the longest allowed from a change at any source to the first output that shows it"""
    through: tuple[StreamName, ...] = ()
    """``age`` and ``reaction`` are asked only of ways through these, one right after the other"""


@dataclass(frozen=True, kw_only=True)
class ComponentUse:
    """A stream processing component used like an operator; its outputs are ``name.port``."""

    name: Name
    component: Name
    inputs: tuple[Input, ...]
    kind: Literal["component"] = "component"


Step = Operator | ComponentUse


@dataclass(frozen=True, kw_only=True)
class Port:
    """A typed input of a component."""

    name: Name
    schema: Schema


@dataclass(frozen=True, kw_only=True)
class Component:
    """A named, typed sub-graph (SPC, AEDSMS section 5.2). ``outputs`` are (port, stream inside)."""

    name: Name
    inputs: tuple[Port, ...]
    steps: tuple[Step, ...]
    outputs: tuple[tuple[Name, StreamName], ...]


@dataclass(frozen=True, kw_only=True)
class Query:
    """What a person writes, checked for nothing yet: see :mod:`headway.compiler`."""

    name: Name
    sources: tuple[Source, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    components: tuple[Component, ...] = ()

    @property
    def operators(self) -> Iterator[Operator]:
        """The operators on the top level; all of them, once components are expanded."""
        return (step for step in self.steps if not isinstance(step, ComponentUse))
