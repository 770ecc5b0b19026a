"""Pass: for a deadline that cannot be promised, whom to blame and what would help.

Advice is tried before it is given: the verdict is worked out again with a faster node or bus, fewer
tuples or a longer deadline, the placement kept as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.compiler.deadlines import deadlines
from headway.compiler.latency.verdict import judge
from headway.compiler.node_queries import split
from headway.compiler.trains import trains
from headway.compiler.utilisation import rates
from headway.model.plan import Promise
from headway.model.quantities import MILLISECOND, Rate, format_duration
from headway.model.query import Source
from headway.model.vehicle import Bus, Link

FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
MOST_TASKS = 300
"""Beyond this many tasks trials would take long: only the bound itself is told."""


def advise(compilation: Compilation) -> Compilation:
    """Fills in blame and advice of every promise that is not kept."""
    verdict = compilation.verdict
    if verdict is None or verdict.safe:
        return compilation
    kept_by: dict[str, frozenset[str]] = {}
    promises = [
        promise if promise.kept else _advised(promise, compilation, kept_by)
        for promise in verdict.promises
    ]
    return replace(compilation, verdict=replace(verdict, promises=tuple(promises)))


def _advised(
    promise: Promise, compilation: Compilation, kept_by: dict[str, frozenset[str]]
) -> Promise:
    """``kept_by`` remembers the trials made: a faster node, say, is tried once for all outputs."""
    blame = _blame(promise, compilation)

    def helps(text: str, trial: Compilation) -> bool:
        if text not in kept_by:
            kept_by[text] = _kept(trial)
        return promise.output in kept_by[text]

    found: list[str] = []
    if len(compilation.tasks) <= MOST_TASKS:
        for trials in (
            _faster_nodes(compilation, blame),
            _faster_media(compilation, blame),
            _fewer_tuples(compilation),
        ):
            found += next(([text] for text, trial in trials if helps(text, trial)), [])
        if not found:
            trials = _faster_vehicle(compilation)
            found += next(([text] for text, trial in trials if helps(text, trial)), [])
        later = _later_deadline(compilation, promise)
        found += next(([text] for text, trial in later if promise.output in _kept(trial)), [])
    advice = "; or ".join(found) if found else "lower rates or costs, or spread the operators"
    return replace(promise, blame=blame, advice=advice)


def _blame(promise: Promise, compilation: Compilation) -> str:
    """The place where most of the time goes; the busiest node or medium when there is no bound."""
    if promise.steps:
        return max(promise.steps, key=lambda step: step.time).place
    verdict = compilation.verdict
    assert verdict is not None
    return max(verdict.loads, key=lambda load: load.utilisation / load.capacity).name


def _kept(trial: Compilation) -> frozenset[str]:
    """The outputs whose deadline can be promised in that trial."""
    for run_pass in (rates, split, trains, deadlines, judge):
        trial = run_pass(trial)
    assert trial.verdict is not None
    return frozenset(promise.output for promise in trial.verdict.promises if promise.kept)


def _faster_nodes(compilation: Compilation, blame: str) -> Iterator[tuple[str, Compilation]]:
    if any(node.name == blame for node in compilation.vehicle.nodes):
        for factor in FACTORS:
            yield f"{blame} {factor:g} times as fast", _faster(compilation, {blame}, factor)


def _faster_media(compilation: Compilation, blame: str) -> Iterator[tuple[str, Compilation]]:
    vehicle = compilation.vehicle
    if blame in {bus.name for bus in vehicle.buses} | {link.name for link in vehicle.links}:
        for factor in FACTORS:
            yield f"{blame} {factor:g} times as fast", _faster(compilation, {blame}, factor)


def _faster_vehicle(compilation: Compilation) -> Iterator[tuple[str, Compilation]]:
    vehicle = compilation.vehicle
    media: tuple[Bus | Link, ...] = (*vehicle.buses, *vehicle.links)
    names = {node.name for node in vehicle.nodes} | {medium.name for medium in media}
    what = "all nodes, buses and links" if media else "all nodes"
    for factor in FACTORS:
        yield f"{what} {factor:g} times as fast", _faster(compilation, names, factor)


def _faster(compilation: Compilation, names: set[str], factor: float) -> Compilation:
    """The same with these nodes, buses and links so many times as fast."""
    vehicle = compilation.vehicle
    nodes = tuple(
        replace(node, rate=node.rate * factor) if node.name in names else node
        for node in vehicle.nodes
    )
    buses = tuple(
        replace(
            bus,
            bit_rate=int(bus.bit_rate * factor),
            data_bit_rate=bus.data_bit_rate and int(bus.data_bit_rate * factor),
        )
        if bus.name in names
        else bus
        for bus in vehicle.buses
    )
    links = tuple(
        replace(link, speed=int(link.speed * factor)) if link.name in names else link
        for link in vehicle.links
    )
    return replace(compilation, vehicle=replace(vehicle, nodes=nodes, buses=buses, links=links))


def _fewer_tuples(compilation: Compilation) -> Iterator[tuple[str, Compilation]]:
    """Less of the busiest source, through its load shedder if it has one."""
    graph = compilation.graph
    busiest = max(graph.sources, key=lambda name: compilation.rates[name])
    source = graph.sources[busiest]
    for factor in FACTORS:
        fewer = _thinned(source, factor)
        if fewer is None:
            return
        sources = {**graph.sources, busiest: fewer}
        arrivals = fewer.arrivals
        assert arrivals is not None
        text = f"at most {arrivals.sustained.per_second:g} tuples/s from {busiest}"
        yield text, replace(compilation, graph=replace(graph, sources=sources))


def _thinned(source: Source, factor: float) -> Source | None:
    if source.shedder is not None:
        count = int(source.shedder.at_most / factor)
        shedder = replace(source.shedder, at_most=count)
        return replace(source, shedder=shedder) if count else None
    if source.rate is None:
        return None
    rate = Rate(source.rate.count, int(source.rate.period * factor), source.rate.jitter)
    return replace(source, rate=rate)


def _later_deadline(
    compilation: Compilation, promise: Promise
) -> Iterator[tuple[str, Compilation]]:
    if promise.bound is None:
        return
    graph = compilation.graph
    for factor in (1.0, *FACTORS):
        deadline = -(-int(promise.bound * factor) // MILLISECOND) * MILLISECOND
        output = replace(graph.outputs[promise.output], deadline=deadline)
        outputs = {**graph.outputs, promise.output: output}
        query = replace(compilation.query, outputs=tuple(outputs.values()))
        text = f"a deadline of {format_duration(deadline)}"
        yield text, replace(compilation, query=query, graph=replace(graph, outputs=outputs))
