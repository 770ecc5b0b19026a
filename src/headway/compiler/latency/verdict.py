"""Pass: the verdict. Loads of nodes and media, and for each output a latency bound, step by step.

Also whether the promises still hold in other runs, and how long tuples may run as one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.compiler.latency.chains import chains_of
from headway.compiler.latency.demand import plus
from headway.compiler.latency.latency_analysis import Analysis
from headway.compiler.utilisation import operator_load, stream_load
from headway.model.graph import Graph, graph_of
from headway.model.plan import LatencyStep, Load, Plan, Promise, Task, Verdict
from headway.model.query import Criticality, Output
from headway.model.routes import architecture_of
from headway.model.vehicle import Bus


def judge(compilation: Compilation) -> Compilation:
    """Adds the verdict; without a vehicle there is none."""
    if not compilation.timed:
        return compilation
    analysis = Analysis(compilation)
    analysis.solve()
    return replace(compilation, verdict=_verdict(compilation, analysis))


def judged_within(compilation: Compilation, limits: Mapping[str, int]) -> Compilation | None:
    """The same, given up with None as soon as an output is known to be later than its limit."""
    analysis = Analysis(compilation)
    streams: dict[str, int] = {}
    for output in compilation.query.outputs:
        if output.name in limits:
            known = streams.get(output.stream, limits[output.name])
            streams[output.stream] = min(known, limits[output.name])
    if not analysis.solve(streams):
        return None
    return replace(compilation, verdict=_verdict(compilation, analysis))


def _verdict(compilation: Compilation, analysis: Analysis) -> Verdict:
    return Verdict(
        loads=tuple(loads_of(compilation)),
        promises=tuple(_promise(output, analysis) for output in compilation.query.outputs),
        chains=chains_of(analysis),
    )


def loads_of(compilation: Compilation) -> list[Load]:
    """The long-run share of every node, bus and link at worst-case rates."""
    graph, placement, rates = compilation.graph, compilation.placement, compilation.rates
    nodes = {node.name: node for node in compilation.vehicle.nodes}
    used = dict.fromkeys(nodes, 0.0)
    for name, operator in graph.operators.items():
        node = nodes[placement[name]]
        inputs = [rates[stream] for stream in operator.streams]
        used[node.name] += operator_load(operator, inputs, node) / node.cores
    loads = [
        Load(name=name, kind="node", utilisation=used[name], capacity=node.capacity)
        for name, node in nodes.items()
    ]
    media = architecture_of(compilation.vehicle).media
    carried = dict.fromkeys(media, 0.0)
    sent: set[tuple[str, str, str]] = set()
    for crossing in compilation.crossings:
        before = crossing.sender
        for hop in crossing.hops:
            if hop.name in media and (crossing.stream, before, hop.name) not in sent:
                sent.add((crossing.stream, before, hop.name))
                carried[hop.name] += stream_load(
                    rates[crossing.stream], crossing.size_bytes, media[hop.name]
                )
            before = hop.name
    loads += [
        Load(
            name=name,
            kind="bus" if isinstance(medium, Bus) else "link",
            utilisation=carried[name],
            capacity=medium.capacity,
        )
        for name, medium in media.items()
    ]
    return loads


def _promise(output: Output, analysis: Analysis) -> Promise:
    promise = Promise(
        output=output.name,
        deadline=output.deadline or 0,
        hard=output.criticality is Criticality.HARD,
        bound=analysis.age_sent(output.stream),
    )
    if promise.bound is None:
        return replace(promise, reason=_reason(output, analysis))
    steps = derivation(output.stream, analysis)
    if later := _optional_time(output, promise.bound, analysis):
        place = analysis.producers(output.stream)[0].name
        what = "its optional part runs while nothing else is ready"
        steps.append(LatencyStep(place=place, what=what, time=later))
        promise = replace(promise, bound=promise.bound + later)
    return replace(promise, steps=tuple(steps))


def _optional_time(output: Output, bound: int, analysis: Analysis) -> int:
    """How much later than by its mandatory part an output can come: an optional part goes on up to
    the deadline of its task."""
    operator = analysis.compilation.graph.operators.get(output.stream)
    if operator is None or operator.optional_part is None:
        return 0
    deadlines = [task.relative_deadline for task in analysis.producers(output.stream)]
    return max(0, max(deadlines) - bound)


def derivation(stream: str, analysis: Analysis) -> list[LatencyStep]:
    """The steps of the worst way to this stream, from sensing on; they add up to its age."""
    steps: list[LatencyStep] = []
    graph = analysis.compilation.graph
    while stream not in graph.sources:
        task = max(
            analysis.producers(stream),
            key=lambda t: plus(analysis.latency[t.name], analysis.shift(t)) or 0,
        )
        latency = analysis.latency[task.name] or 0
        wait, age = analysis.wait(task) or 0, analysis.input_age(task) or 0
        if shift := analysis.shift(task):
            what = "a joined tuple is as old as its older half"
            steps.append(LatencyStep(place=task.name, what=what, time=shift))
        what = f"{task.name} ({', '.join(task.operators)}) waits for the processor and runs"
        place = analysis.home(task.node)
        steps.append(LatencyStep(place=place, what=what, time=latency - age - wait))
        if wait:
            head = graph.operators[task.operators[0]]
            window = head.traits.emits_on_time
            until = "until its window closes" if window else "for its other inputs"
            what = f"{head.name} waits {until}"
            if head.clock is not None:
                what = f"{head.name} reads a value for so long after it came"
            steps.append(LatencyStep(place=head.name, what=what, time=wait))
        stream = max(task.entries, key=lambda s: analysis.age_at(s, task.node) or 0)
        steps += reversed(_hops(stream, task, analysis))
    source = graph.sources[stream]
    if source.held:
        what = "the load shedder decides at its window's end"
        steps.append(LatencyStep(place=source.name, what=what, time=source.held))
    what = f"{source.name} arrives after sensing"
    steps.append(LatencyStep(place=source.name, what=what, time=source.delay))
    return steps[::-1]


def _hops(stream: str, task: Task, analysis: Analysis) -> list[LatencyStep]:
    crossing = analysis.crossing(stream, task.node)
    steps = []
    for hop in crossing.hops if crossing else ():
        time = analysis.responses.get((stream, hop.name), hop.delay) or 0
        what = f"{stream} passes {hop.name}"
        steps.append(LatencyStep(place=hop.name, what=what, time=time))
    return steps


def _reason(output: Output, analysis: Analysis) -> str:
    """The first cause on the way to an output without a bound."""
    graph = analysis.compilation.graph
    seen: set[str] = set()
    pending = [output.stream]
    causes: list[str] = []
    while pending:
        stream = pending.pop()
        if stream in seen or stream in graph.sources:
            continue
        seen.add(stream)
        for task in analysis.producers(stream):
            if analysis.latency[task.name] is not None:
                continue
            for entry in task.entries:
                crossing = analysis.crossing(entry, task.node)
                hops = crossing.hops if crossing else ()
                causes += [analysis.reasons[h.name] for h in hops if h.name in analysis.reasons]
                pending.append(entry)
            if (reason := analysis.reasons.get(task.node)) is not None:
                causes.append(reason)
    own = [cause for cause in causes if "without a bound" not in cause]
    return (own or causes or ["no bound was found"])[0]


# -------------------------------------------------------- other runs than the one that was analysed


def compilation_of(plan: Plan) -> Compilation:
    """What the judgement of a plan starts from."""
    return Compilation(
        query=plan.query,
        vehicle=plan.vehicle,
        timed=True,
        graph=graph_of(plan.query),
        schemas=dict(plan.schemas),
        placement=dict(plan.placement),
        crossings=plan.crossings,
        tasks=plan.tasks,
    )


def graph_with_partners(plan: Plan) -> Graph:
    """The graph of a plan, with limits on the partners of joins where none are declared."""
    analysis = Analysis(compilation_of(plan))
    analysis.solve()
    return analysis.compilation.graph


def broken(analysis: Analysis, outputs: Iterable[Output]) -> list[Output]:
    """Solves the analysis; the outputs whose deadline cannot be promised by it."""
    analysis.solve()
    found = []
    for output in outputs:
        bound = analysis.age_sent(output.stream)
        if bound is None or bound > (output.deadline or 0):
            found.append(output)
    return found


# ---------------------------------------------------------------- batches


FINEST = 1_000
"""budgets below a microsecond are not worth a batch"""


def batch_budget(plan: Plan) -> int:
    """The longest batch, in nanoseconds of work, with which all deadlines can still be promised.

    Tried from the least slack downwards, each time halved. 0 where the plan has no verdict or does
    not keep its promises anyway: then every tuple is scheduled by itself.
    """
    verdict = plan.verdict
    if verdict is None or not verdict.safe or verdict.chains:
        return 0
    compilation = compilation_of(plan)
    budget = min(promise.slack or 0 for promise in verdict.promises)
    while budget >= FINEST and not _kept(compilation, budget):
        budget //= 2
    return budget if budget >= FINEST else 0


def _kept(compilation: Compilation, budget: int) -> bool:
    return not broken(Analysis(compilation, batch=budget), compilation.query.outputs)
