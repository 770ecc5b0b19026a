"""The worst-case latency of every task and crossing stream, found as a least fixed point.

A task's job carries a timestamp t and has the deadline t + d. ``age`` is the oldest a tuple can
be where it stands; ``latency`` bounds finish - t. Look at a job with deadline D and at t0, the
last instant before it without pending work of deadlines up to D. From t0 to the job's end the
node runs such work only, besides one operator that was under way. That work entered the node at
or after t0: a preceding task on the node has an earlier deadline, so what it had got before t0
was done. (A join's output may be older than the tuple that caused it and so more urgent than its
preceding task; only the operator under way at t0 can release such work: its section is longer by
that *cascade*.) An arrival at a source therefore counts when it is at most ``entry`` before t0,
the time it may take to enter the node or to be released there by a timeout, and its timestamp, at
most ``back`` before the arrival, is at least d before D: it falls in an interval of length ``(D -
t0) - d + back + entry``. And none counts while ``D - t0`` is shorter than d less the oldest a
tuple can be on entry. EDF with non-preemptive operators finishes by D plus the largest excess of
that demand (:mod:`headway.compile.judge.demand`). A node never idles with work pending, so a job
also finishes within a busy period of its release; the smaller bound is taken. Ages and entries of
one node follow from latencies of others: iteration from below finds the least solution, which
holds by induction over time.

Two kinds of jobs are released by no tuple. A join's timer starts when the join has run for the
tuple, so it is over a timeout after *that* job's latency. A window closes when the watermark has
passed it (:mod:`headway.compile.judge.watermarks`) and the tuples that are to enter it have. Those
can be younger by up to the window and so less urgent than its result: for the result's own bound
it counts as if it had the deadline of the youngest of them, and as work that others wait for it
may come as late as that bound. While it is held up the node is busy, so the busy period needs no
more than when the window was due."""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.compile.compilation import Compilation
from headway.compile.judge.bounds import most, plus
from headway.compile.judge.demand import Demand, Section, busy_period, lateness
from headway.compile.judge.jobs import (
    Flows,
    Work,
    back_after,
    flows_of,
    most_outputs,
    work_of,
)
from headway.compile.judge.media import Message, Responses, media_responses, messages_of
from headway.compile.judge.watermarks import Lags, source_lag, why_no_lag
from headway.compile.load import gathers, runs_of
from headway.compile.rates import windows_per_tuple
from headway.compile.trains import waits
from headway.model.arrival import ArrivalCurve
from headway.model.operators import Aggregate, Join
from headway.model.plan import Crossing, Task
from headway.model.routes import architecture_of
from headway.model.vehicle import Node

MOST_ROUNDS = 1_000


