"""Chains: for each way from a source to an output the greatest data age and reaction time.

*Data age* is how old the source's value is, from its sensing, when an output made of it appears.
*Reaction time* is the longest from a change, just after a sensing that missed it, to the first
output made of data as new as that: last-to-last and first-to-first in N. Feiertag, K. Richter,
J. Nordlander and J. Jonsson, "A compositional framework for end-to-end path delay calculation of
automotive systems under different path semantics", CRTS 2008. It counts for what the operators on
the way let pass, of sources whose tuples arrive in the order of their sensing, without shedding.

Both add up along the way (A. Davare et al., DAC 2007, doi:10.1145/1278480.1278553; M. Dürr et al.,
"End-to-end timing analysis of sporadic cause-effect chains in distributed systems", ACM TECS 18,
2019, doi:10.1145/3358181). They differ where a clock reads: a value is read up to ``hold`` after
it came (age), and the next instant is at most ``every + jitter`` away (reaction). A job takes at
most the busy period of its node after its release, and its result is never older than the bound of
its task (:mod:`headway.compiler.latency.latency_analysis`); the less counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from headway.compiler.latency.demand import LONGEST, plus
from headway.compiler.latency.latency_analysis import Analysis
from headway.compiler.trains import waits
from headway.model.graph import Graph
from headway.model.plan import Chain, ChainBound, LatencyStep, Task
from headway.model.query import Criticality, Output, Source

MOST_CHAINS = 1_000
"""ways to one output that are looked at"""
LOOKED_AT = 50
"""so many times as many, to find those that go through given streams"""
MOST_UNASKED = 20
"""where the query asks nothing of an output, more ways to it are not shown"""

Way = tuple[tuple[str, Task], ...]
"""(the stream by which it enters, the task), from the source on"""


def chains_of(analysis: Analysis) -> tuple[Chain, ...]:
    """The chains of all outputs that ask for them, or that a clock stands before."""
    graph = analysis.compilation.graph
    found: list[Chain] = []
    for output in graph.outputs.values():
        asked = output.age is not None or output.reaction is not None or bool(output.through)
        if not asked and not _clocked(output, graph):
            continue
        most = MOST_CHAINS if asked else MOST_UNASKED
        looked_at = most * (LOOKED_AT if output.through else 1)
        every = list(islice(_ways(output, analysis), looked_at + 1))
        ways = [way for way in every if _passes(way, output.through)]
        if len(every) > looked_at or len(ways) > most:
            found += [_too_many(output)] if asked else []
        else:
            found += [_chain(output, way, analysis) for way in ways]
    place = {name: number for number, name in enumerate((*graph.sources, *graph.operators))}
    turn = {name: number for number, name in enumerate(graph.outputs)}
    found.sort(key=lambda one: (turn[one.output], [place[name] for name in one.streams]))
    return tuple(found)


CLOCK = ""
"""in place of the stream by which a chain enters that begins at the instants of a clock"""


def _begins(task: Task, output: Output, analysis: Analysis) -> bool:
    """Whether the streams that an output names begin with the clock of this task."""
    head = task.operators[0]
    clock = analysis.compilation.graph.operators[head].clock
    return clock is not None and output.through[0] == head


def _passes(way: Way, through: tuple[str, ...]) -> bool:
    """Whether it goes through these streams, one right after the other."""
    passed = (way[0][0], *(name for _, task in way for name in task.operators))
    length = len(through)
    return any(passed[at : at + length] == through for at in range(len(passed) - length + 1))


def _clocked(output: Output, graph: Graph) -> bool:
    pending, seen = [output.stream], {output.stream}
    while pending:
        operator = graph.operators.get(pending.pop())
        if operator is None:
            continue
        if operator.clock is not None:
            return True
        new = set(operator.streams) - seen
        seen |= new
        pending += new
    return False


def _ways(output: Output, analysis: Analysis) -> Iterator[Way]:
    """All ways to an output; where the streams it names end with its own, those through them only.
    Without recursion: a query may be a chain of thousands."""
    sources = analysis.compilation.graph.sources
    ends_in_it = output.through[-1:] == (output.stream,)
    pending: list[tuple[str, Way, tuple[str, ...]]] = [
        (output.stream, (), output.through if ends_in_it else ())
    ]
    while pending:
        at, rest, open_ones = pending.pop()
        if at in sources:
            if open_ones in ((), (at,)):
                yield rest or ((at, _NO_TASK),)
            continue
        for task in analysis.producers(at):
            length = min(len(open_ones), len(task.operators))
            if open_ones[len(open_ones) - length :] != task.operators[-length:] and length:
                continue
            before = open_ones[: len(open_ones) - length]
            if length and not before and _begins(task, output, analysis):
                yield ((CLOCK, task), *rest)
                continue
            pending += [(entry, ((entry, task), *rest), before) for entry in task.entries]


_NO_TASK = Task(name="", node="", operators=(), entries=(), cost=0, relative_deadline=0, formula="")
"""of an output that is a source"""


def _too_many(output: Output) -> Chain:
    reason = f"more than {MOST_CHAINS:,} ways lead to {output.name}"
    nothing = ChainBound(bound=None, reason=reason)
    return Chain(
        output=output.name,
        streams=(output.stream,),
        hard=output.criticality is Criticality.HARD,
        age=replace(nothing, limit=output.age),
        reaction=replace(nothing, limit=output.reaction),
    )


def _chain(output: Output, way: Way, analysis: Analysis) -> Chain:
    begin = way[0][0]
    names = tuple(name for _, task in way for name in task.operators)
    if begin == CLOCK:
        age = _along(way, _Sum(), 0, analysis, reacting=False)
        reaction = _reaction_to_clock(way, analysis)
    else:
        source, names = analysis.compilation.graph.sources[begin], (begin, *names)
        age, reaction = _age(source, way, analysis), _reaction(source, way, analysis)
    return Chain(
        output=output.name,
        streams=names,
        hard=output.criticality is Criticality.HARD,
        age=replace(age, limit=output.age),
        reaction=replace(reaction, limit=output.reaction),
    )


# ---------------------------------------------------------------- adding up


@dataclass(slots=True)
class _Sum:
    """What has added up so far, and of what."""

    total: int = 0
    steps: list[LatencyStep] = field(default_factory=list)

    def add(self, place: str, what: str, time: int) -> None:
        if time:
            self.steps.append(LatencyStep(place=place, what=what, time=time))
        self.total += time

    def bound(self) -> ChainBound:
        return ChainBound(bound=self.total, steps=tuple(self.steps))


def _age(source: Source, way: Way, analysis: Analysis) -> ChainBound:
    found = _Sum()
    _enter(source, found)
    return _along(way, found, 0, analysis, reacting=False)


def _reaction(source: Source, way: Way, analysis: Analysis) -> ChainBound:
    if source.gap is None:
        reason = f"declare 'gap' of {source.name}: how long it can be silent"
        return ChainBound(bound=None, reason=reason)
    if source.shedder is not None:
        reason = f"the load shedder of {source.name} may drop what a reaction waits for"
        return ChainBound(bound=None, reason=reason)
    if reason := _lost(way, analysis.compilation.graph):
        return ChainBound(bound=None, reason=reason)
    found = _Sum()
    found.add(source.name, f"{source.name} is sensed again", source.gap)
    _enter(source, found)
    # The next tuple may have been sensed that long after the change.
    return _along(way, found, source.gap + source.delay, analysis, reacting=True)


def _reaction_to_clock(way: Way, analysis: Analysis) -> ChainBound:
    """A change just after an instant is seen at the next one."""
    graph = analysis.compilation.graph
    name = way[0][1].operators[0]
    clock = graph.operators[name].clock
    assert clock is not None
    if reason := _lost(way, graph):
        return ChainBound(bound=None, reason=reason)
    found = _Sum()
    found.add(name, f"{name} reads at its next instant", clock.every + clock.jitter)
    return _along(way, found, clock.every + clock.jitter, analysis, reacting=True)


def _lost(way: Way, graph: Graph) -> str:
    """Why a value may never be seen at the end of the way; empty if it is."""
    if (mixed := _overwritten(way, graph)) is not None:
        before, clock = mixed
        reason = f"what else comes out of {before} may take its place before {clock} reads it"
        return f"{reason}: give it an input of its own"
    if (missed := _may_miss(way, graph)) is not None:
        return f"{missed} may miss a value: let it 'hold' one from one instant to the next"
    return ""


def _overwritten(way: Way, graph: Graph) -> tuple[str, str] | None:
    """The first operator whose other results may take a value's place before a clock reads it, and
    that clock."""
    before: str | None = None
    for name in (name for _, task in way for name in task.operators):
        operator = graph.operators[name]
        if operator.clock is not None:
            if before is not None:
                return before, name
        elif len(operator.inputs) > 1 or operator.traits.keeps_state:
            before = before or name
    return None


def _may_miss(way: Way, graph: Graph) -> str | None:
    """The first clock that does not hold what it gets until it reads it."""
    clocks = [(name, graph.operators[name].clock) for _, task in way for name in task.operators]
    if way[0][0] == CLOCK:
        clocks = clocks[1:]
    return next(
        (
            name
            for name, one in clocks
            if one is not None
            and min([one.hold, *(t for _, t in one.holds)]) < one.every + one.jitter
        ),
        None,
    )


def _enter(source: Source, found: _Sum) -> None:
    if source.held:
        found.add(source.name, "the load shedder decides at its window's end", source.held)
    found.add(source.name, f"{source.name} arrives after sensing", source.delay)


def _along(way: Way, found: _Sum, sensed: int, analysis: Analysis, *, reacting: bool) -> ChainBound:
    """``sensed``: how much earlier than the sensing the time began."""
    for stream, task in way:
        if task is _NO_TASK:
            break
        crossing = analysis.crossing(stream, task.node)
        for hop in crossing.hops if crossing else ():
            response = analysis.responses.get((stream, hop.name), hop.delay)
            if response is None:
                reason = analysis.reasons.get(hop.name, f"{hop.name} has no bound")
                return ChainBound(bound=None, reason=reason)
            found.add(hop.name, f"{stream} passes {hop.name}", response)
        whole = plus(analysis.latency[task.name], analysis.shift(task))
        if whole is None:
            reason = analysis.reasons.get(task.node, f"{task.node} has no bound")
            return ChainBound(bound=None, reason=reason)
        _through(
            stream, task, found, whole + sensed, analysis, begins=stream == CLOCK, reacting=reacting
        )
        last = analysis.compilation.graph.operators[task.operators[-1]]
        if last.optional_part is not None:
            later = max(0, task.relative_deadline + sensed - found.total)
            found.add(last.name, "its optional part runs while nothing else is ready", later)
    return found.bound()


def _through(
    stream: str,
    task: Task,
    found: _Sum,
    whole: int,
    analysis: Analysis,
    *,
    begins: bool,
    reacting: bool,
) -> None:
    """A task: what is read at an instant, then the time on the processor. ``whole`` bounds the sum
    behind it."""
    operators = [analysis.compilation.graph.operators[name] for name in task.operators]
    head, clock = operators[0], operators[0].clock
    runs = f"{task.name} ({', '.join(task.operators)}) waits for the processor and runs"
    if clock is not None and not begins:
        what = f"{head.name} reads a value for so long after it came"
        held = max(clock.held(one.port) for one in head.inputs if one.stream == stream)
        if reacting:
            what = f"{head.name} reads at its next instant"
        found.add(head.name, what, clock.every + clock.jitter if reacting else held)
    elif clock is None and (waits(head) or any(one.makes_pairs for one in operators)):
        # What completes a pair, a window or a batch comes by another way, perhaps.

        found.add(
            analysis.home(task.node),
            f"{', '.join(task.operators)} wait and run",
            whole - found.total,
        )
        return
    busy = analysis.busy.get(task.node)
    by_busy = whole if busy is None or busy >= LONGEST else found.total + busy
    found.add(analysis.home(task.node), runs, min(by_busy, whole) - found.total)
