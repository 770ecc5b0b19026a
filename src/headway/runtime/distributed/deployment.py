"""``deployment.json``: where the nodes of a build are found, and in which order to start them."""

from __future__ import annotations

from typing import Any

from headway.model.plan import Plan
from headway.runtime.distributed.node_slice import NodeSlice

DEPLOYMENT = "deployment.json"
FIRST_PORT = 47100


def deployment_of(
    plan: Plan, policy: str, parts: list[tuple[NodeSlice, tuple[str, ...]]], first_port: int
) -> dict[str, Any]:
    """Addresses on loopback, one port after the other; each part with the packages it needs."""
    return {
        "query": plan.query.name,
        "policy": policy,
        "fingerprint": parts[0][0].fingerprint if parts else "",
        "nodes": {
            part.node: {
                "address": f"127.0.0.1:{first_port + place}",
                "executable": f"{part.node}.pyz",
                "sources": list(part.own_sources),
                "outputs": [output.name for output in part.plan.query.outputs],
                "requires": list(requires),
            }
            for place, (part, requires) in enumerate(parts)
        },
        "start_order": _start_order([part for part, _ in parts]),
    }


def _start_order(parts: list[NodeSlice]) -> list[str]:
    """Receivers before senders, unless they send to each other; else the plan's order."""
    order: list[str] = []
    waiting = {part.node: {receiver for _, receiver in part.sends} for part in parts}
    while waiting:
        free = [node for node, receivers in waiting.items() if receivers <= set(order)]
        order.append(free[0] if free else next(iter(waiting)))
        del waiting[order[-1]]
    return order
