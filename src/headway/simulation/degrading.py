"""What must hold of a car while a part of it is away and after it has come back: who is gone is
noticed, nobody else is taken for gone, windows do not wait, what was kept for it is delivered, and
what comes later is as if nothing had happened, at the same pace. These are judged where the network
itself is calm, so that every cause is a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from headway.engine.nodes.liveness import PeerTiming
from headway.engine.operators.operator_base import DropKind
from headway.model.graph import graph_of
from headway.model.operators import Aggregate
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.simulation.expected import ExpectedOutput, text_of, time_of
from headway.simulation.fault_plan import Fault, FaultKind
from headway.simulation.reasons import clock_error, crossed_links, given_again, last_of
from headway.simulation.simulated_car import BASE, LEAD, CarRun, CarSetting
from headway.simulation.violations import Violation, some

ALONE = frozenset({FaultKind.CRASH, FaultKind.POWER_CUT, FaultKind.ISOLATION, FaultKind.PAUSE})
"""faults of one node in which nobody hears it"""
UNHEARD = frozenset({FaultKind.PARTITION, FaultKind.ISOLATION, FaultKind.POWER_CUT})
"""faults in which bytes wait on their way"""
ONWARD = 60 * MILLISECOND
"""for a word to come and a turn to be taken"""


def settling(timing: PeerTiming, run: CarRun) -> int:
    """How long after the last fault all nodes have found each other again, and sent what waited;
    what nobody heard is sent again after some time."""
    unheard = any(fault.kind in UNHEARD for _, fault in run.struck)
    again = 2 * run.faults.manners.retransmit if unheard else 0
    return timing.slowest_retry + 2 * timing.silence + again


def degrading(
    setting: CarSetting, expected: Mapping[str, ExpectedOutput], run: CarRun
) -> Iterator[Violation]:
    """What does not hold; nothing is said of a run with a rough network."""
    if run.faults.rough or run.stuck:
        return
    yield from _lost_without_cause(setting.timing, run)
    yield from _noticed(setting.timing, run)
    yield from _windows_go_on(setting, expected, run)
    yield from _delivered(setting, run)
    yield from _healed(setting.timing, expected, run)


def _end_of(run: CarRun, at: int, fault: Fault) -> int | None:
    """When a fault was over (time of the world)."""
    if fault.kind is FaultKind.RESET:
        return at
    if fault.until is None:
        return None
    return max(at, LEAD + fault.until)


def _named(run: CarRun, node: str, event: str) -> list[dict[str, Any]]:
    """The events of that name that a node noted."""
    return [one for one in run.events[node] if one.get("event") == event]


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
            died = any(when <= at + ONWARD for when in _died(run, peer))
            excused = _came_too_late(run, node, peer) or _left_unheard(run, settle, node, peer, at)
            if not causes and not died and not excused:
                what = f"{peer!r} taken for lost: {event['reason']}"
                yield Violation("nobody is lost without a cause", node, what)


def _came_too_late(run: CarRun, node: str, peer: str) -> bool:
    """Whether a node was started again when a peer had ended by itself, or was about to. If it
    forgot what it had been, it waits for that peer, and gives it up."""
    began, ended = last_of(run, node).began, last_of(run, peer).ended
    return began is not None and ended is not None and began + ONWARD >= ended


def _left_unheard(run: CarRun, settle: int, node: str, peer: str, at: int) -> bool:
    """Whether the peer had ended by itself while the two were cut off, or had not found each other
    again since: no good-bye came, and who waits for one that never appears waits for long."""
    ended = last_of(run, peer).ended
    over = None if ended is None else ended - run.epoch + run.start
    return over is not None and any(
        fault.kind in (FaultKind.PARTITION, FaultKind.ISOLATION)
        and set(fault.nodes) <= {node, peer}
        and struck <= over <= at
        and ((end := _end_of(run, struck, fault)) is None or over <= end + settle)
        for struck, fault in run.struck
    )


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


def late_without_cause(
    setting: CarSetting, expected: Mapping[str, ExpectedOutput], run: CarRun
) -> Iterator[Violation]:
    """Watermarks hold back time until what is under way has come. So a tuple is too late only where
    one was lost, and only if it was sensed before that one was back. Operators for which the order
    of arrival matters do not wait for watermarks."""
    if any(not one.taken_up and one.number >= len(run.events) for one in run.processes):
        return  # who has forgotten how far time had come may say anything
    known = {text for meant in expected.values() for text in meant.dropped}
    by_order = {one.name for one in setting.plan.query.operators if one.traits.order_matters}
    slack = ONWARD + clock_error(run)
    for one in run.processes:
        latest = _last_back(run, one.node)
        late = [
            text_of(drop.row)
            for drop in one.drops
            if drop.kind is DropKind.LATE
            and drop.where not in by_order
            and (latest is None or drop.row[0] * MICROSECOND > latest + slack)
        ]
        if wrong := [text for text in late if text not in known]:
            yield Violation("a tuple is late for a reason", one.node, some(wrong))


def _last_back(run: CarRun, node: str) -> int | None:
    """The engine's time at which the node last heard again of a lost peer; None: none was lost."""
    latest, away = None, set[str]()
    for event in run.events[node]:
        name, peer = event.get("event"), event.get("peer", "")
        if name == "peer lost":
            away.add(peer)
        elif name == "peer given up":  # its streams have ended
            return 1 << 62
        elif name in ("peer back", "peer found", "peer finished") and peer in away:
            away.discard(peer)
            latest = event["at"] - BASE - run.start + run.epoch
    return 1 << 62 if away else latest


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
        others = at_sources - set(fault.nodes) - {here}
        if not isinstance(last, Aggregate) or not others:
            continue
        if fault.kind is not FaultKind.PARTITION and here in fault.nodes:
            continue
        timing = setting.timing
        usual = max((meant.reach, *meant.took.values()))
        limit = usual + timing.silence + 2 * timing.heartbeat + ONWARD
        # When these have ended too, there is nobody by whom time goes on.
        until = min(_last_sensed(setting, node) for node in others) - meant.reach
        for line in run.lines[name]:
            row = tuple(line["row"].values())
            took = line["completed"] - row[0] * MICROSECOND
            if took > limit and row[0] * MICROSECOND <= until:
                what = f"took {took / MILLISECOND:.0f} ms, at most {limit / MILLISECOND:.0f}: {row}"
                yield Violation("windows do not wait for who is away", name, what)
                break


