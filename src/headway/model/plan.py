"""A compiled query: one JSON-able value that every engine, report and test reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from headway.model.names import Name, StreamName
from headway.model.query import LEFT_OUT, Query
from headway.model.schema import Schema
from headway.model.vehicle import Vehicle

PLAN_VERSION = 4
ONLY_NODE = "vehicle"
"""The node of a plan compiled without a vehicle."""


class HopKind(StrEnum):
    BUS = "bus"
    GATEWAY = "gateway"
    LINK = "link"


@dataclass(frozen=True, kw_only=True)
class Hop:
    """One step of a route; ``delay`` is what an uncontended tuple spends there."""

    kind: HopKind
    name: Name
    delay: int


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """A stream that leaves a node for another. ``priority`` arbitrates on buses: 0 goes first."""

    stream: StreamName
    sender: Name
    receiver: Name
    size_bytes: int
    hops: tuple[Hop, ...]
    priority: int = 0

    @property
    def delay(self) -> int:
        """The communication delay c of EDF* (AEDSMS equation 2)."""
        return sum(hop.delay for hop in self.hops)


@dataclass(frozen=True, kw_only=True)
class NodeQuery:
    """The low-level query (LLQ) of one node: what it runs, sends and receives."""

    node: Name
    sources: tuple[StreamName, ...]
    operators: tuple[StreamName, ...]
    sends: tuple[tuple[StreamName, Name], ...]
    """(stream, receiving node)"""
    receives: tuple[tuple[StreamName, Name], ...]
    """(stream, sending node)"""
    outputs: tuple[StreamName, ...]


@dataclass(frozen=True, kw_only=True)
class Successor:
    """A task that a task's results release, and the communication delay on the way."""

    task: Name
    delay: int
    route: tuple[Name, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Task:
    """An operator train on a node (S-EDF Algorithm 3; AEDSMS table 1).

    ``operators`` run in that order for every tuple that enters by ``entries``, the streams that
    are not passed on inside a train. ``relative_deadline`` counts from the tuple's timestamp;
    ``formula`` says how it came about, in the paper's terms."""

    name: Name
    node: Name
    operators: tuple[StreamName, ...]
    entries: tuple[StreamName, ...]
    cost: int
    relative_deadline: int
    formula: str
    successors: tuple[Successor, ...] = ()
    outputs: tuple[StreamName, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Load:
    """Long-run share of a node or bus that the query uses at worst-case rates."""

    name: Name
    kind: str
    utilisation: float
    capacity: float


@dataclass(frozen=True, kw_only=True)
class LatencyStep:
    """A part of a latency bound: where the time goes and why."""

    place: str
    what: str
    time: int


@dataclass(frozen=True, kw_only=True)
class Promise:
    """What can be said of one output: the bound no run within the declared rates exceeds, or why
    none.

    ``blame`` names the node, bus or operator that costs the most and ``advice`` what would help.
    """

    output: StreamName
    deadline: int
    hard: bool
    bound: int | None
    steps: tuple[LatencyStep, ...] = ()
    reason: str = ""
    blame: str = ""
    advice: str = ""

    @property
    def slack(self) -> int | None:
        return None if self.bound is None else self.deadline - self.bound

    @property
    def kept(self) -> bool:
        return self.bound is not None and self.bound <= self.deadline


@dataclass(frozen=True, kw_only=True)
class ChainBound:
    """The greatest data age or reaction time of a chain, or why there is no bound. ``limit`` is
    what the query asks of it, if it does."""

    bound: int | None
    limit: int | None = None
    steps: tuple[LatencyStep, ...] = ()
    reason: str = ""

    @property
    def kept(self) -> bool:
        return self.limit is None or (self.bound is not None and self.bound <= self.limit)


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A way from a source through operators to an output: a cause-effect chain."""

    output: StreamName
    streams: tuple[StreamName, ...]
    """the source, then the operators on the way"""
    hard: bool
    age: ChainBound
    reaction: ChainBound

    @property
    def asked(self) -> bool:
        """Whether the query asks something of it."""
        return self.age.limit is not None or self.reaction.limit is not None

    @property
    def kept(self) -> bool:
        return self.age.kept and self.reaction.kept


class Asked(StrEnum):
    """What a query can ask of an output, by its key in the query."""

    DEADLINE = "deadline"
    AGE = "age"
    REACTION = "reaction"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One thing asked of an output, and what can be promised of it; of the chains that end there
    the worst counts."""

    output: StreamName
    asked: Asked
    limit: int
    hard: bool
    bound: int | None
    steps: tuple[LatencyStep, ...] = ()
    reason: str = ""

    @property
    def key(self) -> tuple[StreamName, Asked]:
        return self.output, self.asked

    @property
    def kept(self) -> bool:
        return self.bound is not None and self.bound <= self.limit


@dataclass(frozen=True, kw_only=True)
class FixedBound:
    """What a change does to one requirement that was not kept."""

    output: StreamName
    asked: Asked
    before: int | None
    after: int | None
    limit: int
    """the one that holds after the change"""


@dataclass(frozen=True, kw_only=True)
class ChangedLine:
    """A line of a file: ``- …`` goes, ``+ …`` comes; its number is that in the file before."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, kw_only=True)
class PlanFix:
    """A change with which all that is asked can be promised; it has been tried by compiling it."""

    what: str
    bounds: tuple[FixedBound, ...]
    lines: tuple[ChangedLine, ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Loads of nodes and buses, a promise for each output, and the chains to the outputs that ask
    for a data age or a reaction time or that a clock stands before; where something is not kept,
    what would help, as far as that was asked."""

    loads: tuple[Load, ...]
    promises: tuple[Promise, ...]
    chains: tuple[Chain, ...] = ()
    fixes: tuple[PlanFix, ...] = field(default=(), metadata={LEFT_OUT: True})

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All that is asked of the outputs, deadlines first."""
        found = {
            (promise.output, Asked.DEADLINE): Requirement(
                output=promise.output,
                asked=Asked.DEADLINE,
                limit=promise.deadline,
                hard=promise.hard,
                bound=promise.bound,
                steps=promise.steps,
                reason=promise.reason,
            )
            for promise in self.promises
        }
        for chain in self.chains:
            for asked, one in ((Asked.AGE, chain.age), (Asked.REACTION, chain.reaction)):
                if one.limit is None:
                    continue
                known = found.get((chain.output, asked))
                if known is None or (
                    known.bound is not None and (one.bound is None or one.bound > known.bound)
                ):
                    found[chain.output, asked] = Requirement(
                        output=chain.output,
                        asked=asked,
                        limit=one.limit,
                        hard=chain.hard,
                        bound=one.bound,
                        steps=one.steps,
                        reason=one.reason,
                    )
        return tuple(found.values())

    @property
    def safe(self) -> bool:
        """Whether every output's deadline, data age and reaction time can be promised."""
        deadlines = all(promise.kept for promise in self.promises)
        return deadlines and all(chain.kept for chain in self.chains)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The whole result of a compilation. ``query`` is expanded: it holds operators only.

    ``verdict`` is None for a plan compiled without a vehicle: then nothing is known about time.
    """

    version: int = PLAN_VERSION
    query: Query
    vehicle: Vehicle
    schemas: tuple[tuple[StreamName, Schema], ...]
    placement: tuple[tuple[StreamName, Name], ...]
    node_queries: tuple[NodeQuery, ...]
    crossings: tuple[Crossing, ...]
    tasks: tuple[Task, ...]
    """the operator trains (S-EDF Algorithm 3): what policies of trains schedule"""
    operator_tasks: tuple[Task, ...]
    """every operator as a task by itself: what policies of single operators schedule"""
    verdict: Verdict | None
    static_order: tuple[StreamName, ...] = ()
    """operators by their start in a static schedule, if the plan was placed by one"""

    def scheduled(self, *, trains: bool) -> tuple[Task, ...]:
        """What a policy schedules: trains or single operators."""
        return self.tasks if trains else self.operator_tasks
