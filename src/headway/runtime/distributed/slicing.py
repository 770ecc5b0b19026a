"""Cuts a plan into the parts of its nodes, when it is built."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.model.query import Source
from headway.runtime.distributed.node_slice import OUTPUT, NodeSlice
from headway.runtime.program import tasks_for
from headway.runtime.static_order import StaticOrder
from headway.schedule.online import policy_named


def slices_of(plan: Plan, policy: str = "s-edf") -> list[NodeSlice]:
    """The parts of all nodes that have something to do, in the plan's order."""
    chosen = policy_named(policy)
    tasks, order = tasks_for(plan, chosen)
    fingerprint = hashlib.sha256(f"{policy}\n{plan_to_json(plan)}".encode()).hexdigest()[:16]
    names = [name for name, _ in plan.schemas]
    names += [OUTPUT + output.name for output in plan.query.outputs]
    streams = tuple((name, number) for number, name in enumerate(names, start=1))
    parts = []
    for query in plan.node_queries:
        if not (query.sources or query.operators):
            continue
        mine = [task for task in tasks if task.node == query.node]
        parts.append(
            NodeSlice(
                node=query.node,
                fingerprint=fingerprint,
                policy=f"{type(chosen).__module__}:{type(chosen).__qualname__}",
                plan=_slice(plan, query.node),
                order=StaticOrder(
                    rank={task.name: order.rank[task.name] for task in mine},
                    position={task.name: order.position[task.name] for task in mine},
                    level={task.name: order.level[task.name] for task in mine},
                    capacity={task.name: order.capacity[task.name] for task in mine},
                ),
                streams=streams,
                sends=query.sends,
                receives=query.receives,
            )
        )
    return parts


def _slice(plan: Plan, node: str) -> Plan:
    """The plan as the node sees it: other nodes' streams enter as sources."""
    (query,) = [one for one in plan.node_queries if one.node == node]
    schemas = dict(plan.schemas)
    incoming = list(dict.fromkeys(stream for stream, _ in query.receives))
    sources = [source for source in plan.query.sources if source.name in query.sources]
    sources += [Source(name=stream, schema=schemas[stream]) for stream in incoming]
    steps = [step for step in plan.query.steps if step.name in query.operators]
    known = {*(source.name for source in sources), *query.operators}
    vehicle = plan.vehicle
    return replace(
        plan,
        query=replace(
            plan.query,
            sources=tuple(sources),
            steps=tuple(steps),
            outputs=tuple(o for o in plan.query.outputs if o.name in query.outputs),
            components=(),
        ),
        vehicle=replace(
            vehicle,
            nodes=tuple(one for one in vehicle.nodes if one.name == node),
            buses=(),
            gateways=(),
            links=(),
            sensors=tuple((s, at) for s, at in vehicle.sensors if s in query.sources),
            pins=(),
        ),
        schemas=tuple((name, schema) for name, schema in plan.schemas if name in known),
        placement=tuple((name, node) for name in sorted(known)),
        node_queries=(query,),
        crossings=tuple(c for c in plan.crossings if c.sender == node),
        tasks=tuple(task for task in plan.tasks if task.node == node),
        operator_tasks=tuple(task for task in plan.operator_tasks if task.node == node),
        verdict=None,
    )
