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
that demand (:mod:`headway.compiler.latency.demand`). A node never idles with work pending, so a job
also finishes within a busy period of its release; the smaller bound is taken. Ages and entries of
one node follow from latencies of others: iteration from below finds the least solution, which
holds by induction over time.

Two kinds of jobs are released by no tuple. A join's timer starts when the join has run for the
tuple, so it is over a timeout after *that* job's latency. A window closes when the watermark has
passed it (:mod:`headway.compiler.latency.tuple_ages`) and the tuples that are to enter it have.
Those can be younger by up to the window and so less urgent than its result: for the result's own
bound it counts as if it had the deadline of the youngest of them, and as work that others wait for
it may come as late as that bound. While it is held up the node is busy, so the busy period needs no
more than when the window was due.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headway.compiler.latency.demand import (
    LONGEST,
    Demand,
    Section,
    busy_period,
    lateness,
    least,
    most,
)
from headway.compiler.latency.finishing import Competing, Waiting, finishes
from headway.compiler.latency.job_flows import (
    DerivedPartners,
    back_after,
    boundless,
    flows_of,
    why_boundless,
    work_of,
)
from headway.compiler.latency.media import media_responses, messages_of
from headway.compiler.latency.phases import Loads, Phase, cases_of, phases_of
from headway.compiler.latency.several_cores import core_by_core, longest_stay
from headway.compiler.latency.sojourns import Asked, Sojourns
from headway.compiler.latency.tuple_ages import Lags, source_lag, why_no_lag
from headway.compiler.trains import waits
from headway.compiler.utilisation import runs_of
from headway.model.plan import Task
from headway.model.quantities import ArrivalCurve, Rate
from headway.model.routes import architecture_of
from headway.model.taskset import FULL
from headway.model.vehicle import Node

MOST_ROUNDS = 1_000
FINE_ROUNDS = 100
"""after so many rounds without end only bounds that are quickly worked out are asked for"""
GRAIN = 100_000
"""reserved work counts in portions of this time (ns)"""


