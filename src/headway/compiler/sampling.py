"""Pass: how long each sample reads a value, where the query does not say.

As long as the next value can take: the gap of a source and its delay, if it promises a gap; twice
the time between two instants of a sample before it, because its results take time and not always
the same. Maps and unions pass every tuple on at once in the run that is the meaning of a query, but
take time elsewhere: behind them it is twice the time too. Behind anything else, which may give
nothing for long, and where no gap is promised, it is a second.

It depends on the query alone, not on where anything runs: the same tuples come of it everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.model.graph import Graph, graph_of
from headway.model.operators import HELD_UNLESS_SAID, Sample


def fill_holds(compilation: Compilation) -> Compilation:
    """Gives every sample without a ``hold`` one."""
    graph = compilation.graph
    open_ones = [
        one
        for one in graph.operators.values()
        if isinstance(one, Sample) and one.hold is None and not one.holds
    ]
    if not open_ones:
        return compilation
    filled = {one.name: _filled(one, graph) for one in open_ones}
    steps = tuple(filled.get(step.name, step) for step in compilation.query.steps)
    query = replace(compilation.query, steps=steps)
    return replace(compilation, query=query, graph=graph_of(query))


def _filled(sample: Sample, graph: Graph) -> Sample:
    found = {
        port.port: _until_next(port.stream, graph) or HELD_UNLESS_SAID for port in sample.inputs
    }
    if len(set(found.values())) == 1:
        return replace(sample, hold=next(iter(found.values())))
    return replace(sample, holds=tuple(found.items()))


def _until_next(stream: str, graph: Graph) -> int | None:
    """The longest from one value of a stream to the next; None where nothing promises any."""
    source = graph.sources.get(stream)
    if source is not None:
        return None if source.gap is None or source.shedder else source.gap + source.delay
    operator = graph.operators[stream]
    clock = operator.clock
    if clock is not None:
        return 2 * (clock.every + clock.jitter)
    if not operator.traits.passes_all:
        return None
    found = [_until_next(one, graph) for one in operator.streams]
    known = [one for one in found if one is not None]
    return 2 * min(known) if known else None
