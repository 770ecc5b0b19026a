"""The query of ROP-EDF section 6 (figure 10): operators that two applications with different
deadlines share.

Printed: group A, four operators, gives vehicle data from on-board sensors; group B surrounding
vehicles from an on-board sensor and V2V; Join 3 combines both for navigation, due after 150 ms;
what group A gives is also for collision risk warning, due after 100 ms. The drawing is not in the
text that we have, so which operators the groups are made of is ours, and so are costs and rates.
The warning is hard here, navigation soft.

Grid: policy x V2V tuples a second (100 are declared), 2 s each, in the vehicle engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.operator_counts import operator_counts
from headway.files import parse_query
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND
from headway.model.vehicle import Node, Vehicle
from headway.schedule.overload.plan_paths import operator_paths
from headway_studies.provenance import assumed
from headway_studies.rop_edf.task_set_rows import HELD, OVERLOAD_POLICY_NAMES
from headway_studies.row_reading import text, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond, stated
from headway_studies.study_charts import BarChart, Grid

QUERY = """query: figure_10
schemas:
  Value: {id: int, v: double}
sources:
  gps: {schema: Value, rate: 1 per 100 ms, lateness: 100 ms}
  speed: {schema: Value, rate: 1 per 100 ms, lateness: 100 ms}
  radar: {schema: Value, rate: 1 per 100 ms, lateness: 100 ms}
  v2v: {schema: Value, rate: 1 per 10 ms, lateness: 100 ms}
operators:
  # group A
  map1: {map: {id: id, v: v}, from: gps, cost: 2 ms}
  map2: {map: {id: id, v: v}, from: speed, cost: 2 ms}
  join1:
    join: {gps: map1, speed: map2}
    within: 0 ms
    partners: {gps: 1}
    select: {id: gps.id, v: gps.v + speed.v}
    cost: 2 ms
  map3: {map: {id: id, v: v}, from: join1, cost: 2 ms}
  # group B
  map4: {map: {id: id, v: v}, from: v2v, cost: 2 ms}
  join2:
    join: {v2v: map4, radar: radar}
    within: 50 ms
    partners: {v2v: 1}
    select: {id: v2v.id, v: v2v.v + radar.v}
    cost: 2 ms
  # both
  join3:
    join: {around: join2, own: map3}
    within: 50 ms
    partners: {around: 1}
    select: {id: around.id, v: around.v + own.v}
    cost: 1 ms
outputs:
  warning: {from: map3, deadline: 100 ms, criticality: hard}
  navigation: {from: join3, deadline: 150 ms, criticality: soft}
"""
GROUP_A = ("map1", "map2", "join1", "map3")
DEADLINES: Mapping[str, int] = MappingProxyType({"warning": 100, "navigation": 150})
"""ms"""
POLICIES = (
    "chain", "rtstream", "op-edf", "rate-monotonic", "er-edf", "cbs", "rop-edf-1", "rop-edf-2",
)  # fmt: skip
NOT_BY_DEADLINE = ("chain", "rate-monotonic")
ROP_EDF = ("rop-edf-1", "rop-edf-2")
RATES = (100, 200, 400)
"""V2V tuples a second; the first is declared, and within the node's means"""
LENGTH = 2_000
"""ms"""
WARNINGS = LENGTH // 100
REBUILT = assumed(
    "what the groups are made of, costs of 1 and 2 ms, on-board sensors each 100 ms, 100 V2V "
    "tuples/s declared; the warning hard, navigation soft"
)


@cache
def plan() -> Plan:
    """On one node without scheduling cost: ROP-EDF is for one processor."""
    query = parse_query(QUERY).query
    sensors = tuple((source.name, "ecu") for source in query.sources)
    return compile_query(query, Vehicle(name="one", nodes=(Node(name="ecu"),), sensors=sensors))


