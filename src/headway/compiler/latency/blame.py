"""Pass: for a deadline that cannot be promised, the place on its way where most of the time goes.

What would help is not looked for here: :mod:`headway.front_door.advice` tries changes of the files
that query and vehicle were read from.
"""

from __future__ import annotations

from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.model.plan import Promise


def blame(compilation: Compilation) -> Compilation:
    """Names the place to blame in every promise that is not kept."""
    verdict = compilation.verdict
    if verdict is None or verdict.safe:
        return compilation
    promises = tuple(
        promise if promise.kept else replace(promise, blame=_blamed(promise, compilation))
        for promise in verdict.promises
    )
    return replace(compilation, verdict=replace(verdict, promises=promises))


def _blamed(promise: Promise, compilation: Compilation) -> str:
    """Of a bound the longest step. Without a bound the place that the reason names, or the busiest
    one on the way: never one that the output does not touch."""
    if promise.steps:
        return max(promise.steps, key=lambda step: step.time).place
    on_way = places_on_way(compilation, promise.output)
    named = promise.reason.partition(" ")[0]
    if named in on_way:
        return named
    verdict = compilation.verdict
    assert verdict is not None
    loads = [load for load in verdict.loads if load.name in on_way]
    return max(loads, key=lambda load: load.utilisation / load.capacity).name


def places_on_way(compilation: Compilation, output: str) -> frozenset[str]:
    """The nodes, buses, gateways and links that what comes out there has passed."""
    graph, placement = compilation.graph, compilation.placement
    streams = streams_on_way(compilation, output)
    nodes = {placement[stream] for stream in streams}
    passed = {
        hop.name
        for crossing in compilation.crossings
        if crossing.stream in streams
        and any(
            placement[reader] == crossing.receiver and reader in streams
            for reader in graph.consumers[crossing.stream]
        )
        for hop in crossing.hops
    }
    return frozenset(nodes | passed)


def streams_on_way(compilation: Compilation, output: str) -> frozenset[str]:
    """The streams that an output follows from: its own, and those before it."""
    graph = compilation.graph
    streams: set[str] = set()
    waiting = [graph.outputs[output].stream]
    while waiting:
        stream = waiting.pop()
        if stream not in streams:
            streams.add(stream)
            if stream in graph.operators:
                waiting += graph.operators[stream].streams
    return frozenset(streams)
