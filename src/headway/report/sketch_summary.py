"""A large plan as a sketch: one box for each node, streams between two nodes counted."""

from __future__ import annotations

from collections import Counter

from headway.model.plan import Plan
from headway.report.plan_tables import node_of
from headway.report.sketch import Edge, Item, Role, Sketch, State, Transfer
from headway.report.sketch_plan import description_of, heading_of, state_of
from headway.report.sketch_vehicle import ecus_of, junctions_of, media_of, route_of
from headway.report.words import KEPT, kind_of, sign, summary


def sketch_summary(plan: Plan) -> Sketch:
    """Counts in place of single operators, sources and outputs."""
    placed = node_of(plan)
    sources = _by_node([(s.name, placed.get(s.name, "")) for s in plan.query.sources])
    outputs = _by_node([(o.name, placed.get(o.stream, "")) for o in plan.query.outputs])
    items: list[Item] = []
    edges: list[Edge] = []
    for ecu in ecus_of(plan):
        key = f"node:{ecu.name}"
        if names := sources.get(ecu.name):
            items.append(_counted(f"sources:{ecu.name}", Role.SOURCE, ecu.name, "source", names))
            edges.append(Edge(start=f"sources:{ecu.name}", end=key))
        items.append(_node_item(plan, placed, ecu.name))
        if names := outputs.get(ecu.name):
            items.append(_outputs_item(plan, ecu.name, names))
            edges.append(Edge(start=key, end=f"outputs:{ecu.name}"))
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
        state=State.BROKEN if broken else State.KEPT,
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