def _last_sensed(setting: CarSetting, node: str) -> int:
    """The time (ns) of the last tuple of a node's own sources."""
    here = {name for name, where in setting.plan.placement if where == node}
    return max(
        (one.row[0] * MICROSECOND for one in setting.arrivals if one.source in here), default=0
    )


# -------------------------------------------------------------------- what comes after


DELIVERED = "what is kept is delivered"


def _delivered(setting: CarSetting, run: CarRun) -> Iterator[Violation]:
    """Nobody is given up, and no kept tuple left behind, while whoever was away came back in less
    time than that takes."""
    timing, plan = setting.timing, setting.plan
    ended = {one.node: one for one in run.processes if one.code in (0, 3)}
    lost: Counter[str] = Counter()
    for link in crossed_links(plan, run):
        both = {link.sender, link.receiver}
        if ended.keys() >= both and _longest_away(timing, run, both) < timing.give_up:
            lost[link.sender] += link.lost_by_the_living
            given_up = [one["peer"] for one in _named(run, link.receiver, "peer given up")]
            if link.sender in given_up and not _came_too_late(run, link.receiver, link.sender):
                yield Violation(DELIVERED, link.receiver, f"{link.sender!r} given up")
    for sender, count in lost.items():
        report = last_of(run, sender).report or {}
        named = report["overflowed"] + given_again(plan, run, sender)
        if count > named:
            what = f"{count} tuples did not arrive; {named} had no room or come again"
            yield Violation(DELIVERED, sender, what)


def _longest_away(timing: PeerTiming, run: CarRun, nodes: set[str]) -> int:
    """For how long (ns) these nodes may not have heard each other, at most."""
    spans = sorted(
        (at - ONWARD, 1 << 62 if (end := _end_of(run, at, fault)) is None else end)
        for at, fault in run.struck
        if nodes & set(fault.nodes)
    )
    settle, longest, first, last = settling(timing, run), 0, 0, -1
    for begin, end in spans:
        if begin > last:
            first = begin
        last = max(last, end + settle)
        longest = max(longest, last - first)
    return longest


def _healed(
    timing: PeerTiming, expected: Mapping[str, ExpectedOutput], run: CarRun
) -> Iterator[Violation]:
    """What is sensed when all has been well again for a while is all there, and nothing else, and
    in time."""
    if any(_named(run, node, "peer given up") for node in run.events):
        return  # its streams have ended, whoever comes back
    ends = [_end_of(run, at, fault) for at, fault in run.struck]
    gone = {one.node for one in run.processes if one.code not in (0, 3)}
    back = {one.node for one in run.processes if one.code in (0, 3)}
    known = [end for end in ends if end is not None]
    settle = settling(timing, run) if run.struck else 0
    healed = max(known, default=-run.start) + settle - run.start + run.epoch
    slowed = any(fault.kind is FaultKind.SLOW for _, fault in run.struck)
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
        if not slowed:
            yield from _in_time(timing, meant, run, after)


def _in_time(
    timing: PeerTiming, meant: ExpectedOutput, run: CarRun, after: int
) -> Iterator[Violation]:
    """No tuple sensed after that (us) waited for anybody. Operators that take longer than they
    declare may have a backlog for long; nothing is asked of them."""
    slack = 2 * timing.heartbeat + ONWARD + clock_error(run)
    for line in run.lines[meant.name]:
        row = tuple(line["row"].values())
        took = line["completed"] - row[0] * MICROSECOND
        usual = meant.took.get(text_of(row), took)
        if row[0] > after and took > usual + slack:
            what = f"took {took / MILLISECOND:.0f} ms, usually {usual / MILLISECOND:.0f}: {row}"
            yield Violation("a healed car is in time", meant.name, what)
            return
