"""What a plan's picture shows, before anything has a place: ECUs, items, streams, buses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from headway.model.graph import Graph, graph_of
from headway.model.plan import Crossing, HopKind, Load, Plan, Promise
from headway.model.quantities import format_duration, milliseconds
from headway.model.query import Output
from headway.model.vehicle import Bus, Link
from headway.report.plan.plan_tables import (
    KEPT,
    kind_of,
    medium_text,
    node_of,
    percent,
    sign,
    source_details,
    summary,
    worst_cost,
)
from headway.report.svg import width_of

# ------------------------------------------------------------
# What a picture shows, before anything has a place: ECUs, items, streams, buses, gateways.

NAME_SIZE = 12.0
DETAIL_SIZE = 10.5
CHIP_SIZE = 10.0
PADDING = 9.0
LINE = 15.0
CHIP_GAP = 4.0
NARROWEST, WIDEST = 84.0, 184.0
PORT_SPACING = 9.0


class Role(StrEnum):
    SOURCE = "source"
    OPERATOR = "operator"
    OUTPUT = "output"


class ItemState(StrEnum):
    """Whether a promise is kept; never shown by colour alone."""

    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A box: a source, an operator or an output. ``chips`` number the trains it belongs to."""

    key: str
    role: Role
    node: str
    name: str
    details: tuple[str, ...] = ()
    chips: tuple[str, ...] = ()
    note: str = ""
    title: str = ""
    state: ItemState = ItemState.UNKNOWN
    inputs: int = 1

    @property
    def wanted_width(self) -> float:
        lines = [width_of(self.name, NAME_SIZE, bold=True)]
        lines += [width_of(detail, DETAIL_SIZE) for detail in self.details]
        lines.append(
            sum(chip_width(chip) + CHIP_GAP for chip in self.chips)
            + width_of(self.note, DETAIL_SIZE)
        )
        return min(WIDEST, max(NARROWEST, max(lines) + 2 * PADDING))

    @property
    def height(self) -> float:
        rows = 1 + len(self.details) + (1 if self.chips or self.note else 0)
        return max(rows * LINE + 10, (self.inputs + 1) * PORT_SPACING)


def chip_width(chip: str) -> float:
    return width_of(chip, CHIP_SIZE) + 8


@dataclass(frozen=True, kw_only=True)
class SketchEdge:
    """A stream between two items of one ECU; ``train`` when it stays inside an operator train."""

    start: str
    end: str
    train: bool = False


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A stream from one ECU to another: through ``media``, joined by ``gateways`` (one fewer)."""

    start: str
    ends: tuple[str, ...]
    receiver: str
    media: tuple[str, ...]
    gateways: tuple[str, ...]
    label: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Ecu:
    name: str
    title: str
    load: Load | None = None


@dataclass(frozen=True, kw_only=True)
class SketchMedium:
    """A bus or link; ``gateways`` attach to it."""

    name: str
    detail: str
    title: str
    load: Load | None = None
    gateways: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Junction:
    """A gateway."""

    name: str
    detail: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Sketch:
    """The whole picture. Items are in topological order: producers come before consumers."""

    heading: str
    summary: str
    state: ItemState
    description: str
    ecus: tuple[Ecu, ...]
    items: tuple[Item, ...]
    edges: tuple[SketchEdge, ...]
    transfers: tuple[Transfer, ...]
    media: tuple[SketchMedium, ...]
    junctions: tuple[Junction, ...]


# ------------------------------------------------------------
# The vehicle's part of a sketch: ECUs, buses and links, gateways, and the routes through them.


DIRECT = "direct"
"""The medium of a stream for which no route is known."""


def ecus_of(plan: Plan) -> tuple[Ecu, ...]:
    """The vehicle's nodes, and whatever else something was placed on."""
    nodes = {node.name: node for node in plan.vehicle.nodes}
    used = node_of(plan)
    names = [source.name for source in plan.query.sources]
    names += [operator.name for operator in plan.query.operators]
    missing = [used.get(name, "") for name in names]
    ecus = []
    for name in dict.fromkeys([*nodes, *missing]):
        title, node, load = f"node {name}", nodes.get(name), load_of(plan, "node", name)
        if node is not None:
            title += f": execution rate {node.rate:g}, {node.cores} core"
            title += "s" if node.cores != 1 else ""
        ecus.append(Ecu(name=name, title=title + _load_text(load), load=load))
    return tuple(ecus)


