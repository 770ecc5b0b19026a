"""A plan as a sketch: an item for every source, operator and output."""

from __future__ import annotations

from headway.model.graph import Graph, graph_of
from headway.model.plan import Crossing, HopKind, Plan, Promise
from headway.model.query import Output
from headway.model.time import format_duration, milliseconds
from headway.report.plan_tables import node_of
from headway.report.sketch import Edge, Item, Role, Sketch, State, Transfer
from headway.report.sketch_vehicle import ecus_of, junctions_of, media_of, route_of
from headway.report.words import kind_of, sign, source_details, summary, worst_cost


def sketch_plan(plan: Plan) -> Sketch:
    """Every operator with a box of its own."""
    graph, placed = graph_of(plan.query), node_of(plan)
    items = [*_sources(graph, placed), *_operators(plan, graph, placed), *_outputs(plan, placed)]
    inner = {
        pair
        for task in plan.tasks
        for pair in zip(task.operators, task.operators[1:], strict=False)
    }
    edges = [
        Edge(
            start=f"stream:{stream}",
            end=f"stream:{consumer}",
            train=(stream, consumer) in inner,
        )
        for stream, consumers in graph.consumers.items()
        for consumer in consumers
        if placed.get(stream) == placed.get(consumer)
    ]
    edges += [
        Edge(start=f"stream:{stream}", end=f"output:{output}")
        for stream, outputs in graph.outputs_of.items()
        for output in outputs
    ]
    transfers = [_transfer(crossing, graph, placed) for crossing in plan.crossings]
    return Sketch(
        heading=heading_of(plan),
        summary=summary(plan),
        state=state_of(plan),
        description=description_of(plan),
        ecus=ecus_of(plan),
        items=tuple(items),
        edges=tuple(edges),
        transfers=tuple(transfer for transfer in transfers if transfer.ends),
        media=media_of(plan),
        junctions=junctions_of(plan),
    )


def heading_of(plan: Plan) -> str:
    if plan.verdict is None and len(plan.vehicle.nodes) == 1:
        return plan.query.name
    return f"{plan.query.name} on {plan.vehicle.name}"


def state_of(plan: Plan) -> State:
    if plan.verdict is None:
        return State.UNKNOWN
    return State.KEPT if plan.verdict.safe else State.BROKEN


def description_of(plan: Plan) -> str:
    """For those who cannot see the picture."""
    nodes = []
    placed = node_of(plan)
    for node in plan.vehicle.nodes:
        names = [step.name for step in plan.query.operators if placed.get(step.name) == node.name]
        nodes.append(f"{node.name} runs {', '.join(names) if names else 'nothing'}.")
    return " ".join([summary(plan), *nodes])


def _sources(graph: Graph, placed: dict[str, str]) -> list[Item]:
    return [
        Item(
            key=f"stream:{source.name}",
            role=Role.SOURCE,
            node=placed.get(source.name, ""),
            name=source.name,
            details=source_details(source),
            title=f"source {source.name}: {', '.join(source_details(source)) or 'no rate declared'}"
            f"\nup to {format_duration(source.delay)} from sensing to arrival",
        )
        for source in graph.sources.values()
    ]


def _operators(plan: Plan, graph: Graph, placed: dict[str, str]) -> list[Item]:
    nodes = {node.name: node for node in plan.vehicle.nodes}
    items = []
    for name in graph.order:
        operator = graph.operators[name]
        cost = worst_cost(operator, nodes.get(placed.get(name, "")))
        tasks = [task.name for task in plan.tasks if name in task.operators]
        detail = kind_of(operator)
        if cost is not None:
            detail += f" · {format_duration(cost)}"
        note = f"waits {format_duration(operator.timeout)}" if operator.timeout else ""
        title = f"{kind_of(operator)} {name} on {placed.get(name, '')}, in {', '.join(tasks)}"
        if cost is not None:
            title += f"\nat worst {milliseconds(cost)} ms"
        if operator.timeout:
            title += f"\nwaits up to {format_duration(operator.timeout)} for its other inputs"
        items.append(
            Item(
                key=f"stream:{name}",
                role=Role.OPERATOR,
                node=placed.get(name, ""),
                name=name,
                details=(detail,),
                chips=tuple(tasks),
                note=note,
                title=title,
                inputs=len(dict.fromkeys(operator.streams)),
            )
        )
    return items


def _outputs(plan: Plan, placed: dict[str, str]) -> list[Item]:
    found = {promise.output: promise for promise in (plan.verdict.promises if plan.verdict else ())}
    return [
        _output(output, found.get(output.name), placed.get(output.stream, ""))
        for output in plan.query.outputs
    ]


def _output(output: Output, promise: Promise | None, node: str) -> Item:
    if output.deadline is None:
        details, state = ["no deadline"], State.UNKNOWN
    else:
        details, state = [f"deadline {format_duration(output.deadline)}"], State.UNKNOWN
        if promise is not None:
            state = State.KEPT if promise.kept else State.BROKEN
            bound = "no bound" if promise.bound is None else f"{milliseconds(promise.bound)} ms"
            details.append(f"{sign(promise.kept)} bound {bound}".replace("bound no", "no"))
            if promise.slack is not None:
                details.append(f"slack {milliseconds(promise.slack)} ms")
    title = f"{output.criticality} output {output.name} of {output.stream}: {', '.join(details)}"
    return Item(
        key=f"output:{output.name}",
        role=Role.OUTPUT,
        node=node,
        name=output.name,
        details=tuple(details),
        title=title,
        state=state,
    )


def _transfer(crossing: Crossing, graph: Graph, placed: dict[str, str]) -> Transfer:
    ends = [
        f"stream:{consumer}"
        for consumer in graph.consumers.get(crossing.stream, ())
        if placed.get(consumer) == crossing.receiver
    ]
    media, gateways = route_of(crossing)
    way = ", ".join(
        f"{hop.name} {milliseconds(hop.delay)} ms"
        for hop in crossing.hops
        if hop.delay or hop.kind is not HopKind.GATEWAY
    )
    return Transfer(
        start=f"stream:{crossing.stream}",
        ends=tuple(ends),
        receiver=crossing.receiver,
        media=media,
        gateways=gateways,
        label=f"{crossing.stream} · {crossing.size_bytes} B",
        title=f"stream {crossing.stream} from {crossing.sender} to {crossing.receiver}, "
        f"{crossing.size_bytes} bytes\n{way}",
    )
