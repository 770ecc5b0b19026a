"""Data ages and reaction times as they come, for the chains of a plan.

Every arrival has a number, its root, which what follows from it keeps; what a clock reads gets a
new one. So the watch knows of each root which sources' values are in it, by which clocks they came
and when they were sensed. An output's tuple has their *ages* at its completion. The *reaction time*
to whatever changed after the newest value shown so far ends with the first output made of a newer
one, which tells it without looking at sources (M. Günzel et al., "Timing analysis of asynchronized
distributed cause-effect chains", RTAS 2021, doi:10.1109/RTAS52030.2021.00012, section V).

Nothing is told where roots do not tell: behind joins, windows and gatherings, which make one tuple
of several arrivals; and no reaction time behind operators that drop tuples, because one that a
filter keeps back is not one that comes late. Of several ways through the same clocks the one with
the greatest bound stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headway.engine.kernel import Outlet
from headway.model.graph import Graph, graph_of
from headway.model.plan import Chain, Plan
from headway.model.quantities import MICROSECOND

MOST_ROOTS = 400_000
"""whose origins are kept; one that is read again and again keeps its own"""

Course = tuple[str, ...]
"""the source, then ``clock.port`` for each clock on the way"""
Origins = tuple[tuple[Course, int], ...]
"""the courses by which values came, and when they were sensed (ns)"""


@dataclass(frozen=True, kw_only=True)
class ChainMeasure:
    """What a run saw of a chain (ns); None where it cannot tell, or saw nothing."""

    output: str
    streams: tuple[str, ...]
    age: int | None
    reaction: int | None


@dataclass(slots=True)
class _Seen:
    """What came to an output by a course."""

    age: int
    newest: int
    reaction: int | None = None


class ChainWatch:
    """Watches one run. The kernel tells it of entries, readings and outputs."""

    def __init__(self, plan: Plan) -> None:
        self._graph = graph_of(plan.query)
        self._chains = plan.verdict.chains if plan.verdict is not None else ()
        self._first = _greatest(self._chains, self._graph)
        self._known = {course[:n] for _, course in self._first for n in range(1, len(course) + 1)}
        """the courses of the chains, and how they begin"""
        self._origins: dict[int, Origins] = {}
        self._seen: dict[tuple[str, Course], _Seen] = {}

    def __bool__(self) -> bool:
        return bool(self._chains)

    def entered(self, source: str, timestamp: int, root: int) -> None:
        """A tuple has entered the query."""
        self._note(root, (((source,), timestamp * MICROSECOND),))

    def read(self, sample: str, roots: Mapping[str, int], root: int, now: int) -> None:
        """A clock has read what goes back to ``roots``, by port. Chains may begin there."""
        found = [
            ((*course, f"{sample}.{port}"), sensed)
            for port, before in roots.items()
            for course, sensed in self._origins.get(before, ())
            if (*course, f"{sample}.{port}") in self._known
        ]
        if (sample,) in self._known:
            found.append(((sample,), now))
        self._note(root, tuple(found))

    def _note(self, root: int, origins: Origins) -> None:
        if len(self._origins) >= MOST_ROOTS:
            kept = list(self._origins.items())[MOST_ROOTS // 2 :]
            self._origins = dict(kept)
        self._origins[root] = origins

    def completed(self, outlet: Outlet, root: int, now: int) -> None:
        """A tuple has been handed to the outputs of a stream."""
        for course, sensed in self._origins.get(root, ()):
            for output in outlet.output_names:
                seen = self._seen.get((output, course))
                if seen is None:
                    self._seen[output, course] = _Seen(now - sensed, sensed)
                    continue
                seen.age = max(seen.age, now - sensed)
                if sensed > seen.newest:
                    seen.reaction = max(seen.reaction or 0, now - seen.newest)
                    seen.newest = sensed

    def measured(self) -> tuple[ChainMeasure, ...]:
        """What was seen of each chain of the plan, in its order."""
        return tuple(
            self._measure(chain, known=self._first.get(_key(chain, self._graph)) is chain)
            for chain in self._chains
        )

    def _measure(self, chain: Chain, *, known: bool) -> ChainMeasure:
        operators = [self._graph.operators[name] for name in chain.streams[1:]]
        plain = [one for one in operators if one.clock is None]
        gathers = any(
            one.makes_pairs or one.traits.emits_on_time or one.gathering is not None
            for one in plain
        )
        seen = self._seen.get(_key(chain, self._graph)) if known and not gathers else None
        whole = all(one.traits.passes_all for one in plain)
        return ChainMeasure(
            output=chain.output,
            streams=chain.streams,
            age=None if seen is None else seen.age,
            reaction=None if seen is None or not whole else seen.reaction,
        )


def _key(chain: Chain, graph: Graph) -> tuple[str, Course]:
    course = [chain.streams[0]]
    for before, name in zip(chain.streams, chain.streams[1:], strict=False):
        operator = graph.operators[name]
        if operator.clock is not None:
            port = next(one.port for one in operator.inputs if one.stream == before)
            course.append(f"{name}.{port}")
    return chain.output, tuple(course)


def _greatest(chains: Iterable[Chain], graph: Graph) -> dict[tuple[str, Course], Chain]:
    """Of the chains that cannot be told apart the one with the greatest bounds."""
    found: dict[tuple[str, Course], Chain] = {}
    for chain in chains:
        first = chain.streams[0]
        if first not in graph.sources and graph.operators[first].clock is None:
            continue
        key = _key(chain, graph)
        if key not in found or _size(chain) > _size(found[key]):
            found[key] = chain
    return found


def _size(chain: Chain) -> tuple[int, int]:
    return chain.age.bound or 0, chain.reaction.bound or 0


def greatest_of(runs: Iterable[Iterable[ChainMeasure]]) -> tuple[ChainMeasure, ...]:
    """The greatest of several runs, chain by chain."""
    found: dict[tuple[str, tuple[str, ...]], ChainMeasure] = {}
    for run in runs:
        for one in run:
            key = one.output, one.streams
            known = found.get(key, one)
            found[key] = ChainMeasure(
                output=one.output,
                streams=one.streams,
                age=_later(known.age, one.age),
                reaction=_later(known.reaction, one.reaction),
            )
    return tuple(found.values())


def _later(one: int | None, other: int | None) -> int | None:
    return max((time for time in (one, other) if time is not None), default=None)
