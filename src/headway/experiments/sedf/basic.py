"""The S-EDF paper's basic study (section 6.1, figures 8 to 12), in virtual time.

Query (figure 8): ``o1 -> {o2 -> o3 -> o4 -> output1 (5 ms), o5 -> o6 -> output2 (500 ms)}``, every
operator 100 us, both outputs of weight 1. Inputs: *input1* is N tuples at once and N more 500 us
later; *input2* is N tuples, one each 400 us. Batches, as in the paper: tuples that arrive at one
instant are scheduled as one, with their common timestamp; *input2* has none. Deadlines by EDF*
stay those of single tuples: they are fixed when the query is registered.

The paper measured what scheduling costs and prints only the preemption's 2.6 us; here both are
declared. A decision costs 45 us, from what its figures need: above 33 us, o1 to o3 take longer
than the 400 us between two tuples of input2, so that MC+ starts again before it reaches o4
(figure 12); above 43 us, single operators fall behind within 28 tuples (figure 10). Where FIFO+
and PCS differ is by less than a tuple, so they tie at some costs (50 us) where the paper's random
times part them.

Grid: policy x input x N x batches. The metric is the deadline miss ratio weighted over the outputs
(equation 4)::

    rows = run(grid())
    analyse(rows)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import groupby

import pyarrow as pa

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.program import tasks_for
from headway.model.operators import Input, Map
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle
from headway.schedule.online import Policy, policy_named
from headway.schedule.online.policy import KeyFunction, UnitFacts
from headway.schedule.online.s_edf import PrimitiveStreamEdf, StreamEdf

POLICIES = ("s-edf", "s-edf-primitive", "fifo+", "mc+", "pcs")
OPERATOR_COST = 100 * MICROSECOND
DECISION_COST = 45 * MICROSECOND
PREEMPTION_COST = 2_600
BURST_DISTANCE = 500 * MICROSECOND
SPACING = 400 * MICROSECOND
MOST_TUPLES = 80
"""of one trial; a trial a minute is within the node's means"""
MINUTE = 60 * SECOND


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One point of the grid."""

    policy: str
    input: str
    tuples: int
    """the paper's N"""
    batches: bool = False


@dataclass(frozen=True, kw_only=True)
class Row:
    """What a trial gave; times in nanoseconds."""

    policy: str
    input: str
    tuples: int
    batches: bool
    miss_ratio: float
    miss_ratio_1: float
    miss_ratio_2: float
    decisions: int
    preemptions: int
    scheduling_time: int


def query(size: int = 1) -> Query:
    """Figure 8; ``size`` tuples of a batch take so many times as long."""
    chain = {"o1": "input", "o2": "o1", "o3": "o2", "o4": "o3", "o5": "o1", "o6": "o5"}
    operators = tuple(
        Map(
            name=name,
            inputs=(Input("input", stream),),
            cost=Cost(size * OPERATOR_COST),
            columns=(),
            keep=True,
        )
        for name, stream in chain.items()
    )
    return Query(
        name="basic_study",
        sources=(Source(name="input", schema=schema(v="double"), rate=Rate(MOST_TUPLES, MINUTE)),),
        steps=operators,
        outputs=(
            Output(name="output1", stream="o4", deadline=5 * MILLISECOND),
            Output(name="output2", stream="o6", deadline=500 * MILLISECOND),
        ),
    )


@cache
def prepare(
    size: int = 1, decision_cost: int = DECISION_COST, preemption_cost: int = PREEMPTION_COST
) -> Plan:
    """The query for batches of that size on one node with declared scheduling costs."""
    node = Node(name="ecu", decision_cost=decision_cost, preemption_cost=preemption_cost)
    vehicle = Vehicle(name="one", nodes=(node,), sensors=(("input", "ecu"),))
    return compile_query(query(size), vehicle)


class _BatchedStreamEdf(StreamEdf):
    """S-EDF with given deadlines, by rank: those of single tuples, whatever the size of a batch."""

    def __init__(self, deadlines: Mapping[int, int]) -> None:
        self._deadlines = deadlines

    def key(self, unit: UnitFacts) -> KeyFunction:
        return super().key(replace(unit, deadline=self._deadlines[unit.rank]))


class _BatchedPrimitive(_BatchedStreamEdf):
    """The same without trains."""

    fuse = PrimitiveStreamEdf.fuse
    preemptive = PrimitiveStreamEdf.preemptive


def policy_for(trial: Trial) -> Policy:
    """The policy of a trial."""
    policy = policy_named(trial.policy)
    if not isinstance(policy, StreamEdf):
        return policy
    tasks, order = tasks_for(prepare(), policy)
    deadlines = {order.rank[task.name]: task.relative_deadline for task in tasks}
    return _BatchedStreamEdf(deadlines) if policy.fuse else _BatchedPrimitive(deadlines)


def arrivals(trial: Trial) -> list[Arrival]:
    """The tuples of a trial, or its batches."""
    if trial.input == "input1":
        together = 1 if trial.batches else trial.tuples
        times = [0] * together + [BURST_DISTANCE] * together
    else:
        times = [number * SPACING for number in range(trial.tuples)]
    return [Arrival(time, "input", (time // MICROSECOND, 0.0)) for time in times]


TUPLES: Mapping[str, Sequence[int]] = {"input1": range(1, 15), "input2": range(2, 30, 2)}
"""N by input; the paper's goes up to 28 on input2"""


def grid(
    tuples: Mapping[str, Sequence[int]] = TUPLES,
    policies: Sequence[str] = POLICIES,
    batches: Sequence[bool] = (False, True),
) -> list[Trial]:
    """All trials."""
    return [
        Trial(policy=policy, input=name, tuples=count, batches=batched)
        for batched in batches
        for name, counts in tuples.items()
        for count in counts
        for policy in policies
    ]


def run(trials: Iterable[Trial]) -> list[Row]:
    """Runs trials; one tidy row each."""
    return [_run(trial) for trial in trials]


def _run(trial: Trial) -> Row:
    batched = trial.batches and trial.input == "input1"
    plan = prepare(trial.tuples if batched else 1)
    engine = Engine(plan=plan, policy=policy_for(trial), keep_trace=False)
    summary = engine.run(arrivals(trial)).summary()
    (node,) = plan.vehicle.nodes
    ratios = {output.output: output.miss_ratio for output in summary.outputs}
    return Row(
        **asdict(trial),
        miss_ratio=summary.miss_ratio,
        miss_ratio_1=ratios["output1"],
        miss_ratio_2=ratios["output2"],
        decisions=summary.decisions,
        preemptions=summary.preemptions,
        scheduling_time=summary.decisions * node.decision_cost
        + summary.preemptions * node.preemption_cost,
    )


def to_table(rows: Sequence[Row]) -> pa.Table:
    """The rows as columns, for a file."""
    return pa.Table.from_pylist([asdict(row) for row in rows])


def analyse(rows: Iterable[Row]) -> dict[tuple[str, bool], dict[str, float]]:
    """(input, batches) -> policy -> miss ratio, the mean over N."""

    def curve(row: Row) -> tuple[str, bool, str]:
        return (row.input, row.batches, row.policy)

    found: dict[tuple[str, bool], dict[str, float]] = {}
    for (name, batched, policy), group in groupby(sorted(rows, key=curve), key=curve):
        ratios = [row.miss_ratio for row in group]
        found.setdefault((name, batched), {})[policy] = sum(ratios) / len(ratios)
    return found
