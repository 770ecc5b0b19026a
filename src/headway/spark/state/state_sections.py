"""What the state of a query consists of: sections, for sources and for operators that remember.

Two queries whose sections are the same can take up each other's states, whatever else differs: a
threshold of a filter, a cost, a deadline.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from headway.compiler.node_queries import on_one_node
from headway.model.codec import to_json
from headway.model.graph import graph_of
from headway.model.operators import Operator
from headway.model.plan import Plan

_VERSION = 1
"""of what the engines write into a section"""


@dataclass(frozen=True, slots=True)
class StateSection:
    """A part of every vehicle's state: whose it is, and all that it depends on."""

    of_source: bool
    name: str
    definition: str


def sections_of(plan: Plan) -> tuple[StateSection, ...]:
    """Sources in the query's order, then operators in theirs."""
    plan = on_one_node(plan)
    graph, schemas = graph_of(plan.query), dict(plan.schemas)
    sources = [
        StateSection(
            True,
            name,
            to_json((name, source.schema, source.lateness, source.shedder)),
        )
        for name, source in graph.sources.items()
    ]
    operators = [
        StateSection(
            False,
            name,
            to_json(
                (
                    _without_costs(operator),
                    schemas[name],
                    tuple(schemas[stream] for stream in operator.streams),
                )
            ),
        )
        for name, operator in graph.operators.items()
        if remembers(operator)
    ]
    return (*sources, *operators)


def remembers(operator: Operator) -> bool:
    """Whether something of it stays between two tuples."""
    return operator.traits.keeps_state or operator.gathering is not None


def _without_costs(operator: Operator) -> Operator:
    """What it computes, without what it takes and what is promised of it."""
    return replace(operator, cost=None, selectivity=1.0, most_outputs=None)


def fingerprint_of(plan: Plan, engine: str) -> str:
    """Tells states apart that must not be mixed: other sections, or another engine's form."""
    text = to_json(sections_of(plan))
    digest = hashlib.sha256(f"{_VERSION}\0{engine}\0{text}".encode()).hexdigest()
    return f"{engine}-{digest[:16]}"
