"""How much of nodes and buses a run needs just now, at the costs and sizes that are declared."""

from __future__ import annotations

from collections.abc import Mapping

from headway.engine.operator_counts import OperatorCount
from headway.engine.program import RunProgram, Unit
from headway.model.plan import Plan
from headway.model.quantities import SECOND


class DeclaredLoads:
    """How much of each node, bus and link the tuples since the last look need, at the costs and
    sizes that are declared."""

    def __init__(self, plan: Plan) -> None:
        self._crossings = plan.crossings
        self._nodes = tuple(node.name for node in plan.vehicle.nodes)
        self._before: dict[str, int] = {}
        self._sent: dict[str, int] = {}
        self._at = 0

    def look(
        self, program: RunProgram, counts: list[OperatorCount], passed: int
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Of the nodes, and of what lies between them, by name."""
        taken = {one.operator: one.consumed for one in counts}
        given = {one.operator: one.produced for one in counts}
        span = max(passed - self._at, SECOND // 1000)
        nodes = dict.fromkeys(self._nodes, 0.0)
        seen: set[str] = set()
        for unit in program.units:
            for name, cost in zip(unit.operators, _costs(unit), strict=True):
                if name not in seen:
                    seen.add(name)
                    new = max(0, taken[name] - self._before.get(name, 0))
                    nodes[unit.node] += new * cost / span
        media: dict[str, float] = {}
        for crossing in self._crossings:
            new = max(0, given[crossing.stream] - self._sent.get(crossing.stream, 0))
            for hop in crossing.hops:
                media[hop.name] = media.get(hop.name, 0.0) + new * hop.delay / span
        self._before, self._sent, self._at = taken, given, passed
        return nodes, media


def _costs(unit: Unit) -> tuple[int, ...]:
    """Of a tuple; a head that works on items takes one."""
    one_item = unit.base_cost + unit.item_cost
    return (one_item or unit.costs[0], *unit.costs[1:])
