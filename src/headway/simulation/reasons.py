"""Why tuples may be missing from the outputs of a run: each reason is something that a node named
(a drop, frames that found no room, a peer given up) or that an onlooker saw (a process killed), and
covers a span of time in the outputs behind the place where it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND
from headway.simulation.expected import ExpectedOutput
from headway.simulation.simulated_car import CarRun
from headway.simulation.simulated_process import Incarnation

SLACK = 5 * MILLISECOND
"""between what an onlooker sees and what a process does"""
ALWAYS = 1 << 62


@dataclass(frozen=True, slots=True)
class LossReason:
    """Tuples of these times (ns of the engine) that went by ``where`` (an operator, a source or a
    node) may be missing."""

    where: str
    why: str
    first: int
    last: int
    forgot: bool = False
    """a node began with nothing after it: what its peers did not know of comes again"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedLink:
    """What became of a stream's tuples from one node to another, over all their processes."""

    stream: str
    sender: str
    receiver: str
    sent: int
    lost: Counter[int]
    """timestamps (us)"""
    doubled: Counter[int]
    """taken twice by one and the same process"""
    lost_by_the_living: int
    """of those lost, what no process had sent that was killed and forgotten"""


def crossed_links(plan: Plan, run: CarRun) -> list[CrossedLink]:
    found = []
    for crossing in dict.fromkeys((c.stream, c.sender, c.receiver) for c in plan.crossings):
        stream, sender, receiver = crossing
        sent = Counter[int]()
        taken = Counter[int]()
        doubled = Counter[int]()
        for one in run.processes:
            if one.node == sender:
                sent.update(time for name, time in one.sent if name == stream)
        for one in run.processes:
            if one.node == receiver:
                mine = Counter(time for name, time in one.received if name == stream)
                doubled += mine - sent
                taken += mine
        found.append(
            CrossedLink(
                stream=stream,
                sender=sender,
                receiver=receiver,
                sent=sent.total(),
                lost=sent - taken,
                lost_by_the_living=((sent - taken) - _of_the_dead(run, stream, sender)).total(),
                doubled=doubled,
            )
        )
    return found


def _of_the_dead(run: CarRun, stream: str, sender: str) -> Counter[int]:
    """What processes of a node have sent that were killed and that no other took up."""
    found, life = Counter[int](), Counter[int]()
    for one in run.processes:
        if one.node == sender:
            if not one.taken_up:
                found, life = found + life, Counter[int]()
            life.update(time for name, time in one.sent if name == stream)
    return found if last_of(run, sender).code in (0, 3) else found + life


def loss_reasons(plan: Plan, run: CarRun) -> list[LossReason]:
    """All that there are in a run."""
    return [*_drops(run), *_deaths(plan, run), *_on_the_way(plan, run)]


def _drops(run: CarRun) -> Iterator[LossReason]:
    for one in run.processes:
        for drop in one.drops:
            at = int(drop.row[0]) * MICROSECOND
            yield LossReason(drop.where, f"{drop.kind.value}: {drop.reason}", at, at)


def _deaths(plan: Plan, run: CarRun) -> Iterator[LossReason]:
    error, sources = clock_error(run), {source.name for source in plan.query.sources}
    for place, one in enumerate(run.processes):
        if one.code in (0, 3) or one.ended is None:
            continue
        after = next((p for p in run.processes[place + 1 :] if p.node == one.node), None)
        back = ALWAYS if after is None or after.began is None else after.began + SLACK + error
        first = -ALWAYS if one.frontier is None else one.frontier - SLACK - error
        why = f"{one.node} was not running"
        if after is None or not after.taken_up:
            yield LossReason(one.node, why, first, back, forgot=True)
        else:  # what was inside it has been kept, and what peers sent
            for source, node in plan.placement:
                if node == one.node and source in sources:
                    yield LossReason(source, why, first, back)
            for crossing in plan.crossings:
                if crossing.receiver == one.node and _kept_too_little(run, crossing.sender):
                    why = (
                        f"{one.node} had not taken it in, {crossing.sender} could not send it again"
                    )
                    yield LossReason(f"{crossing.stream}>{one.node}", why, first, back)


def _on_the_way(plan: Plan, run: CarRun) -> Iterator[LossReason]:
    for link in crossed_links(plan, run):
        why = f"{link.stream} did not get from {link.sender} to {link.receiver}"
        for time in sorted(link.lost):
            at = time * MICROSECOND
            yield LossReason(f"{link.stream}>{link.receiver}", why, at, at)


def clock_error(run: CarRun) -> int:
    """How far two clocks of the run were apart at most (ns)."""
    drift = max((abs(d) for _, d in run.faults.drifts), default=0)
    offset = max((abs(o) for _, o in run.faults.offsets), default=0)
    return 2 * (offset + drift * run.took // 1_000_000_000)


class Covered:
    """The times of one output for which a reason is known."""

    def __init__(self, plan: Plan, output: ExpectedOutput, reasons: Iterable[LossReason]) -> None:
        behind = {*output.elements, *output.nodes}
        for crossing in plan.crossings:
            if crossing.stream in output.elements and crossing.receiver in output.nodes:
                behind.add(f"{crossing.stream}>{crossing.receiver}")
        self._spans = [
            (one.first - output.reach, one.last + output.reach, one.why, one.forgot)
            for one in reasons
            if one.where in behind
        ]

    def reason(self, time: int) -> str | None:
        """The first reason for a tuple of that time (us)."""
        at = time * MICROSECOND
        return next((why for first, last, why, _ in self._spans if first <= at <= last), None)

    def by_a_death(self, time: int) -> bool:
        """Whether a node on the way did not run then, and began with nothing: what it gave out just
        before it was killed, before its peers knew that it had it, it gives out again."""
        at = time * MICROSECOND
        return any(death and first <= at <= last for first, last, _, death in self._spans)


def _kept_too_little(run: CarRun, node: str) -> bool:
    """Whether what a peer had received, but not written down when it was killed, may be gone here
    too: a process of the node was killed as well, or it says that it had no room for all that was
    not acknowledged, or ended with some of it left."""
    processes = [one for one in run.processes if one.node == node]
    return any(one.code not in (0, 3) for one in processes) or any(
        one.report["overflowed"] or one.report["undelivered"]
        for one in processes
        if one.report is not None
    )


def given_again(plan: Plan, run: CarRun, node: str) -> int:
    """Tuples that a process which was killed while it gave them may give again when it is taken
    up."""
    return sum(one.node == node and one.taken_up for one in run.processes) * len(plan.crossings)


def last_of(run: CarRun, node: str) -> Incarnation:
    return [one for one in run.processes if one.node == node][-1]
