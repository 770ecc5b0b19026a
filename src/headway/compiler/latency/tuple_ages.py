"""How old tuples can be where they stand, and how far watermarks lie behind the present."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from headway.compiler.compilation import Compilation
from headway.compiler.latency.demand import least, most, plus
from headway.compiler.latency.job_flows import DerivedPartners, Flows, Work
from headway.compiler.latency.media import BusMessage, Responses
from headway.compiler.trains import waits
from headway.model.graph import Graph
from headway.model.operators import Operator
from headway.model.plan import Crossing, Task
from headway.model.quantities import ArrivalCurve
from headway.model.query import Decide, Source
from headway.model.vehicle import Node

# ---------------------------------------------------------------- watermarks
# Windows close no sooner than a stream's watermark passes. A source's watermark follows its newest
# tuple, less its lateness, so silence holds it back. Jobs and messages under way hold back what
# comes after them, each by its age. A join's results can be older than its inputs, an aggregate's
# as old as its window, and tuples that wait for a timeout hold it back too.


class Latencies(Protocol):
    """What this module needs of the analysis."""

    @property
    def compilation(self) -> Compilation: ...
    @property
    def latency(self) -> dict[str, int | None]: ...
    @property
    def accepted(self) -> dict[str, int | None]: ...
    def age_at(self, stream: str, node: str) -> int | None: ...
    def input_age(self, task: Task) -> int | None: ...


def source_lag(source: Source) -> int | None:
    """None without a promised gap, or when a load shedder may let none of its tuples pass.

    A shedder that decides at its window's end lets at least one tuple of each window pass, perhaps
    the oldest: only the first window that begins later is sure to bring a newer one, at its end.
    """
    lag = plus(source.delay + source.lateness, source.gap)
    if source.shedder is None:
        return lag
    return plus(lag, 2 * source.shedder.per) if source.shedder.decide is Decide.WINDOW_END else None


def why_no_lag(source: Source) -> str:
    """What to say of a source without one."""
    if source.gap is None:
        return "declare 'gap', the longest silence, on its sources"
    return f"the load shedder of {source.name} may let none pass; decide at the window's end"


class Lags:
    """Lags of all streams, for the latencies of one moment of the analysis."""

    def __init__(self, latencies: Latencies) -> None:
        self._latencies = latencies
        self._graph = latencies.compilation.graph
        self._left: dict[str, int | None] = {}
        self._tasks_with: dict[str, list[Task]] = {}
        for task in latencies.compilation.tasks:
            for name in task.operators:
                self._tasks_with.setdefault(name, []).append(task)
        self._receivers: dict[str, list[str]] = {}
        for crossing in latencies.compilation.crossings:
            self._receivers.setdefault(crossing.stream, []).append(crossing.receiver)

    def into(self, operator: str) -> int | None:
        """Where the operator reads its streams, its own jobs left out."""
        found: list[int | None] = []
        for stream in self._graph.operators[operator].streams:
            found.append(self._behind(stream))
            nodes = self._receivers.get(stream, [])
            found += [self._latencies.age_at(stream, node) for node in nodes]
        return most(found)

    def _behind(self, stream: str) -> int | None:
        if stream not in self._left:
            source = self._graph.sources.get(stream)
            self._left[stream] = source_lag(source) if source else self._behind_operator(stream)
        return self._left[stream]

    def _behind_operator(self, name: str) -> int | None:
        operator, tasks = self._graph.operators[name], self._tasks_with[name]
        jobs = [self._latencies.latency[task.name] for task in tasks]
        lag = plus(most([self.into(name), *jobs]), operator.looks_back)
        if operator.holds_for is not None:
            accepted = [self._latencies.accepted[task.name] for task in tasks]
            return most([lag, plus(most(accepted), operator.holds_for)])
        if operator.clock is not None:
            ages = [self._latencies.input_age(task) for task in tasks if task.operators[0] == name]
            return most([lag, plus(most(ages), operator.clock.hold)])
        if operator.gathering is not None:
            ages = [self._latencies.input_age(task) for task in tasks if task.operators[0] == name]
            return most([lag, plus(most(ages), operator.timeout)])
        return lag


# ---------------------------------------------------------------- ages
# The state of an analysis and what follows from its current bounds by addition alone.


@dataclass(slots=True)
class Ages:
    """Current bounds; None means that none exists, and ``reasons`` says why, by node or medium."""

    compilation: Compilation
    """once the analysis has begun, with limits on the partners of all joins"""
    batch: int = 0
    """tuples may run as one, without a decision, for this long: it holds up others, and the first
    of them until the last is done"""
    reserved: Mapping[str, int] = field(default_factory=dict)
    """node -> the share (millionths) that reservations of soft jobs hold at most, in place of what
    the ``soft`` tasks could ask for"""
    soft: frozenset[str] = frozenset()
    latency: dict[str, int | None] = field(default_factory=dict)
    """task -> the longest from its job's timestamp to its end"""
    accepted: dict[str, int | None] = field(default_factory=dict)
    """task -> the same for jobs that a tuple releases, not a timeout or a window's end"""
    responses: Responses = field(default_factory=dict)
    """(stream, medium) -> the longest from offering a tuple to the end of its last frame"""
    reasons: dict[str, str] = field(default_factory=dict)
    flows: Flows = field(default_factory=dict)
    curves: dict[str, ArrivalCurve] = field(default_factory=dict)
    boundless: dict[str, str] = field(default_factory=dict)
    """stream -> the operator before it of which nobody says how many results it gives"""
    _declared: Graph = field(default_factory=lambda: Graph({}, {}, {}, {}, {}))
    """with the partners that are declared alone"""
    _partners: DerivedPartners = field(default_factory=lambda: DerivedPartners({}))
    busy: dict[str, int | None] = field(default_factory=dict)
    """node -> the longest time it works without a pause: no job takes longer from its release"""
    _works: dict[tuple[str, str], Work] = field(default_factory=dict)
    """(task, entry stream) -> computation times"""
    _producers: dict[str, list[Task]] = field(default_factory=dict)
    _tasks_on: dict[str, list[Task]] = field(default_factory=dict)
    _tasks_with: dict[str, list[Task]] = field(default_factory=dict)
    """a join whose partners are limited -> the tasks it stands in"""
    _tasks_after: dict[tuple[str, str], list[Task]] = field(default_factory=dict)
    """(stream, node) -> the tasks that it enters there"""
    _cascades: dict[str, int] = field(default_factory=dict)
    """task -> work on its node that one execution of its last operator can release at once"""
    _crossing_of: dict[tuple[str, str], Crossing] = field(default_factory=dict)
    _messages: dict[str, list[BusMessage]] = field(default_factory=dict)
    _entries: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """stream -> source -> ``entry`` on the stream's own node"""
    _late_entries: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """the same, windows held up by less urgent work included"""
    _nodes: dict[str, Node] = field(default_factory=dict)
    _homes: dict[str, str] = field(default_factory=dict)
    """a core that is looked at by itself -> its node"""
    _lags: Lags | None = None
    _in_order: dict[str, bool] = field(default_factory=dict)
    """stream -> whether none of its tuples on its node is older than what caused it there"""
    _coarse: set[str] = field(default_factory=set)
    """nodes on which the finer way to bound a job's end was too much work"""
    _round: int = 0
    _sent_after: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """stream -> source -> the longest from an arrival until its tuple is offered on its own node"""
    _sent_limits: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """the same by how long what they are made of stays among places it can come back to"""
    _entry_ages: dict[str, int | None] = field(default_factory=dict)
    """stream -> the oldest its tuples can be when their cause enters the stream's own node"""

    def home(self, place: str) -> str:
        """The node of a core that is looked at by itself, or the node."""
        return self._homes.get(place, place)

    def _head(self, task: Task) -> Operator:
        return self.compilation.graph.operators[task.operators[0]]

    def producers(self, stream: str) -> list[Task]:
        """The tasks that end in the operator of this stream."""
        return self._producers.get(stream, [])

    def crossing(self, stream: str, node: str) -> Crossing | None:
        return self._crossing_of.get((stream, node))

    def shift(self, task: Task) -> int:
        """How much older than its job's timestamp a task's output can be: joins take the older one.

        Gathering operators and aggregates need nothing here: their jobs carry the oldest timestamp.
        """
        operators = (self.compilation.graph.operators[name] for name in task.operators)
        return sum(one.looks_back for one in operators if not one.traits.emits_on_time)

    def _limited(self, task: Task) -> list[Operator]:
        """Its joins whose partners are limited: pairs are charged to the tuples of one side."""
        operators = (self.compilation.graph.operators[name] for name in task.operators)
        return [one for one in operators if one.partner_limit is not None]

    def age_sent(self, stream: str) -> int | None:
        """The oldest a tuple can be when its stream offers it, on its own node."""
        sources = self.compilation.graph.sources
        if stream in sources:
            return sources[stream].age
        return most([plus(self.latency[t.name], self.shift(t)) for t in self.producers(stream)])

    def age_at(self, stream: str, node: str) -> int | None:
        """The oldest a tuple can be when it reaches the node."""
        age = self.age_sent(stream)
        crossing = self.crossing(stream, node)
        for hop in crossing.hops if crossing else ():
            age = plus(age, self.responses.get((stream, hop.name), hop.delay))
        return age

    def sent_after(self, stream: str, source: str) -> int | None:
        """The longest from an arrival (or a clock's instant) until its tuple is offered on its own
        node. Unlike an age it counts neither how old tuples are on arrival nor what older ones
        they were laid together with."""
        return self._sent_after.get(stream, {}).get(source, 0)

    def at_after(self, stream: str, source: str, node: str) -> int | None:
        """The same until it reaches the node."""
        after = self.sent_after(stream, source)
        crossing = self.crossing(stream, node)
        for hop in crossing.hops if crossing else ():
            after = plus(after, self.responses.get((stream, hop.name), hop.delay))
        return after

    def input_age(self, task: Task) -> int | None:
        return most([self.age_at(stream, task.node) for stream in task.entries])

    def release_age(self, task: Task) -> int | None:
        """The oldest a job's tuple can be when the job is due: when its tuple comes, its timeout is
        over or its window may close."""
        head = self.compilation.graph.operators[task.operators[0]]
        age = self.input_age(task)
        if head.traits.emits_on_time:
            assert self._lags is not None
            return plus(head.looks_back, self._lags.into(head.name))
        if head.holds_for is not None:
            # Its timer starts when the join has looked for a partner.
            age = most([age, self.accepted[task.name]])
        if head.clock is not None:
            return most(
                [
                    plus(self.age_at(one.stream, task.node), head.clock.held(one.port))
                    for one in head.inputs
                ]
            )
        return plus(age, head.timeout or 0)

    def wait(self, task: Task) -> int | None:
        """How long a tuple waits at the head for others or for its window's end."""
        age, released = self.input_age(task), self.release_age(task)
        return None if age is None or released is None else max(released - age, 0)

    def _held_age(self, task: Task) -> int | None:
        """Like :meth:`release_age`, but a window closes only after the tuples that are to enter it,
        which may be less urgent than its result."""
        if self.compilation.graph.operators[task.operators[0]].traits.emits_on_time:
            return most([self.release_age(task), self.latency[task.name]])
        return self.release_age(task)

    def _find_entries(self) -> None:
        """A sensor's tuple enters its node on arrival, one from elsewhere when it is received,
        and one that waited when it is released."""
        graph = self.compilation.graph
        self._entries = {name: {name: 0} for name in graph.sources}
        self._late_entries = {name: {name: 0} for name in graph.sources}
        self._entry_ages = {name: source.age for name, source in graph.sources.items()}
        before, self._sent_after = self._sent_after, {name: {name: 0} for name in graph.sources}
        for stream in graph.order:
            self._sent_after[stream] = self._sent(stream, before.get(stream, {}))
            for late, entries in ((False, self._entries), (True, self._late_entries)):
                found: dict[str, int | None] = dict.fromkeys(self.flows[stream], 0)
                for task in self.producers(stream):
                    if (head := graph.operators[task.operators[0]]).clock is not None:
                        found[head.name] = most([found.get(head.name, 0), 0])
                        continue
                    for entry in task.entries:
                        for source in self.flows[entry]:
                            made = self._made_after(task, entry, source, late=late)
                            found[source] = most([found.get(source, 0), made])
                entries[stream] = found
            self._entry_ages[stream] = most(
                [plus(self._entry_age(t), self.shift(t)) for t in self.producers(stream)]
            )

    def _sent(self, stream: str, before: Mapping[str, int | None]) -> dict[str, int | None]:
        """From arrivals at each source until this stream's tuples are made: a job ends within the
        busy period of its entry or release, and a tuple is older than it has been here. ``before``
        is what was known: it only grows."""
        operators, age = self.compilation.graph.operators, self.age_sent(stream)
        found: dict[str, int | None] = {}
        for task in self.producers(stream):
            head, busy = operators[task.operators[0]], self.busy.get(task.node, age)
            if head.clock is not None:
                found[head.name] = most([found.get(head.name, 0), busy])
                continue
            for entry in task.entries:
                for source in self.flows[entry]:
                    made = self._made_after(task, entry, source, late=True)
                    found[source] = most([found.get(source, 0), plus(made, busy)])
        for source, limit in self._sent_limits.get(stream, {}).items():
            found[source] = least(found.get(source), limit)
        if age is not None:
            found = {name: age if one is None else min(one, age) for name, one in found.items()}
        return {name: most([one, before.get(name, 0)]) for name, one in found.items()}

    def _entry_age(self, task: Task) -> int | None:
        """The oldest a job's tuple can be when what caused it enters the node, or is released
        there."""
        if waits(self.compilation.graph.operators[task.operators[0]]):
            return self._held_age(task)
        return self._offered_age(task)

    def _offered_age(self, task: Task) -> int | None:
        """The same for a tuple that is given to the task's head, which may hold it for a while."""
        return most(
            [
                self._entry_ages[stream]
                if self._is_local(stream, task)
                else self.age_at(stream, task.node)
                for stream in task.entries
            ]
        )

    def _is_local(self, stream: str, task: Task) -> bool:
        """Whether tuples enter the task as soon as they arrive or are made. The results of a batch
        wait for its end, and the node may run what is less urgent meanwhile: they enter anew. So do
        those on a node with several cores, where a job counts from its own release."""
        if self._nodes[task.node].cores > 1:
            return False
        if self.batch and stream in self.compilation.graph.operators:
            return False
        place = self.compilation.placement[stream]
        # A sensor's tuple is there for all cores of its node.
        sensed = stream in self.compilation.graph.sources and place == self.home(task.node)
        return place == task.node or sensed

    def _partner_age(self, task: Task) -> int | None:
        """How old the tuples can be on entry that complete pairs charged to this task's tuples."""
        sharing = [other for join in self._limited(task) for other in self._tasks_with[join.name]]
        return most([self._entry_age(t) for t in sharing])

    def _made_after(self, task: Task, stream: str, source: str, *, late: bool) -> int | None:
        """The longest from an arrival until what makes a result of it has entered the node or been
        released there: its own tuple, or the partner that completes a pair charged to it."""
        released = self._release_after(task, stream, source, late=late)
        if not self._limited(task):
            return released
        return most([released, plus(self._partner_age(task), self.shift(task))])

    def _release_after(self, task: Task, stream: str, source: str, *, late: bool) -> int | None:
        """The longest from an arrival until its tuple has entered the node or been released there;
        ``late`` counts that windows may be held up."""
        head = self.compilation.graph.operators[task.operators[0]]
        if not waits(head):
            return self._arrival_to_entry(task, stream, source, late=late)
        if head.gathering is None:
            return self._held_age(task) if late else self.release_age(task)
        offered = (
            0
            if stream == source and self._is_local(stream, task)
            else self.at_after(stream, source, task.node)
        )
        return plus(offered, head.timeout)

    def _arrival_to_entry(self, task: Task, stream: str, source: str, *, late: bool) -> int | None:
        if self._is_local(stream, task):
            return (self._late_entries if late else self._entries)[stream][source]
        return self.at_after(stream, source, task.node)
