"""The collision warning at a crowded crossing, in the vehicle engine: V2V asks for up to 200 %.

Grid: V2V load 50, 100, 150, 200 % of its node x policy, one vehicle's recording. The query is the
example's without the load shedder (V2V declares the rate that the shedder would let through) and
with one more soft output, ``traffic``, that looks at every V2V tuple. On-board tuples are as
recorded; V2V tuples are the recorded ones over and over, evenly spaced, at the rate whose declared
costs make the load. ``python benchmarks/bench_overload.py --crossing`` prints it::

    results = run(query, vehicle, recording)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.reservations import FULL_UP
from headway.engine.results import RunResult
from headway.model.expression import Column, Sql
from headway.model.operators import ONLY_PORT, Input, Map
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Criticality, Output, Query
from headway.model.vehicle import Vehicle
from headway.schedule.overload.plan_paths import operator_paths
from headway.sources.recordings import read_recording, scan_recording

LOADS = (50, 100, 150, 200)
POLICIES = ("s-edf", "op-edf", "rate-monotonic", "er-edf", "cbs", "rop-edf-1", "rop-edf-2")
RADIO = "v2v"
SEEN, TRAFFIC = "seen", "traffic"
LOOK = Cost(2 * MILLISECOND)
"""what ``traffic`` takes for a tuple"""
TRAFFIC_DEADLINE = 250 * MILLISECOND


@dataclass(frozen=True, kw_only=True)
class Crossing:
    """What became of the outputs under a policy; ``load`` in % of the node that V2V enters."""

    load: int
    policy: str
    tuples: dict[str, int]
    misses: dict[str, int]
    turned_away: int
    """V2V tuples beyond the declared rate, which hard trains did not get"""
    hard_rejected: int
    """tuples for which a hard output found no processor time left"""
    soft_rejected: int

    def hard_misses(self, plan: Plan) -> int:
        hard = [o.name for o in plan.query.outputs if o.criticality is Criticality.HARD]
        return sum(self.misses[name] for name in hard)


def crowded(query: Query) -> Query:
    """The query without its shedder, with an output for every V2V tuple."""
    sources = []
    for source in query.sources:
        if source.name == RADIO:
            shedder = source.shedder
            assert shedder is not None
            source = replace(source, shedder=None, rate=Rate(shedder.at_most, shedder.per))
        sources.append(source)
    seen = Map(
        name=SEEN,
        inputs=(Input(ONLY_PORT, RADIO),),
        columns=tuple(Column(name, Sql(name)) for name in ("id", "x", "y")),
        cost=LOOK,
    )
    traffic = Output(
        name=TRAFFIC, stream=SEEN, deadline=TRAFFIC_DEADLINE, criticality=Criticality.SOFT
    )
    return replace(
        query,
        sources=tuple(sources),
        steps=(*query.steps, seen),
        outputs=(*query.outputs, traffic),
    )


def radio_load(plan: Plan) -> float:
    """The share of its node that V2V asks for at the declared rate."""
    node = dict(plan.placement)[RADIO]
    paths = [path for path in operator_paths(plan) if path.source.name == RADIO]
    return sum(path.loads.get(node, 0.0) for path in paths)


def arrivals_at(plan: Plan, recording: Path, load: int) -> list[Arrival]:
    """The first vehicle's tuples, with as many of V2V as ask for that load."""
    sources = plan.query.sources
    vehicle = scan_recording(recording, sources).vehicles[0]
    recorded = [
        Arrival(time * MICROSECOND, source, row)
        for time, source, row, _ in read_recording(recording, sources, vehicle)
    ]
    board = [one for one in recorded if one.source != RADIO]
    heard = [one for one in recorded if one.source == RADIO]
    (rate,) = (source.rate for source in sources if source.name == RADIO)
    assert rate is not None
    wanted = rate.per_second * load / 100 / radio_load(plan)
    place = {source.name: number for number, source in enumerate(sources)}
    more = _spread(heard, board[0].time, board[-1].time, wanted)
    return sorted([*board, *more], key=lambda one: (one.time, place[one.source]))


def _spread(heard: Sequence[Arrival], begin: int, end: int, rate: float) -> Iterator[Arrival]:
    """``rate`` tuples a second, each as old on arrival as it was in the recording."""
    count = int((end - begin) * rate / SECOND)
    for number in range(count):
        time = begin + (end - begin) * number // count
        one = heard[number * len(heard) // count]
        later = (time - one.time) // MICROSECOND
        yield Arrival(time, RADIO, (one.row[0] + later, *one.row[1:]))


def run_one(plan: Plan, recording: Path, load: int, policy: str) -> Crossing:
    result = Engine(plan=plan, policy=policy, keep_trace=False).run(
        arrivals_at(plan, recording, load)
    )
    return _counted(result, load, policy)


def _counted(result: RunResult, load: int, policy: str) -> Crossing:
    summary = result.summary()
    reasons = [dropped.reason for _, dropped in result.side.dropped]
    full = [reason for reason in reasons if reason.startswith(FULL_UP)]
    hard = sum(reason != FULL_UP for reason in full)
    return Crossing(
        load=load,
        policy=policy,
        tuples={one.output: one.tuples for one in summary.outputs},
        misses={one.output: one.misses for one in summary.outputs},
        turned_away=sum("beyond the declared rate" in reason for reason in reasons),
        hard_rejected=hard,
        soft_rejected=len(full) - hard,
    )


def run(
    query: Query,
    vehicle: Vehicle,
    recording: Path,
    loads: Sequence[int] = LOADS,
    policies: Sequence[str] = POLICIES,
) -> list[Crossing]:
    """Every policy at every load."""
    plan = compile_query(crowded(query), vehicle)
    return [run_one(plan, recording, load, policy) for load in loads for policy in policies]
