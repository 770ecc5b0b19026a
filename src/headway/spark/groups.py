"""Which outputs a streaming query of Spark computes together.

Hard outputs form one group. Soft outputs that share an operator form one, so that what they share
is computed once; those that share nothing are queries of their own, which the gate can put in
order. An operator that hard and soft outputs share is computed in both classes: a soft batch that
is late must not keep a hard one waiting.
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.query import Criticality, Output
from headway.spark.regions import ancestors


@dataclass(frozen=True)
class Group:
    """``name`` is the name of its checkpoint."""

    name: str
    hard: bool
    outputs: tuple[Output, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(output.name for output in self.outputs)

    @property
    def deadline(self) -> int:
        """The shortest, relative, in nanoseconds."""
        return min(output.deadline or 0 for output in self.outputs)


def groups_of(plan: Plan) -> list[Group]:
    graph = graph_of(plan.query)
    hard = [o for o in plan.query.outputs if o.criticality is Criticality.HARD]
    soft = [o for o in plan.query.outputs if o.criticality is not Criticality.HARD]
    together: list[tuple[set[str], list[Output]]] = []
    for output in soft:
        needed = ancestors(graph, [output.stream]) - graph.sources.keys()
        mine = (needed, [output])
        apart = []
        for other in together:
            if other[0] & mine[0]:
                mine = (other[0] | mine[0], [*other[1], *mine[1]])
            else:
                apart.append(other)
        together = [*apart, mine]
    found = [Group("hard", True, tuple(hard))] if hard else []
    found += [Group(f"soft-{members[0].name}", False, tuple(members)) for _, members in together]
    return found