@dataclass(slots=True)
class Analysis(Sojourns):
    """Solves for the least bounds."""

    _phases: dict[str, Phase] = field(default_factory=dict)
    """source or clock -> its instants, where these are known"""

    def solve(self, limits: Mapping[str, int] | None = None) -> bool:
        """Raises all bounds until nothing changes; or gives up, False, as soon as one of these
        streams has no bound or is older than its limit: no bound falls again."""
        self._prepare()
        for self._round in range(MOST_ROUNDS):
            if limits and self._beyond(limits):
                return False
            before = self._state()
            self._lags = Lags(self)
            self._find_flows(self._operator_ages())
            found = media_responses(self._messages, self, self.responses, self.reasons)
            self.responses = {
                key: time and least(time, self._medium_limits.get(key[1]))
                for key, time in found.items()
            }
            self._find_entries()
            self._find_cascades()
            self._find_firsts()
            for node in self._nodes.values():
                self._solve_node(node)
            self._find_sojourns()
            if before == self._state():
                return True
        for task in self.compilation.tasks:
            self.latency[task.name] = self.accepted[task.name] = None
            self.reasons.setdefault(task.node, "the bounds of nodes and buses push each other up")
        return True

    def _state(self) -> tuple[object, ...]:
        """All that one round takes from the one before; the last two are made anew in each."""
        known = dict(self.latency), dict(self.accepted), dict(self.busy)
        limits = dict(self._limits), dict(self._accepted_limits), dict(self._medium_limits)
        return *known, self.responses, self._sent_after, limits, self._sent_limits

    def _beyond(self, limits: Mapping[str, int]) -> bool:
        ages = ((self.age_sent(stream), most_allowed) for stream, most_allowed in limits.items())
        return any(age is None or age > most_allowed for age, most_allowed in ages)

    def _prepare(self) -> None:
        self.compilation, nodes, self._homes = core_by_core(self.compilation)
        self._nodes = {node.name: node for node in nodes}
        compilation = self.compilation
        for source in compilation.graph.sources.values():
            if source.arrivals is not None:
                self.curves[source.name] = source.arrivals
        for operator in compilation.graph.operators.values():
            if (clock := operator.clock) is not None:
                self.curves[operator.name] = ArrivalCurve((Rate(1, clock.every, clock.jitter),))
        self._partners = DerivedPartners(self.curves)
        self.boundless = boundless(compilation.graph)
        self._declared = compilation.graph
        self._phases = phases_of(compilation.graph)
        self._find_flows({})
        compilation = self.compilation
        for task in compilation.tasks:
            self.latency[task.name] = self.accepted[task.name] = 0
            self._find_works(task)
            for entry in task.entries:
                self._tasks_after.setdefault((entry, task.node), []).append(task)
            for join in self._limited(task):
                self._tasks_with.setdefault(join.name, []).append(task)
            self._producers.setdefault(task.operators[-1], []).append(task)
            self._tasks_on.setdefault(task.node, []).append(task)
        self._find_order()
        self._crossing_of = {(c.stream, c.receiver): c for c in compilation.crossings}
        media = architecture_of(compilation.vehicle).media
        self._messages = messages_of(compilation.crossings, media)
        self._find_loops()

    def _find_flows(self, ages: dict[str, int]) -> None:
        """The flows, with what partners of joins follow from them."""
        before = dict(self._partners.limits)
        self.flows, operators = flows_of(self._declared, ages, self._partners)
        changed = {
            name for name, limit in self._partners.limits.items() if before.get(name) != limit
        }
        if not changed:
            return
        ordered = {name: operators[name] for name in self._declared.operators}
        self.compilation = replace(
            self.compilation, graph=replace(self._declared, operators=ordered)
        )
        for task in self.compilation.tasks:
            if before and not changed.isdisjoint(task.operators):
                self._find_works(task)

    def _find_works(self, task: Task) -> None:
        for entry in task.entries:
            self._works[task.name, entry] = work_of(
                task, entry, self.compilation.graph, self._nodes[task.node]
            )

    def _operator_ages(self) -> dict[str, int]:
        """Input ages of the operators that head a task (only these gather)."""
        ages: dict[str, int] = {}
        for task in self.compilation.tasks:
            head = task.operators[0]
            ages[head] = max(ages.get(head, 0), self.input_age(task) or 0)
        return ages

    def _solve_node(self, node: Node) -> None:
        tasks = self._tasks_on.get(node.name, [])
        if not tasks or self.reasons.get(node.name):
            return
        demands: list[Demand] = []
        pending: list[Demand] = []
        competing: list[Competing] = []
        reason = ""
        home = self.home(node.name)
        if (node.cores > 1 or home != node.name) and (self.batch or home in self.reserved):
            reason = f"{home} has several cores: declare each core as a node"
        elif node.cores > 1 and self.longest_piece(tasks):
            reason = f"{node.name} has {node.cores} cores and an optional part"
        released: list[int] = []
        offered: list[int] = []
        reserved = self.reserved.get(node.name)
        asked: list[Asked] = []
        for task in tasks:
            if reserved is None or task.name not in self.soft:
                reason = reason or self._add_demands(task, demands, pending, competing, asked)
            released.append(self.release_age(task) or 0)
            offered.append(self.input_age(task) or 0)
        if not reason and reserved is None and not self.longest_piece(tasks):
            self._asked[node.name] = asked
        if not reason and node.cores > 1:
            reason = self._solve_several_cores(node, tasks, competing, released, offered)
        elif not reason:
            # A window's result waits for tuples up to a window younger, so it counts as if it were
            # as urgent as the youngest of them.
            done_by = [task.relative_deadline + self._window(task) for task in tasks]
            # From the entry of what caused a job to its end the node is never idle, and nothing
            # less urgent begins but where a pair's older half made the job more urgent than that.
            entered = [self._offered_age(task) or 0 for task in tasks]
            begun = [
                age if waits(self._head(task)) else entry
                for task, age, entry in zip(tasks, released, entered, strict=True)
            ]
            ages = [
                entry if self._keeps_order(task) else age
                for task, age, entry in zip(
                    [*tasks, *tasks], [*released, *offered], [*begun, *entered], strict=True
                )
            ]
            deadlines = [*done_by, *(task.relative_deadline for task in tasks)]
            due = [deadline - age for deadline, age in zip(deadlines, ages, strict=True)]
            busy: int | None
            ends: list[int] | None = None
            if reserved is None:
                sections = [Section(t.relative_deadline, self._section(t)) for t in tasks]
                jobs = [Waiting(d, s) for d, s in zip(deadlines, due, strict=True)]
                found = [
                    self._in_case(case, node, sections, self.longest_piece(tasks), jobs)
                    for case in cases_of(Loads(demands, pending, competing), self._phases)
                ]
                late, busy = _worst([one[0] for one in found]), most([one[1] for one in found])
                ends = _worst([one[2] for one in found])
            else:  # how much soft work may wait is not bounded, only how urgent it is
                late, busy = self._lateness_beside(reserved, tasks, demands, due), LONGEST
            self.busy[node.name] = busy
            if late is None or busy is None:
                reason = f"{node.name} can be asked for more than it can do"
            else:
                for index, task in enumerate(tasks):
                    own = task.relative_deadline + late[len(tasks) + index]
                    self.accepted[task.name] = min(own + self.batch, entered[index] + busy)
                    last = done_by[index] + late[index]
                    self.latency[task.name] = min(last + self.batch, begun[index] + busy)
                    if ends is not None:
                        for known, end in (
                            (self.latency, index),
                            (self.accepted, index + len(tasks)),
                        ):
                            known[task.name] = min(known[task.name] or 0, ends[end])
        for task in tasks if not reason else ():
            for bounds, limits in (
                (self.latency, self._limits),
                (self.accepted, self._accepted_limits),
            ):
                limit = limits.get(task.name)
                far = limit is not None and self._round >= FINE_ROUNDS
                bounds[task.name] = limit if far else least(bounds[task.name], limit)
        if reason:
            self.reasons[node.name] = reason
            self.latency.update(dict.fromkeys((task.name for task in tasks), None))
            self.accepted.update(dict.fromkeys((task.name for task in tasks), None))

    def _in_case(
        self,
        case: Loads,
        node: Node,
        sections: list[Section],
        piece: int,
        jobs: list[Waiting],
    ) -> tuple[list[int] | None, int | None, list[int] | None]:
        """With what can come together: how late jobs end by deadlines alone, the busy period, and
        when they end by both. ``piece``: an optional part that may be under way."""
        due = [job.start for job in jobs]
        late, busy = lateness(case.demands, sections, due), busy_period(case.pending)
        if late is None or busy is None:
            return None, None, None
        if piece:
            freely = lateness(case.demands, [], due) or late
            late = [max(one, other + piece) for one, other in zip(late, freely, strict=True)]
            busy += piece
        if not self._finely(node):
            return late, busy, None
        ends = finishes(case.competing, sections, piece, jobs)
        if ends is None:
            self._coarse.add(node.name)
        return late, busy, ends

    def _solve_several_cores(
        self,
        node: Node,
        tasks: list[Task],
        competing: list[Competing],
        released: list[int],
        offered: list[int],
    ) -> str:
        """Bounds on a node whose cores share one queue; returns why there are none, if so."""
        came = [Demand(one.urgent.curve, one.urgent.cost, one.entry) for one in competing]
        stays = longest_stay(came, [self.longest_job(task) for task in tasks], node.cores)
        if stays is None:
            return f"{node.name} can be asked for more than it can do"
        for task, stay, release, offer in zip(tasks, stays, released, offered, strict=True):
            accepted = self.accepted[task.name] = offer + stay
            # A window closes only when the tuples that are to enter it have.
            window = self._window(task)
            self.latency[task.name] = max(release, window + accepted if window else 0) + stay
        return ""

    def _keeps_order(self, task: Task) -> bool:
        """Whether no task before it on its node, up to where tuples enter or are released, gives
        results older than what caused them."""
        return all(self._in_order.get(s, True) for s in task.entries if self._is_local(s, task))

    def _find_order(self) -> None:
        """The same of what is before each stream, its own tasks included."""
        for stream in self.compilation.graph.order:
            self._in_order[stream] = all(
                not self.shift(task) and (waits(self._head(task)) or self._keeps_order(task))
                for task in self.producers(stream)
            )

    def _finely(self, node: Node) -> bool:
        """Whether to ask when jobs are done by the finer way. One that was too much work once is
        not taken up again, nor where bounds rise round after round: they only grow."""
        return not self.batch and node.name not in self._coarse and self._round < FINE_ROUNDS

    def _lateness_beside(
        self, reserved: int, tasks: list[Task], demands: list[Demand], due: list[int]
    ) -> list[int] | None:
        """Lateness when soft tasks hold reservations. One that has used its budget runs when
        nothing else is ready, however urgent it is: its operator can hold up everything."""
        demands = [*demands, _reserved_demand(reserved)]
        hard = [
            Section(t.relative_deadline, self._section(t)) for t in tasks if t.name not in self.soft
        ]
        soft = max((self._section(t) for t in tasks if t.name in self.soft), default=0)
        soft = max(soft, self.longest_piece(tasks))
        by_hard, freely = lateness(demands, hard, due), lateness(demands, [], due)
        if by_hard is None or freely is None:
            return None
        return [max(one, other + soft) for one, other in zip(by_hard, freely, strict=True)]

    def _window(self, task: Task) -> int:
        head = self.compilation.graph.operators[task.operators[0]]
        return head.looks_back if head.traits.emits_on_time else 0

    def _add_demands(
        self,
        task: Task,
        demands: list[Demand],
        pending: list[Demand],
        competing: list[Competing],
        asked: list[Asked],
    ) -> str:
        """Adds the work the task can ask for; returns why it cannot be bounded, if so."""
        graph = self.compilation.graph
        blamed = [self.boundless[name] for name in task.entries if name in self.boundless]
        blamed += [name for name in task.operators[:-1] if not graph.operators[name].has_bound]
        if blamed:
            return why_boundless(blamed[0])
        head = graph.operators[task.operators[0]]
        age, partner_age = self.input_age(task), self._partner_age(task)
        due, held = self.release_age(task), self._held_age(task)
        entry_age = self._entry_age(task)
        if head.traits.emits_on_time:
            sources = {name: graph.sources[name] for name in graph.sources_before(head.name)}
            silent = [source for source in sources.values() if source_lag(source) is None]
            if silent:
                return (
                    f"{head.name} closes a window only when later tuples come: "
                    f"{why_no_lag(silent[0])}"
                )
        if age is None or partner_age is None or entry_age is None or due is None or held is None:
            return f"tuples reach {task.name} on {task.node} without a bound"

        deadline = task.relative_deadline
        first: int | None = 0
        cause = ""

        def add(
            curve: ArrivalCurve, cost: int, back: int, entry: int, late_entry: int, oldest: int
        ) -> None:
            urgent = Demand(curve, cost, back + late_entry - deadline, deadline - oldest, cause)
            demands.append(urgent)
            pending.append(Demand(curve, cost, entry, cause=cause))
            asked.append(Asked(curve, cost, entry, first))
            competing.append(Competing(urgent, late_entry))

        if head.clock is not None:
            work, cause = self._works[task.name, task.entries[0]], head.name
            add(self.curves[head.name], work.per_tuple, due, 0, 0, due)
            return ""
        runs: list[str] = []
        if head.gathering is not None:
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
                first, cause = self.first_after(task, stream, source), source
                entry = self._arrival_to_entry(task, stream, source, late=False)
                late = self._arrival_to_entry(task, stream, source, late=True)
                released = self._release_after(task, stream, source, late=False)
                released_late = self._release_after(task, stream, source, late=True)
                if entry is None or late is None or released is None or released_late is None:
                    return f"tuples reach {task.name} on {task.node} without a bound"
                curve, back = self.curves[source], flow.back
                later = back_after(head, back, age)
                times = flow.count * head.most_results(stream)
                if head.gathering is not None:
                    add(curve, flow.count * cost, later, released, released_late, held)
                    continue
                if waits(head):  # its own job ends in the head; for what comes of it, see below
                    add(curve, flow.count * work.head, back, entry, late, entry_age)
                if head.traits.emits_on_time:
                    add(curve, times * work.result, later, released, released_late, held)
                    continue
                oldest = entry_age
                if self._limited(task):
                    # Its pairs may be made when the partner comes, in the partner's job.
                    back += self.shift(task)
                    entry = max(entry, partner_age + self.shift(task))
                    late = max(late, entry)
                    oldest = max(oldest, partner_age) + self.shift(task)
                if waits(head):
                    # It finds partners, in its job or theirs, or is released alone by its timeout.
                    cost = max(times * work.rest, flow.count * work.result)
                    entry, late = max(entry, released), max(late, released_late)
                    back, oldest = max(back, later), max(oldest, held)
                    add(curve, cost, back, entry, late, oldest)
                else:
                    add(curve, flow.count * cost, back, entry, late, oldest)
        return ""


def _worst(found: list[list[int] | None]) -> list[int] | None:
    """Place by place the largest; None where one of them is missing."""
    known = [one for one in found if one is not None]
    return [max(values) for values in zip(*known, strict=True)] if known == found else None


def _reserved_demand(share: int) -> Demand:
    """Work of soft jobs: those that are released and due within an interval hold at most ``share``
    (millionths) of it, as at no instant more is reserved."""
    return Demand(ArrivalCurve((Rate(1, GRAIN),)), -(-share * GRAIN // FULL), 0)