@dataclass(slots=True)
class Analysis:
    """Current bounds; None means that none exists, and ``reasons`` says why, by node or medium."""

    compilation: Compilation
    batch: int = 0
    """tuples may run as one, without a decision, for this long: it holds up others, and the first
    of them until the last is done"""
    latency: dict[str, int | None] = field(default_factory=dict)
    """task -> the longest from its job's timestamp to its end"""
    accepted: dict[str, int | None] = field(default_factory=dict)
    """task -> the same for jobs that a tuple releases, not a timeout or a window's end"""
    responses: Responses = field(default_factory=dict)
    """(stream, medium) -> the longest from offering a tuple to the end of its last frame"""
    reasons: dict[str, str] = field(default_factory=dict)
    flows: Flows = field(default_factory=dict)
    curves: dict[str, ArrivalCurve] = field(default_factory=dict)
    _works: dict[tuple[str, str], Work] = field(default_factory=dict)
    """(task, entry stream) -> computation times"""
    _producers: dict[str, list[Task]] = field(default_factory=dict)
    _tasks_on: dict[str, list[Task]] = field(default_factory=dict)
    _tasks_with: dict[str, list[Task]] = field(default_factory=dict)
    """join -> the tasks it stands in"""
    _tasks_after: dict[tuple[str, str], list[Task]] = field(default_factory=dict)
    """(stream, node) -> the tasks that it enters there"""
    _cascades: dict[str, int] = field(default_factory=dict)
    """task -> work on its node that one execution of its last operator can release at once"""
    _crossing_of: dict[tuple[str, str], Crossing] = field(default_factory=dict)
    _messages: dict[str, list[Message]] = field(default_factory=dict)
    _entries: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """stream -> source -> ``entry`` on the stream's own node"""
    _late_entries: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """the same, windows held up by less urgent work included"""
    _nodes: dict[str, Node] = field(default_factory=dict)
    _lags: Lags | None = None
    _entry_ages: dict[str, int | None] = field(default_factory=dict)
    """stream -> the oldest its tuples can be when their cause enters the stream's own node"""

    # ---------------------------------------------------------------- ages

    def producers(self, stream: str) -> list[Task]:
        """The tasks that end in the operator of this stream."""
        return self._producers.get(stream, [])

    def crossing(self, stream: str, node: str) -> Crossing | None:
        return self._crossing_of.get((stream, node))

    def shift(self, task: Task) -> int:
        """How much older than its job's timestamp a task's output can be: joins take the older one.

        Gathering operators and aggregates need nothing here: their jobs carry the oldest timestamp.
        """
        return sum(join.within for join in self._joins(task))

    def _joins(self, task: Task) -> list[Join]:
        operators = self.compilation.graph.operators
        return [o for name in task.operators if isinstance(o := operators[name], Join)]

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

    def input_age(self, task: Task) -> int | None:
        return most([self.age_at(stream, task.node) for stream in task.entries])

    def release_age(self, task: Task) -> int | None:
        """The oldest a job's tuple can be when the job is due: when its tuple comes, its timeout is
        over or its window may close."""
        head = self.compilation.graph.operators[task.operators[0]]
        age = self.input_age(task)
        if isinstance(head, Aggregate):
            assert self._lags is not None
            return plus(head.window, self._lags.into(head.name))
        if isinstance(head, Join) and head.timeout is not None:
            # Its timer starts when the join has looked for a partner.
            age = most([age, self.accepted[task.name]])
        return plus(age, head.timeout or 0)

    def wait(self, task: Task) -> int | None:
        """How long a tuple waits at the head for others or for its window's end."""
        age, released = self.input_age(task), self.release_age(task)
        return None if age is None or released is None else max(released - age, 0)

    def _held_age(self, task: Task) -> int | None:
        """Like :meth:`release_age`, but a window closes only after the tuples that are to enter it,
        which may be less urgent than its result."""
        if isinstance(self.compilation.graph.operators[task.operators[0]], Aggregate):
            return most([self.release_age(task), self.latency[task.name]])
        return self.release_age(task)

    # ---------------------------------------------------------------- solving

    def solve(self) -> None:
        """Raises all bounds until nothing changes."""
        self._prepare()
        for _ in range(MOST_ROUNDS):
            before = (dict(self.latency), dict(self.accepted), self.responses)
            self._lags = Lags(self)
            self.flows = flows_of(self.compilation.graph, self._operator_ages())
            self.responses = media_responses(self._messages, self, self.responses, self.reasons)
            self._find_entries()
            self._find_cascades()
            for node in self.compilation.vehicle.nodes:
                self._solve_node(node)
            if before == (self.latency, self.accepted, self.responses):
                return
        for task in self.compilation.tasks:
            self.latency[task.name] = self.accepted[task.name] = None
            self.reasons.setdefault(task.node, "the bounds of nodes and buses push each other up")

    def _prepare(self) -> None:
        compilation = self.compilation
        nodes = self._nodes = {node.name: node for node in compilation.vehicle.nodes}
        for task in compilation.tasks:
            self.latency[task.name] = self.accepted[task.name] = 0
            for entry in task.entries:
                work = work_of(task, entry, compilation.graph, nodes[task.node])
                self._works[task.name, entry] = work
                self._tasks_after.setdefault((entry, task.node), []).append(task)
            for join in self._joins(task):
                self._tasks_with.setdefault(join.name, []).append(task)
            self._producers.setdefault(task.operators[-1], []).append(task)
            self._tasks_on.setdefault(task.node, []).append(task)
        self._crossing_of = {(c.stream, c.receiver): c for c in compilation.crossings}
        media = architecture_of(compilation.vehicle).media
        self._messages = messages_of(compilation.crossings, media)
        for source in compilation.graph.sources.values():
            if source.arrivals is not None:
                self.curves[source.name] = source.arrivals

    def _operator_ages(self) -> dict[str, int]:
        """Input ages of the operators that head a task (only these gather)."""
        ages: dict[str, int] = {}
        for task in self.compilation.tasks:
            head = task.operators[0]
            ages[head] = max(ages.get(head, 0), self.input_age(task) or 0)
        return ages

    def _find_entries(self) -> None:
        """A sensor's tuple enters its node on arrival, one from elsewhere when it is received,
        and one that waited when it is released."""
        graph = self.compilation.graph
        self._entries = {name: {name: 0} for name in graph.sources}
        self._late_entries = {name: {name: 0} for name in graph.sources}
        self._entry_ages = {name: source.age for name, source in graph.sources.items()}
        for stream in graph.order:
            for late, entries in ((False, self._entries), (True, self._late_entries)):
                found: dict[str, int | None] = dict.fromkeys(self.flows[stream], 0)
                for task in self.producers(stream):
                    for entry in task.entries:
                        for source in self.flows[entry]:
                            released = self._release_after(task, entry, source, late=late)
                            found[source] = most([found.get(source, 0), released])
                entries[stream] = found
            self._entry_ages[stream] = most(
                [plus(self._entry_age(t), self.shift(t)) for t in self.producers(stream)]
            )

    def _entry_age(self, task: Task) -> int | None:
        """The oldest a job's tuple can be when what caused it enters the node, or is released
        there."""
        if waits(self.compilation.graph.operators[task.operators[0]]):
            return self._held_age(task)
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
        wait for its end, and the node may run what is less urgent meanwhile: they enter anew."""
        if self.batch and stream in self.compilation.graph.operators:
            return False
        return self.compilation.placement[stream] == task.node

    def _release_after(self, task: Task, stream: str, source: str, *, late: bool) -> int | None:
        """The longest from an arrival until its tuple has entered the node or been released there;
        ``late`` counts that windows may be held up."""
        head = self.compilation.graph.operators[task.operators[0]]
        if not waits(head):
            return self._arrival_to_entry(task, stream, source, late=late)
        if not gathers(head):
            return self._held_age(task) if late else self.release_age(task)
        offered = (
            0
            if stream == source and self._is_local(stream, task)
            else self.age_at(stream, task.node)
        )
        return plus(offered, head.timeout)

    def _arrival_to_entry(self, task: Task, stream: str, source: str, *, late: bool) -> int | None:
        if self._is_local(stream, task):
            return (self._late_entries if late else self._entries)[stream][source]
        return self.age_at(stream, task.node)

    def _solve_node(self, node: Node) -> None:
        tasks = self._tasks_on.get(node.name, [])
        if not tasks or self.reasons.get(node.name):
            return
        demands: list[Demand] = []
        pending: list[Demand] = []
        reason = ""
        if node.cores > 1:
            reason = (
                f"{node.name} has {node.cores} cores: bounds are known for one core only; "
                "declare each core as a node"
            )
        released: list[int] = []
        offered: list[int] = []
        for task in tasks:
            reason = reason or self._add_demands(task, demands, pending)
            released.append(self.release_age(task) or 0)
            offered.append(self.input_age(task) or 0)
        if not reason:
            # A window's result waits for tuples up to a window younger, so it counts as if it were
            # as urgent as the youngest of them.
            done_by = [task.relative_deadline + self._window(task) for task in tasks]
            due = [deadline - age for deadline, age in zip(done_by, released, strict=True)]
            due += [t.relative_deadline - age for t, age in zip(tasks, offered, strict=True)]
            sections = [Section(t.relative_deadline, self._section(t)) for t in tasks]
            late = lateness(demands, sections, due)
            busy = busy_period(pending)
            if late is None or busy is None:
                reason = f"{node.name} can be asked for more than it can do"
            else:
                for index, task in enumerate(tasks):
                    own = task.relative_deadline + late[len(tasks) + index]
                    self.accepted[task.name] = min(own + self.batch, offered[index] + busy)
                    last = done_by[index] + late[index]
                    self.latency[task.name] = min(last + self.batch, released[index] + busy)
        if reason:
            self.reasons[node.name] = reason
            self.latency.update(dict.fromkeys((task.name for task in tasks), None))
            self.accepted.update(dict.fromkeys((task.name for task in tasks), None))

    def _window(self, task: Task) -> int:
        head = self.compilation.graph.operators[task.operators[0]]
        return head.window if isinstance(head, Aggregate) else 0

    def _section(self, task: Task) -> int:
        """How long an operator under way can hold up more urgent work, its cascade included."""
        section = max(self._works[task.name, entry].section for entry in task.entries)
        section = max(section, self._gathered_section(task))
        section += self.batch
        return section + (self._cascades[task.name] if self.shift(task) else 0)

    def _gathered_section(self, task: Task) -> int:
        """The longest execution of a head that takes all that has come in its timeout."""
        head = self.compilation.graph.operators[task.operators[0]]
        if not gathers(head) or head.cost is None or head.cost.between_items:
            return 0
        node = self._nodes[task.node]
        items = sum(
            flow.count
            * self.curves[source].in_interval(
                (head.timeout or 0) + (self.age_at(stream, task.node) or 0)
            )
            for stream in task.entries
            for source, flow in self.flows[stream].items()
        )
        return head.cost.of(items, node.speed) + node.decision_cost + node.preemption_cost

    def _find_cascades(self) -> None:
        """Work on its node that one execution of a task's last operator can release at once, from
        the last tasks of the query to the first."""
        graph = self.compilation.graph
        for name in reversed(graph.order):
            for task in self.producers(name):
                last = graph.operators[name]
                outputs = max((most_outputs(last, stream) for stream in last.streams), default=1)
                if isinstance(last, Join) and last.partners is not None:
                    outputs = max(outputs, self._pairs_at_once(last))
                following = [
                    (self._works[after.name, name], self._cascades[after.name])
                    for after in self._tasks_after.get((name, task.node), [])
                ]
                self._cascades[task.name] = outputs * sum(
                    work.per_tuple + work.per_execution + cascade for work, cascade in following
                )

    def _pairs_at_once(self, join: Join) -> int:
        """How many partners can be waiting for one tuple of the other side."""
        assert join.partners is not None
        return sum(
            flow.count * self.curves[source].in_interval(2 * join.within + flow.back)
            for port in join.inputs
            if port.port == join.partners[0]
            for source, flow in self.flows[port.stream].items()
        )

    def _partner_age(self, task: Task) -> int | None:
        """How old the tuples can be on entry that complete pairs charged to this task's tuples."""
        sharing = [
            other
            for join in self._joins(task)
            if join.partners is not None
            for other in self._tasks_with[join.name]
        ]
        return most([self._entry_age(t) for t in sharing])

    def _add_demands(self, task: Task, demands: list[Demand], pending: list[Demand]) -> str:
        """Adds the work the task can ask for; returns why it cannot be bounded, if so."""
        graph = self.compilation.graph
        head = graph.operators[task.operators[0]]
        age, partner_age = self.input_age(task), self._partner_age(task)
        due, held = self.release_age(task), self._held_age(task)
        entry_age = self._entry_age(task)
        if isinstance(head, Aggregate):
            sources = {name: graph.sources[name] for s in task.entries for name in self.flows[s]}
            silent = [source for source in sources.values() if source_lag(source) is None]
            if silent:
                return (
                    f"{head.name} closes a window only when later tuples come: "
                    f"{why_no_lag(silent[0])}"
                )
        if age is None or partner_age is None or entry_age is None or due is None or held is None:
            return f"tuples reach {task.name} on {task.node} without a bound"

        deadline = task.relative_deadline

        def add(
            curve: ArrivalCurve, cost: int, back: int, entry: int, late_entry: int, oldest: int
        ) -> None:
            demands.append(Demand(curve, cost, back + late_entry - deadline, deadline - oldest))
            pending.append(Demand(curve, cost, entry))

        runs: list[str] = []
        if gathers(head):
            rates = {
                stream: sum(
                    self.curves[source].sustained.per_second * flow.count
                    for source, flow in self.flows[stream].items()
                )
                for stream in task.entries
            }
            runs, timer = runs_of(head, rates)
            if timer is not None:
                work = self._works[task.name, task.entries[0]]
                add(ArrivalCurve((timer,)), work.per_execution, due, 0, 0, due)
        for stream in task.entries:
            work = self._works[task.name, stream]
            cost = work.per_tuple + (work.per_execution if stream in runs else 0)
            for source, flow in self.flows[stream].items():
                entry = self._arrival_to_entry(task, stream, source, late=False)
                late = self._arrival_to_entry(task, stream, source, late=True)
                released = self._release_after(task, stream, source, late=False)
                released_late = self._release_after(task, stream, source, late=True)
                if entry is None or late is None or released is None or released_late is None:
                    return f"tuples reach {task.name} on {task.node} without a bound"
                curve, back = self.curves[source], flow.back
                oldest = entry_age
                if partner_age:
                    # Its pairs may be made when the partner comes, in the partner's job.
                    back += self.shift(task)
                    entry = max(entry, partner_age + self.shift(task))
                    late = max(late, entry)
                    oldest = max(oldest, partner_age) + self.shift(task)
                if not gathers(head):
                    add(curve, flow.count * cost, back, entry, late, oldest)
                if waits(head):
                    # Later work: an aggregate's closing windows, a join's timeout, a gathered run.
                    times = flow.count * windows_per_tuple(head)
                    later = back_after(head, back, age)
                    add(curve, times * cost, later, released, released_late, held)
        return ""