def media_of(plan: Plan) -> tuple[SketchMedium, ...]:
    """Buses and links; those that join the same ECUs stay next to each other as declared."""
    vehicle = plan.vehicle
    found = [
        _medium(plan, bus, "bus", tuple(g.name for g in vehicle.gateways if bus.name in g.buses))
        for bus in vehicle.buses
    ]
    names = {gateway.name for gateway in vehicle.gateways}
    for link in vehicle.links:
        joined = [g.name for g in vehicle.gateways if link.name in g.buses]
        joined += [end for end in link.ends if end in names]
        found.append(_medium(plan, link, "link", tuple(joined)))
    known = {medium.name for medium in found}
    used = [name for crossing in plan.crossings for name in route_of(crossing)[0]]
    found += [
        SketchMedium(name=name, detail="", title=name)
        for name in dict.fromkeys(used)
        if name not in known
    ]
    return tuple(found)


def junctions_of(plan: Plan) -> tuple[Junction, ...]:
    return tuple(
        Junction(
            name=gateway.name,
            detail=f"gateway · {format_duration(gateway.delay)}",
            title=f"gateway {gateway.name} between {', '.join(gateway.buses)}, "
            f"holds a tuple for at most {format_duration(gateway.delay)}",
        )
        for gateway in plan.vehicle.gateways
    )