def arrivals(rate: int) -> list[Arrival]:
    """On-board sensors each 100 ms, V2V evenly; all arrive when they are sensed."""
    given = [(at, source) for at in range(0, LENGTH, 100) for source in ("gps", "speed", "radar")]
    microseconds = [(at * 1_000, source) for at, source in given]
    microseconds += [(at, "v2v") for at in range(0, LENGTH * 1_000, 1_000_000 // rate)]
    return [Arrival(at * MICROSECOND, source, (at, 1, 1.0)) for at, source in sorted(microseconds)]


def cells(quick: bool) -> list[Cell]:
    return [{"policy": policy, "rate": rate} for policy in POLICIES for rate in RATES]


def run(cell: Cell) -> list[Row]:
    """One row an output; ``shed`` is what of its tuples the policy turned away."""
    policy, rate = text(cell, "policy"), whole(cell, "rate")
    result = Engine(plan=plan(), policy=policy, keep_trace=False).run(arrivals(rate))
    turned = {one.operator: one.rejected + one.shed for one in operator_counts(result)}
    lost = {
        "warning": sum(turned.get(name, 0) for name in ("gps", "speed", *GROUP_A)),
        "navigation": sum(
            turned.get(name, 0) for name in ("v2v", "radar", "map4", "join2", "join3")
        ),
    }
    return [
        {
            "policy": policy, "rate": rate, "output": one.output, "tuples": one.tuples,
            "missed": one.misses, "lost": lost[one.output],
        }
        for one in result.summary().outputs
    ]  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(
            _compiled(),
            _paths(),
            _within_means(rows),
            _op_edf(rows),
            _chain(rows),
            _rop_edf(rows),
            _cbs(rows),
            _rtstream(rows),
        ),
        pictures=(_table(), _chart(rows)),
    )


def _compiled() -> Claim:
    found = {name: [task for task in plan().tasks if name in task.operators] for name in GROUP_A}
    due = {task.relative_deadline // MILLISECOND for tasks in found.values() for task in tasks}
    verdict = plan().verdict
    promised = {} if verdict is None else {one.output: one.bound for one in verdict.promises}
    kept = verdict is not None and all(one.kept for one in verdict.promises if one.hard)
    return stated(
        "figure 10",
        "the operators of group A serve two applications with different deadlines, "
        + " and ".join(f"{deadline} ms" for deadline in DEADLINES.values()),
        f"one query, {len(plan().query.steps)} operators, each once; those of group A due after "
        f"{', '.join(str(one) for one in sorted(due))} ms by EDF*; bounds: "
        + ", ".join(
            f"{name} {(bound or 0) / MILLISECOND:g} ms" for name, bound in promised.items()
        ),
        came=REBUILT,
        holds=kept and due == {DEADLINES["warning"]},
    )


def _paths() -> Claim:
    owner = {
        name: {path.output.name for path in operator_paths(plan()) if name in path.operators}
        for name in GROUP_A
    }
    others = [path for path in operator_paths(plan()) if path.output.name == "navigation"]
    return stated(
        "figure 3 (c)",
        "where a path branches, the shorter deadline is the key path's, others begin behind it",
        f"group A stands in the paths of {', '.join(sorted(set().union(*owner.values())))}; those "
        "of navigation are " + "; ".join(" ".join(path.operators) for path in others),
        came=REBUILT,
        holds=all(names == {"warning"} for names in owner.values()),
    )


def _counts(rows: Sequence[Row], policy: str, rate: int, output: str) -> tuple[int, int, int]:
    """(tuples that came out, missed, turned away)"""
    (row,) = where(rows, policy=policy, rate=rate, output=output)
    return whole(row, "tuples"), whole(row, "missed"), whole(row, "lost")


def _not_in_time(rows: Sequence[Row], policy: str, rate: int) -> int:
    """Warnings that were late or never came."""
    tuples, missed, _ = _counts(rows, policy, rate, "warning")
    return WARNINGS - (tuples - missed)


def _told(rows: Sequence[Row], policies: Sequence[str], rates: Sequence[int]) -> str:
    return f"of {WARNINGS} warnings not in time: " + "; ".join(
        f"{OVERLOAD_POLICY_NAMES[policy]} "
        + ", ".join(f"{_not_in_time(rows, policy, rate)} at {rate}/s" for rate in rates)
        for policy in policies
    )


def _within_means(rows: Sequence[Row]) -> Claim:
    least = RATES[0]
    edf = tuple(name for name in POLICIES if name not in NOT_BY_DEADLINE)
    return stated(
        "table 6",
        "below overload methods that are based on EDF keep hard deadlines",
        f"{_told(rows, edf, (least,))}",
        came=REBUILT,
        holds=all(not _not_in_time(rows, policy, least) for policy in edf),
    )


def _op_edf(rows: Sequence[Row]) -> Claim:
    return stated(
        "section 3",
        "OP-EDF and ER-EDF miss hard deadlines when more than 100 % is requested",
        f"{_told(rows, ('op-edf', 'er-edf'), RATES[1:])}",
        came=REBUILT,
        holds=all(_not_in_time(rows, name, r) for name in ("op-edf", "er-edf") for r in RATES[1:]),
    )


def _rop_edf(rows: Sequence[Row]) -> Claim:
    return stated(
        "table 6",
        "ROP-EDF keeps hard deadlines in overload where a query has several deadlines",
        f"{_told(rows, ROP_EDF, RATES)}",
        came=HELD,
        holds=not any(_not_in_time(rows, name, rate) for name in ROP_EDF for rate in RATES),
    )


def _chain(rows: Sequence[Row]) -> Claim:
    return stated(
        "section 6",
        "Chain does not consider hard real-time constraints",
        _told(rows, ("chain",), RATES),
        came=REBUILT,
        holds=any(_not_in_time(rows, "chain", rate) for rate in RATES),
    )


def _rtstream(rows: Sequence[Row]) -> Claim:
    return beyond(
        "figure 10",
        "RTSTREAM takes a query as one task with one deadline: what does its order alone do, with "
        "both outputs due after 100 ms and nothing shed?",
        _told(rows, ("rtstream", "op-edf"), RATES),
        came=REBUILT,
    )


def _cbs(rows: Sequence[Row]) -> Claim:
    most = RATES[-1]
    tuples, missed, lost = _counts(rows, "cbs", most, "navigation")
    return beyond(
        "figure 10",
        "CBS knows one deadline a task: what does it do with operator paths, which have one each?",
        f"{_told(rows, ('cbs',), RATES)}; of navigation at {most}/s "
        f"{missed} of {tuples} are late, {lost} turned away",
        came=REBUILT,
    )


def _table() -> Grid:
    return Grid(
        title="Figure 10, compiled: operator trains and their deadlines",
        headers=("train", "operators", "relative deadline"),
        rows=tuple(
            (task.name, " → ".join(task.operators), f"{task.relative_deadline / MILLISECOND:g} ms")
            for task in plan().tasks
        ),
    )


def _chart(rows: Sequence[Row]) -> BarChart:
    seconds = LENGTH * MILLISECOND / SECOND
    return BarChart(
        title="Figure 10 in overload: warnings in time, of ten a second",
        y="warnings in time, each second",
        groups=tuple(f"{rate} V2V tuples/s" for rate in RATES),
        bars=tuple(OVERLOAD_POLICY_NAMES[policy] for policy in POLICIES),
        values=tuple(
            tuple(
                (_counts(rows, name, rate, "warning")[0] - _counts(rows, name, rate, "warning")[1])
                / seconds
                for name in POLICIES
            )
            for rate in RATES
        ),
        note="100/s are declared; the ECU is full at about 170/s.",
    )


STUDY = Study(
    name="rop-edf-query",
    paper=Paper.ROP_EDF,
    figures=("figure 10",),
    title="The query with shared operators and two deadlines, compiled and run",
    seconds=2,
    cells=cells,
    run=run,
    analyse=analyse,
)
