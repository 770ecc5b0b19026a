"""Random task graphs, networks and options for hypothesis."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from headway.model.quantities import Number
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch, Switching
from headway.model.taskgraph import Edge, GraphTask, TaskGraph
from headway.schedule.static import Instance, Options, StaticResult, violations

NUMBERS: st.SearchStrategy[Number] = st.one_of(
    st.integers(1, 20),
    st.sampled_from([0.5, 2.5, Fraction(7, 3), 0.1]),
)
SPEEDS: st.SearchStrategy[Number] = st.sampled_from([1, 2, 3, 0.5, Fraction(2, 3)])


@dataclass(frozen=True)
class Case:
    """A graph on a network, with options."""

    graph: TaskGraph
    network: ProcessorNetwork
    options: Options

    @property
    def instance(self) -> Instance:
        return Instance(self.graph, self.network, self.options)

    def check(self, result: StaticResult) -> None:
        """Every schedule of a result is valid and as long as was said."""
        for interval in result.intervals:
            found = violations(
                self.graph,
                self.network,
                interval.schedule,
                whole_link_times=self.options.whole_link_times,
            )
            assert found == ()
            assert interval.schedule.makespan == interval.makespan


@st.composite
def graphs(draw: st.DrawFn, most: int = 9, processors: tuple[str, ...] = ()) -> TaskGraph:
    """A directed acyclic graph; edges lead to higher numbers, names in any order."""
    count = draw(st.integers(1, most))
    names = draw(st.permutations([f"n{number}" for number in range(count)]))
    tasks = []
    for name in names:
        limit = draw(st.sets(st.sampled_from(processors), min_size=1)) if processors else set()
        limited = processors and draw(st.integers(0, 5)) == 0
        tasks.append(
            GraphTask(
                name=name,
                work=draw(NUMBERS),
                processors=tuple(sorted(limit)) if limited else (),
                release=draw(st.sampled_from([0, 0, 0, 5, 2.5])),
            )
        )
    edges = []
    for number in range(1, count):
        senders = draw(st.sets(st.integers(0, number - 1), max_size=3))
        for sender in sorted(senders):
            by_ratio = draw(st.booleans())
            edges.append(
                Edge(
                    sender=f"n{sender}",
                    receiver=f"n{number}",
                    volume=None if by_ratio else draw(NUMBERS),
                    ccr=draw(st.sampled_from([0.5, 1, 5])) if by_ratio else None,
                )
            )
    period = draw(st.sampled_from([None, 50, 150]))
    return TaskGraph(tasks=tuple(tasks), edges=tuple(edges), period=period)


@st.composite
def networks(draw: st.DrawFn) -> ProcessorNetwork:
    """A connected network: a random tree and a few links more, perhaps a bus."""
    processors = [f"p{number}" for number in range(draw(st.integers(1, 4)))]
    switches = [f"s{number}" for number in range(draw(st.integers(0, 2)))]
    joined = draw(st.permutations([*processors, *switches]))
    ends: list[tuple[str, ...]] = [
        (joined[draw(st.integers(0, number - 1))], joined[number])
        for number in range(1, len(joined))
    ]
    if len(joined) > 2:
        ends += [
            tuple(draw(st.permutations(joined))[: draw(st.integers(2, 3))])
            for _ in range(draw(st.integers(0, 2)))
        ]
    return ProcessorNetwork(
        processors=tuple(Processor(name=name, rate=draw(SPEEDS)) for name in processors),
        switches=tuple(
            Switch(name=name, delay=draw(st.sampled_from([0, 0, 1, 0.5]))) for name in switches
        ),
        links=tuple(
            NetworkLink(name=f"l{number}", ends=pair, speed=draw(SPEEDS))
            for number, pair in enumerate(ends)
        ),
        most_routes=draw(st.sampled_from([1, 3, 16])),
        switching=draw(st.sampled_from([Switching.CUT_THROUGH, *Switching])),
    )


OPTIONS = st.builds(
    Options,
    contention=st.sampled_from([True, True, False]),
    whole_link_times=st.booleans(),
    rank_digits=st.sampled_from([None, None, 2]),
    balance_counts_candidate=st.booleans(),
)


@st.composite
def cases(draw: st.DrawFn, most: int = 9) -> Case:
    network = draw(networks())
    return Case(draw(graphs(most, network.processor_names)), network, draw(OPTIONS))
