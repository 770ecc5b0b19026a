"""How large every buffer of a program must be, from what the query declares.

On an ECU nothing grows: each container gets its room before the first tuple. Within the declared
rates, delays and deadlines nothing is ever refused; what goes beyond them is shed and counted. The
rules, each for the worst case:

- *Tuples of a stream in an interval.* As the compiler counts them for its promises
  (:mod:`headway.compiler.latency.job_flows`): each source has an arrival curve, each operator a
  most number of results, and a result may be older than what caused it.
- *Jobs* of a train are under way no longer than until its deadline: later they are late, and the
  promise is broken. So there are as many as tuples can come in that time; and in no less than
  GRACE, for which an operating system may stop a node: it is late then, but loses nothing.
- *Pending results* of a job: all that one tuple can have become on its way through the train.
- *Gathered tuples*: those that come while a batch waits for its timeout and then for its turn.
- *A watermark's lag.* Time at an operator lies behind the newest tuple by the delay and lateness of
  the sources, by what is under way (a deadline), by how far back the operators before it look, and
  by silence. A source that promises no ``gap`` counts as silent for the longest deadline there is:
  what waits for it longer is late anyway.
- *Kept tuples* of a join, and times of a distinct: what is not older than the watermark less
  ``within``; and they are told of the watermark only now and then.
- *Waiting tuples* of a join with a timeout: those that come while one waits.
- *Windows* that are open: from the watermark less the window to the newest tuple. A group needs a
  tuple, so there are at most as many groups as tuples in all windows.
- *Objects* of a fusion are forgotten when none was measured for three rear windows (twice the
  window, and they are looked for once in it); their *measurements* reach one front window further
  back, their *estimates* one rear window, and one estimate more for each.
- *Timers*: one for each waiting tuple and for each batch, also where they no longer matter.
- *Messages* on buses: what can be sent until the deadline.

On a workstation (simulation, Spark) containers start small and grow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.compiler.latency.job_flows import DerivedPartners, Flows, boundless, flows_of
from headway.engine.program import Unit
from headway.engine.watermarks import JOIN_TOLD_EVERY
from headway.errors import Problem, QueryError
from headway.model.graph import Graph, graph_of
from headway.model.operators import Aggregate, Distinct, Fusion, Join, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, ArrivalCurve
from headway.native.program_layout import ProgramForm, ProgramLayout

FIRST = 16
"""room that a container has at first where it can grow"""
MOST = 1 << 30
"""numbers in the tables stay below this"""
GRACE = 250 * MILLISECOND
"""for so long a node may stand still and shed nothing"""
NO_DEADLINE = SECOND
"""how long jobs wait at most for an output that declares no deadline"""


@dataclass(frozen=True, slots=True)
class UnitSizes:
    """Of a train."""

    jobs: int = FIRST
    pending: int = FIRST
    gathered: int = FIRST


@dataclass(frozen=True, slots=True)
class OperatorSizes:
    """Of an operator with state, by port where it has several: rows kept, rows that wait; and
    groups and windows of an aggregate; objects, measurements and estimates of a fusion. ``batch``
    is the most tuples of one execution."""

    kept: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, int] = field(default_factory=dict)
    groups: int = FIRST
    windows: int = FIRST
    batch: int = FIRST
    objects: int = FIRST
    measurements: int = FIRST
    estimates: int = FIRST


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of a whole program; ``units`` by their index."""

    units: tuple[UnitSizes, ...]
    operators: Mapping[str, OperatorSizes]
    events: int
    messages: int

    def of(self, operator: str) -> OperatorSizes:
        """Of an operator; one that keeps no state needs none."""
        return self.operators.get(operator, OperatorSizes())


def sizes_of(layout: ProgramLayout) -> Sizes:
    """The sizes of a program: exact for an ECU, small and growing elsewhere."""
    return exact_sizes(layout) if layout.form is ProgramForm.NODE else first_sizes(layout)


def exact_sizes(layout: ProgramLayout) -> Sizes:
    """By the rules above; QueryError where the query does not declare enough."""
    return _Rules(layout).sizes()


