"""What a source may bring: tuples beyond its declared rate get no further than soft trains.

The capacity of hard paths is that of the declared rates, so a hard output is only as safe as they
are true. A tuple that comes earlier than they allow is not given to trains that a hard output
needs; it is listed as rejected. Soft trains may still take it, as a job that has to be admitted, as
far as neither they nor what follows them sends anything over a bus: there nothing is reserved."""

from __future__ import annotations

from headway.compiler.latency.soft_room import is_soft
from headway.model.graph import Graph
from headway.model.quantities import ArrivalCurve, Rate, format_duration
from headway.model.query import Criticality
from headway.runtime.units import Program, Unit
from headway.runtime.wires import Wire


class Policer:
    """Whether a tuple at this time still keeps to an arrival curve.

    "At most n in any P, displaced by up to J" holds just when each tuple comes no earlier than J
    before a due time that moves on by P; every n-th tuple has the same due time (the generic cell
    rate algorithm, once for each of n places)."""

    def __init__(self, curve: ArrivalCurve) -> None:
        self._rates = curve.rates
        self._due: list[list[int]] = [[] for _ in curve.rates]
        """for each rate the due times of the last n tuples that were let in, the oldest first"""
        self._next = [0] * len(curve.rates)

    def lets_in(self, now: int) -> bool:
        """Decides on a tuple that comes now, and counts it if it may."""
        for rate, due, place in zip(self._rates, self._due, self._next, strict=True):
            if len(due) == rate.count and now < due[place] - rate.jitter:
                return False
        for index, rate in enumerate(self._rates):
            due, place = self._due[index], self._next[index]
            if len(due) < rate.count:
                due.append(now + rate.period)
            else:
                due[place] = max(now, due[place]) + rate.period
                self._next[index] = (place + 1) % rate.count
        return True


class Entrance:
    """A source that a hard path begins at."""

    def __init__(self, curve: ArrivalCurve, wire: Wire, program: Program) -> None:
        self.policer = Policer(curve)
        graph = program.graph
        self.takers = [(u, port) for u, port in wire.units if _soft_and_here(u, graph, program)]
        """soft trains that may take what is beyond the rate"""
        self.sinks = [
            sink
            for name, sink in zip(wire.output_names, wire.outputs, strict=True)
            if graph.outputs[name].criticality is Criticality.SOFT
        ]
        self.reason = f"beyond the declared rate ({_words(curve.sustained)}) of a hard path"


def _soft_and_here(unit: Unit, graph: Graph, program: Program) -> bool:
    """Whether the unit serves soft outputs only, and all that follows it runs on its node."""
    if not is_soft(unit.task, graph):
        return False
    node_of = {name: one.node for one in program.units for name in one.operators}
    reached, pending = set(unit.operators), list(unit.operators)
    while pending:
        new = set(graph.consumers[pending.pop()]) - reached
        reached |= new
        pending += new
    return all(node_of[name] == unit.node for name in reached)


def _words(rate: Rate) -> str:
    return f"{rate.count} per {format_duration(rate.period)}"