def route_of(crossing: Crossing) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The media a stream passes, and the gateways between them ("" where none is named)."""
    media: list[str] = []
    gateways: list[str] = []
    pending = ""
    for hop in crossing.hops:
        if hop.kind is HopKind.GATEWAY:
            pending = hop.name
            continue
        if media:
            gateways.append(pending)
        media.append(hop.name)
        pending = ""
    return tuple(media) or (DIRECT,), tuple(gateways)


def load_of(plan: Plan, kind: str, name: str) -> Load | None:
    found = plan.verdict.loads if plan.verdict else ()
    return next((load for load in found if (load.kind, load.name) == (kind, name)), None)


def _medium(plan: Plan, medium: Bus | Link, kind: str, gateways: tuple[str, ...]) -> SketchMedium:
    load = load_of(plan, kind, medium.name)
    return SketchMedium(
        name=medium.name,
        detail=medium_text(medium),
        title=f"{kind} {medium.name}: {medium_text(medium)}{_load_text(load)}",
        load=load,
        gateways=tuple(dict.fromkeys(gateways)),
    )


def _load_text(load: Load | None) -> str:
    if load is None:
        return ""
    return f"\nused {percent(load.utilisation)} of a usable {percent(load.capacity)}"


# ------------------------------------------------------------
# A plan as a sketch: an item for every source, operator and output.


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
        SketchEdge(
            start=f"stream:{stream}",
            end=f"stream:{consumer}",
            train=(stream, consumer) in inner,
        )
        for stream, consumers in graph.consumers.items()
        for consumer in consumers
        if placed.get(stream) == placed.get(consumer)
    ]
    edges += [
        SketchEdge(start=f"stream:{stream}", end=f"output:{output}")
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


def state_of(plan: Plan) -> ItemState:
    if plan.verdict is None:
        return ItemState.UNKNOWN
    return ItemState.KEPT if plan.verdict.safe else ItemState.BROKEN


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
        details, state = ["no deadline"], ItemState.UNKNOWN
    else:
        details, state = [f"deadline {format_duration(output.deadline)}"], ItemState.UNKNOWN
        if promise is not None:
            state = ItemState.KEPT if promise.kept else ItemState.BROKEN
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


# ------------------------------------------------------------
# A large plan as a sketch: one box for each node, streams between two nodes counted.


def sketch_summary(plan: Plan) -> Sketch:
    """Counts in place of single operators, sources and outputs."""
    placed = node_of(plan)
    sources = _by_node([(s.name, placed.get(s.name, "")) for s in plan.query.sources])
    outputs = _by_node([(o.name, placed.get(o.stream, "")) for o in plan.query.outputs])
    items: list[Item] = []
    edges: list[SketchEdge] = []
    for ecu in ecus_of(plan):
        key = f"node:{ecu.name}"
        if names := sources.get(ecu.name):
            items.append(_counted(f"sources:{ecu.name}", Role.SOURCE, ecu.name, "source", names))
            edges.append(SketchEdge(start=f"sources:{ecu.name}", end=key))
        items.append(_node_item(plan, placed, ecu.name))
        if names := outputs.get(ecu.name):
            items.append(_outputs_item(plan, ecu.name, names))
            edges.append(SketchEdge(start=key, end=f"outputs:{ecu.name}"))
    return Sketch(
        heading=heading_of(plan),
        summary=summary(plan),
        state=state_of(plan),
        description=description_of(plan),
        ecus=ecus_of(plan),
        items=tuple(items),
        edges=tuple(edges),
        transfers=_transfers(plan),
        media=media_of(plan),
        junctions=junctions_of(plan),
    )


def _by_node(placed: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, node in placed:
        found.setdefault(node, []).append(name)
    return found


def count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")


def _counted(key: str, role: Role, node: str, thing: str, names: list[str]) -> Item:
    title = ", ".join(names)
    return Item(key=key, role=role, node=node, name=count(len(names), thing), title=title)


def _node_item(plan: Plan, placed: dict[str, str], node: str) -> Item:
    operators = [step for step in plan.query.operators if placed.get(step.name) == node]
    tasks = sum(task.node == node for task in plan.tasks)
    kinds = Counter(kind_of(operator) for operator in operators)
    return Item(
        key=f"node:{node}",
        role=Role.OPERATOR,
        node=node,
        name=count(len(operators), "operator"),
        details=(
            f"in {count(tasks, 'task')}",
            *(f"{number} {kind}" for kind, number in sorted(kinds.items())),
        ),
        title=", ".join(operator.name for operator in operators) or "no operators",
        inputs=len({c.sender for c in plan.crossings if c.receiver == node}) + 1,
    )


def _outputs_item(plan: Plan, node: str, names: list[str]) -> Item:
    item = _counted(f"outputs:{node}", Role.OUTPUT, node, "output", names)
    found = {p.output: p.kept for p in (plan.verdict.promises if plan.verdict else ())}
    judged = [found[name] for name in names if name in found]
    if not judged:
        return item
    kept, broken = sum(judged), len(judged) - sum(judged)
    details = [f"{KEPT} {kept} kept"] if kept else []
    details += [f"{sign(False)} {broken} not kept"] if broken else []
    return Item(
        key=item.key,
        role=item.role,
        node=node,
        name=item.name,
        details=tuple(details),
        title=item.title,
        state=ItemState.BROKEN if broken else ItemState.KEPT,
    )


def _transfers(plan: Plan) -> tuple[Transfer, ...]:
    """One for all streams between two nodes that take the same route."""
    routes: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for crossing in plan.crossings:
        key = (crossing.sender, crossing.receiver, *route_of(crossing))
        routes.setdefault(key, []).append(crossing.stream)
    return tuple(
        Transfer(
            start=f"node:{sender}",
            ends=(f"node:{receiver}",),
            receiver=receiver,
            media=media,
            gateways=gateways,
            label=f"from {sender}",
            title=f"{count(len(streams), 'stream')} from {sender} to {receiver}: "
            + ", ".join(streams),
        )
        for (sender, receiver, media, gateways), streams in routes.items()
    )