def first_sizes(layout: ProgramLayout) -> Sizes:
    """Where containers grow."""
    return Sizes(
        units=tuple(UnitSizes() for _ in layout.program.units),
        operators={
            name: OperatorSizes(
                kept={port.port: FIRST for port in layout.graph.operators[name].inputs},
                waiting={port.port: FIRST for port in layout.graph.operators[name].inputs},
            )
            for name in layout.stateful
        },
        events=FIRST,
        messages=FIRST,
    )


def undeclared(plan: Plan) -> list[Problem]:
    """What a query must declare before buffers can have a size."""
    graph = graph_of(plan.query)
    problems = [
        Problem(
            f"source {name!r} declares no rate, so its buffers have no size",
            at=f"sources.{name}",
            want="declare a rate, such as 'rate: 1 per 10 ms', or a load shedder",
        )
        for name, source in graph.sources.items()
        if source.arrivals is None
    ]
    problems += [
        Problem(
            f"nobody says how many results one tuple can have in {name!r}, so what follows it has "
            "no size",
            at=f"operators.{name}",
            want="declare 'most_outputs'",
        )
        for name in dict.fromkeys(boundless(graph).values())
    ]
    return problems


class _Rules:
    """The rules above, for one node's part of a plan."""

    def __init__(self, layout: ProgramLayout) -> None:
        self.layout = layout
        plan = layout.whole
        if problems := undeclared(plan):
            raise QueryError(problems)
        self.graph: Graph = graph_of(plan.query)
        self.curves: dict[str, ArrivalCurve] = {}
        for name, source in self.graph.sources.items():
            curve = source.arrivals
            assert curve is not None
            self.curves[name] = curve
        deadlines = [output.deadline or NO_DEADLINE for output in plan.query.outputs]
        self.longest = max(deadlines, default=NO_DEADLINE)
        self.ages = self._find_ages(plan)
        self.flows: Flows
        self.flows, self.operators = flows_of(self.graph, self.ages, DerivedPartners(self.curves))
        self._lags = self._find_lags()

    def sizes(self) -> Sizes:
        units = tuple(self._unit(unit) for unit in self.layout.program.units)
        operators = {name: self._operator(name) for name in self.layout.stateful}
        messages = sum(
            self.within(stream, self.longest)
            for stream in dict.fromkeys(one.stream for one in self.layout.plan.crossings)
        )
        timers = sum(sum(one.waiting.values()) for one in operators.values())
        timers += sum(
            unit.gathered
            for unit, laid in zip(units, self.layout.program.units, strict=True)
            if laid.gathering is not None
        )
        cores = sum(group.cores for group in self.layout.groups)
        events = timers + 2 * len(self.graph.sources) + 2 * cores
        return Sizes(units, operators, _limited(events), _limited(messages))

    def _wait(self, deadline: int) -> int:
        """How long a job with that relative deadline can wait."""
        return max(min(deadline, self.longest), GRACE)

    def _find_ages(self, plan: Plan) -> dict[str, int]:
        """How old what comes to each operator can be: its job ends at its train's deadline."""
        ages = dict.fromkeys(self.graph.operators, 0)
        for task in plan.scheduled(trains=self.layout.policy.fuse):
            deadline = self._wait(task.relative_deadline)
            for name in task.operators:
                ages[name] = max(ages[name], deadline)
        return ages

    # ---------------------------------------------------------------- how many tuples

    def within(self, stream: str, length: int) -> int:
        """Most tuples of a stream in any interval of that length."""
        found = sum(
            flow.count * self.curves[source].in_interval(length + flow.back)
            for source, flow in self.flows[stream].items()
        )
        return _limited(found)

    def _per_arrival(self, stream: str) -> int:
        """Most tuples of a stream that one arrival causes."""
        return max((flow.count for flow in self.flows[stream].values()), default=1)

    # ---------------------------------------------------------------- trains

    def _unit(self, unit: Unit) -> UnitSizes:
        head = self.operators[unit.head.name]
        deadline = self._wait(unit.task.relative_deadline)
        jobs = sum(self.within(entry, deadline) for entry in unit.task.entries)
        if head.traits.emits_on_time or head.holds_for is not None:
            jobs += self.within(head.name, deadline)  # results without a new tuple
        gathered = 1
        if head.gathering is not None:
            waits = (head.timeout or 0) + deadline
            gathered = sum(self.within(entry, waits) for entry in unit.task.entries)
        tuples = gathered
        pending = 1
        before = unit.task.entries[0] if unit.task.entries else ""
        for name in unit.operators:
            operator = self.operators[name]
            tuples *= self._at_once(operator, before)
            pending += tuples
            before = name
        return UnitSizes(_limited(jobs + 1), _limited(pending), _limited(gathered))

    def _at_once(self, operator: Operator, stream: str) -> int:
        """Most results of one execution. Pairs of a join are charged to the port whose partners are
        limited, but a tuple of the other port meets all at once that came before it."""
        if not isinstance(operator, Join) or operator.partners is None:
            return max(operator.most_results(stream), 1)
        port, most = operator.partners
        (limited,) = [one.stream for one in operator.inputs if one.port == port]
        met = self.within(limited, 2 * operator.within)
        return max(operator.most_results(limited), most * met, 1)

    # ---------------------------------------------------------------- operators with state

    def _find_lags(self) -> dict[str, int]:
        """By stream: how far its watermark can lie behind the present."""
        lags: dict[str, int] = {}
        for name, source in self.graph.sources.items():
            silent = self.longest if source.gap is None else source.gap
            lags[name] = source.age + source.lateness + silent
        for name in self.graph.order:
            operator = self.operators[name]
            lags[name] = self._lag_into(operator, lags) + operator.looks_back
            lags[name] += operator.timeout or 0
        return lags

    def _lag_into(self, operator: Operator, lags: Mapping[str, int]) -> int:
        return max(self.ages[operator.name], *(lags[stream] for stream in operator.streams))

    def _operator(self, name: str) -> OperatorSizes:
        operator = self.operators[name]
        lag = self._lag_into(operator, self._lags)
        reach = lag + operator.looks_back
        if isinstance(operator, Distinct):
            reach += operator.within
        kept = {
            port.port: _limited(
                self.within(port.stream, reach) + JOIN_TOLD_EVERY * self._per_arrival(port.stream)
            )
            for port in operator.inputs
        }
        if isinstance(operator, Distinct) and not operator.keys:  # its results lie apart
            apart = operator.within // MICROSECOND * MICROSECOND + MICROSECOND
            results = reach // apart + 2 + JOIN_TOLD_EVERY
            kept = {port: min(most, results) for port, most in kept.items()}
        held = operator.holds_for
        waiting = {
            port.port: 0 if held is None else self.within(port.stream, held + self.ages[name])
            for port in operator.inputs
        }
        windows = groups = 0
        if isinstance(operator, Aggregate):
            windows = groups = _limited(reach // operator.every + 2)
            if operator.by:
                tuples = sum(self.within(stream, reach) for stream in operator.streams)
                groups = _limited(tuples * operator.windows_per_tuple)
        batch = sum(
            self.within(stream, (operator.timeout or 0) + self.ages[name])
            for stream in operator.streams
        )
        objects, measurements, estimates = self._fusion(operator, lag, batch)
        return OperatorSizes(
            kept,
            waiting,
            groups,
            windows,
            _limited(batch),
            _limited(objects),
            _limited(measurements),
            _limited(estimates),
        )

    def _fusion(self, operator: Operator, lag: int, batch: int) -> tuple[int, int, int]:
        """Objects, measurements and estimates that a fusion keeps at once."""
        if not isinstance(operator, Fusion):
            return 0, 0, 0

        def tuples(length: int) -> int:
            return sum(self.within(stream, lag + length) for stream in operator.streams)

        rear, front = operator.rear, min(operator.front, operator.rear)
        objects = 1 if operator.object_key is None else tuples(3 * rear)
        return objects, tuples(3 * rear + front) + batch, tuples(4 * rear) + objects + batch


def _limited(count: int) -> int:
    return max(1, min(count, MOST))
