"""A task graph on a network with all times as whole numbers, so that the core is exact and fast.

One unit of the graph's time is ``scale`` ticks, chosen so that every computation time and every
time on a link is a whole number of ticks. Tasks, processors and links are numbered in the order in
which they were given; ties go to the lower number."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from math import lcm

from headway.errors import GraphError, Problem
from headway.model.quantities import exact
from headway.model.static_network import NoRouteError, ProcessorNetwork, check_network
from headway.model.taskgraph import Edge, GraphTask, MissingTimeError, TaskGraph, check_task_graph
from headway.schedule.static.algorithm import Options


class Instance:
    """What every algorithm and the timing core read. Built once for a graph and a network."""

    def __init__(
        self, graph: TaskGraph, network: ProcessorNetwork, options: Options | None = None
    ) -> None:
        check_task_graph(graph)
        check_network(network)
        self.graph, self.network = graph, network
        self.options = options or Options()
        self.tasks = tuple(task.name for task in graph.tasks)
        self.processors = network.processor_names
        self.links = tuple(link.name for link in network.links)
        number = {name: index for index, name in enumerate(self.tasks)}
        self._check_processors()

        times = [self._computation_times(task) for task in graph.tasks]
        speeds = [exact(link.speed) for link in network.links]
        delays = {switch.name: exact(switch.delay) for switch in network.switches}
        self.scale = self._scale(times, speeds, delays)
        self.speeds = tuple((speed.numerator, speed.denominator) for speed in speeds)

        self.allowed: tuple[tuple[int, ...], ...] = tuple(
            tuple(p for p, time in enumerate(row) if time is not None) for row in times
        )
        """the processors a task may run on"""
        self.comp: tuple[tuple[int, ...], ...] = tuple(self._ticks_of_row(row) for row in times)
        """comp(n, p); where the task may not run, the mean over where it may (used in ranks)"""
        self.release = tuple(self.ticks(exact(task.release)) for task in graph.tasks)
        self.predecessors: tuple[tuple[tuple[int, int], ...], ...] = self._edges_into(number)
        """(predecessor, edge) of every task, lower numbers first"""
        self.successors = tuple(
            tuple(number[name] for name in graph.successors[task]) for task in self.tasks
        )
        self.topological = tuple(number[name] for name in graph.topological_order)
        link_number = {name: index for index, name in enumerate(self.links)}
        self.routes: tuple[tuple[tuple[tuple[int, ...], ...], ...], ...] = tuple(
            tuple(
                tuple(
                    tuple(link_number[link] for link in route)
                    for route in network.routes.get((one, other), ())
                )
                for other in self.processors
            )
            for one in self.processors
        )
        """routes[a][b]: each a tuple of links"""
        self._check_routes()
        self.delays = {name: self.ticks(delay) for name, delay in delays.items() if delay}
        self._volumes = tuple(_ratio(edge) for edge in graph.edges)

    @cached_property
    def period(self) -> int:
        """The period in ticks; without one, the best sequential time (at least a tick)."""
        if self.graph.period is not None:
            return self.ticks(exact(self.graph.period))
        return max(1, self.best_sequential)

    @cached_property
    def best_sequential(self) -> int:
        """All tasks on the one processor that is quickest with them."""
        return min(map(sum, zip(*self.comp, strict=True)))

    def ticks(self, time: Fraction) -> int:
        """A time as ticks, rounded down (nothing is lost for the times the scale was made for)."""
        return time.numerator * self.scale // time.denominator

    def time(self, ticks: int) -> Fraction:
        return Fraction(ticks, self.scale)

    def volume(self, edge: int, sender: int) -> int:
        """tpl(e) when the sending task is on a processor, in volume times ticks."""
        numerator, denominator, by_computation = self._volumes[edge]
        if by_computation:
            return numerator * self.comp[self._senders[edge]][sender] // denominator
        return numerator * self.scale // denominator

    def on_links(self, edge: int, sender: int) -> tuple[int, ...]:
        """The time of a message on every link (CTML, equation 15), sent from a processor."""
        volume = self.volume(edge, sender)
        times = [volume * below // above for above, below in self.speeds]
        given = self.graph.edges[edge].times
        if given:
            times = [
                self.ticks(exact(given[name])) if name in given else time
                for name, time in zip(self.links, times, strict=True)
            ]
        if self.options.whole_link_times:
            times = [time // self.scale * self.scale for time in times]
        return tuple(times)

    @cached_property
    def _senders(self) -> tuple[int, ...]:
        number = {name: index for index, name in enumerate(self.tasks)}
        return tuple(number[edge.sender] for edge in self.graph.edges)

    def _edges_into(self, number: dict[str, int]) -> tuple[tuple[tuple[int, int], ...], ...]:
        into: list[list[tuple[int, int]]] = [[] for _ in self.tasks]
        for index, edge in enumerate(self.graph.edges):
            into[number[edge.receiver]].append((number[edge.sender], index))
        return tuple(tuple(sorted(found)) for found in into)

    def _computation_times(self, task: GraphTask) -> list[Fraction | None]:
        """comp(n, p) by processor; None where the task may not run."""
        work = None if task.work is None else exact(task.work)
        row: list[Fraction | None] = []
        for processor in self.network.processors:
            if task.processors and processor.name not in task.processors:
                row.append(None)
            elif processor.name in task.times:
                row.append(exact(task.times[processor.name]))
            elif work is not None:
                row.append(work / exact(processor.rate))
            else:
                raise MissingTimeError(
                    "no computation time",
                    at=f"tasks.{task.name}.times.{processor.name}",
                    want="give a time, the task's work, or the processors it may run on",
                )
        return row

    def _ticks_of_row(self, row: list[Fraction | None]) -> tuple[int, ...]:
        known = [self.ticks(time) for time in row if time is not None]
        mean = sum(known) // len(known)
        return tuple(mean if time is None else self.ticks(time) for time in row)

    def _scale(
        self,
        times: list[list[Fraction | None]],
        speeds: list[Fraction],
        delays: dict[str, Fraction],
    ) -> int:
        """Ticks in a unit of time: a common multiple of all denominators."""
        graph = self.graph
        computing = lcm(*(time.denominator for row in times for time in row if time is not None))
        for task in graph.tasks:
            if task.release:
                computing = lcm(computing, exact(task.release).denominator)
        volumes, ratios, given = 1, 1, 1
        for edge in graph.edges:
            if edge.ccr is not None:
                ratios = lcm(ratios, exact(edge.ccr).denominator)
            elif edge.volume is not None:
                volumes = lcm(volumes, exact(edge.volume).denominator)
            for time in edge.times.values():
                given = lcm(given, exact(time).denominator)
        slowness = lcm(*(speed.numerator for speed in speeds))
        period = 1 if graph.period is None else exact(graph.period).denominator
        held = lcm(*(delay.denominator for delay in delays.values()))
        return lcm(lcm(computing * ratios, volumes) * slowness, given, period, held)

    def _check_processors(self) -> None:
        wrong = [
            Problem(
                "unknown processor",
                at=f"tasks.{task.name}.processors",
                got=repr(name),
                want=f"one of {', '.join(self.processors)}",
            )
            for task in self.graph.tasks
            for name in task.processors
            if name not in self.processors
        ]
        if wrong:
            raise GraphError(wrong)

    def _check_routes(self) -> None:
        for receiver, sources in enumerate(self.predecessors):
            for sender, _ in sources:
                for one in self.allowed[sender]:
                    for other in self.allowed[receiver]:
                        if one != other and not self.routes[one][other]:
                            pair = f"{self.processors[one]} to {self.processors[other]}"
                            raise NoRouteError(
                                f"no route from {pair}",
                                at=self.network.name,
                                got=f"a message {self.tasks[sender]}->{self.tasks[receiver]}",
                                want="join them by links, or limit where the tasks may run",
                            )


def _ratio(edge: Edge) -> tuple[int, int, bool]:
    """The volume, or the ratio to the sender's computation time, as numerator and denominator."""
    if edge.ccr is not None:
        ccr = exact(edge.ccr)
        return ccr.numerator, ccr.denominator, True
    volume = exact(edge.volume or 0)
    return volume.numerator, volume.denominator, False
