"""What must hold of a car while a part of it is away and after it has come back: who is gone is
noticed, nobody else is taken for gone, windows do not wait, and what comes later is as if nothing
had happened. These are judged where the network itself is calm, so that every cause is a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from headway.engine.nodes.peers import PeerTiming
from headway.model.graph import graph_of
from headway.model.operators import Aggregate
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.simulation.expected import ExpectedOutput, text_of, time_of
from headway.simulation.fault_plan import Fault, FaultKind
from headway.simulation.simulated_car import BASE, LEAD, CarRun, CarSetting
from headway.simulation.violations import Violation, some

ALONE = frozenset({FaultKind.CRASH, FaultKind.POWER_CUT, FaultKind.ISOLATION, FaultKind.PAUSE})
"""faults of one node in which nobody hears it"""
ONWARD = 60 * MILLISECOND
"""for a word to come and a turn to be taken"""


def settling(timing: PeerTiming, run: CarRun) -> int:
    """How long after the last fault all nodes have found each other again, and sent what waited."""
    return timing.slowest_retry + 2 * timing.silence + 2 * run.faults.manners.retransmit


def degrading(
    setting: CarSetting, expected: Mapping[str, ExpectedOutput], run: CarRun
) -> Iterator[Violation]:
    """What does not hold; nothing is said of a run with a rough network."""
    if run.faults.rough or run.stuck:
        return
    yield from _lost_without_cause(setting.timing, run)
    yield from _noticed(setting.timing, run)
    yield from _windows_go_on(setting, expected, run)
    yield from _healed(setting.timing, expected, run)


def _end_of(run: CarRun, at: int, fault: Fault) -> int | None:
    """When a fault was over (time of the world)."""
    if fault.kind is FaultKind.RESET:
        return at
    if fault.until is None:
        return None
    return max(at, LEAD + fault.until)


def _died(run: CarRun, node: str) -> Iterator[int]:
    for one in run.processes:
        if one.node == node and one.code not in (0, 3) and one.ended is not None:
            yield one.ended - run.epoch + run.start


# -------------------------------------------------------------------- who is gone


def _lost_without_cause(timing: PeerTiming, run: CarRun) -> Iterator[Violation]:
    settle = settling(timing, run)
    for node, events in run.events.items():
        for event in events:
            if event.get("event") != "peer lost":
                continue
            at, peer = event["at"] - BASE, event["peer"]
            causes = any(
                struck - ONWARD <= at
                and ((end := _end_of(run, struck, fault)) is None or at <= end + settle)
                and {node, peer} & set(fault.nodes)
                for struck, fault in run.struck
            )
            over = any(
                one.node == peer
                and one.ended is not None
                and one.ended - run.epoch + run.start <= at + ONWARD
                for one in run.processes
            )
            if not causes and not over:
                what = f"{peer!r} taken for lost: {event['reason']}"
                yield Violation("nobody is lost without a cause", node, what)


def _noticed(timing: PeerTiming, run: CarRun) -> Iterator[Violation]:
    """The only fault of a run, if it makes a node silent for long enough, is noticed by all that
    knew the node."""
    if len(run.struck) != 1:
        return
    (at, fault) = run.struck[0]
    silent = fault.nodes[0]
    limit = timing.silence + timing.heartbeat + ONWARD
    if fault.kind is FaultKind.CRASH:
        at = next(_died(run, silent), -1)
        if at < 0:
            return
    end = _end_of(run, at, fault)
    if fault.kind not in ALONE or (end is not None and end - at < limit):
        return
    for node, events in run.events.items():
        by_name = [(e["event"], e["at"] - BASE) for e in events if e.get("peer") == silent]
        known = any(name == "peer found" and when < at - ONWARD for name, when in by_name)
        over = any(name == "peer finished" and when < at + limit for name, when in by_name)
        ended = any(
            one.ended is not None and one.ended - run.epoch + run.start < at + limit
            for one in run.processes
            if one.node in (node, silent) and one.code != -9
        )
        if node == silent or not known or over or ended:
            continue
        if not any(name == "peer lost" and when <= at + limit for name, when in by_name):
            what = f"{silent!r} was silent for {limit / MILLISECOND:.0f} ms: {fault}"
            yield Violation("a peer that is gone is noticed", node, what)


# -------------------------------------------------------------------- what goes on


def _windows_go_on(
    setting: CarSetting, expected: Mapping[str, ExpectedOutput], run: CarRun
) -> Iterator[Violation]:
    """Windows do not wait for one who is away, when others are there."""
    if len(run.struck) != 1:
        return
    (_, fault) = run.struck[0]
    away = {FaultKind.ISOLATION, FaultKind.PARTITION, FaultKind.POWER_CUT}
    if fault.kind not in away:
        return
    graph, placement = graph_of(setting.plan.query), dict(setting.plan.placement)
    for name, meant in expected.items():
        stream = graph.outputs[name].stream
        last = graph.operators.get(stream)
        here = placement[stream]
        at_sources = {placement[one] for one in graph.sources_before(stream)}
        if not isinstance(last, Aggregate) or not at_sources - set(fault.nodes) - {here}:
            continue
        if fault.kind is not FaultKind.PARTITION and here in fault.nodes:
            continue
        timing = setting.timing
        limit = meant.reach + timing.silence + 2 * timing.heartbeat + ONWARD
        for line in run.lines[name]:
            row = tuple(line["row"].values())
            took = line["completed"] - row[0] * MICROSECOND
            if took > limit:
                what = f"took {took / MILLISECOND:.0f} ms, at most {limit / MILLISECOND:.0f}: {row}"
                yield Violation("windows do not wait for who is away", name, what)
                break


# -------------------------------------------------------------------- what comes after


def _healed(
    timing: PeerTiming, expected: Mapping[str, ExpectedOutput], run: CarRun
) -> Iterator[Violation]:
    """What is sensed when all has been well again for a while is all there, and nothing else."""
    ends = [_end_of(run, at, fault) for at, fault in run.struck]
    gone = {one.node for one in run.processes if one.code not in (0, 3)}
    back = {one.node for one in run.processes if one.code in (0, 3)}
    known = [end for end in ends if end is not None]
    settle = settling(timing, run) if run.struck else 0
    healed = max(known, default=-run.start) + settle - run.start + run.epoch
    for name, meant in expected.items():
        if not meant.exact or (gone - back) & (meant.nodes | meant.feeding):
            continue
        after = (healed + meant.reach) // MICROSECOND if run.struck else 0
        found = Counter(text_of(tuple(line["row"].values())) for line in run.lines[name])
        missing = [text for text in meant.rows - found if time_of(text) > after]
        more = [text for text in found - meant.rows if time_of(text) > after]
        if missing or more:
            what = f"{len(missing)} missing, {len(more)} too many: {some(missing + more)}"
            yield Violation("a healed car gives what it should", name, what)
