"""What the state of a query consists of: sections, for sources and for operators that remember.

Two queries whose sections are the same can take up each other's states, whatever else differs: a
threshold of a filter, a cost, a deadline, another output.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields

from headway.compiler.node_queries import on_one_node
from headway.model.codec import to_json
from headway.model.graph import graph_of
from headway.model.operators import Operator
from headway.model.plan import Plan
from headway.model.query import Source
from headway.model.schema import Schema

PYTHON_FORM, NATIVE_FORM = "python", "native"
"""whose states they are: the Python engine's, or a compiled program's"""
_VERSION = 1
"""of what the engines write into a section"""
_FREE = frozenset(
    {"name", "inputs", "cost", "selectivity", "most_outputs", "partners", "optional", "timeout"}
)
"""settings of an operator that its state does not depend on; whether it waits at all is told
besides"""


@dataclass(frozen=True, slots=True)
class StateSection:
    """A part of every vehicle's state: whose it is, and all that its form follows from."""

    of_source: bool
    name: str
    form: str


def sections_of(plan: Plan) -> tuple[StateSection, ...]:
    """Sources in the query's order, then operators in theirs."""
    plan = on_one_node(plan)
    graph, schemas = graph_of(plan.query), dict(plan.schemas)
    sources = [
        StateSection(True, name, _source_form(source)) for name, source in graph.sources.items()
    ]
    operators = [
        StateSection(False, name, _operator_form(operator, schemas))
        for name, operator in graph.operators.items()
        if operator.traits.keeps_state or operator.gathering is not None
    ]
    return (*sources, *operators)


def _source_form(source: Source) -> str:
    shedder = source.shedder
    shed = () if shedder is None else (shedder.decide, shedder.per)
    return to_json((source.schema, shed))


def _operator_form(operator: Operator, schemas: Mapping[str, Schema]) -> str:
    """The settings that its state has its form from (all, where nobody knows better), and the
    columns of what it keeps."""
    forming = operator.state_settings
    settings = tuple(
        (field.name, getattr(operator, field.name))
        for field in fields(operator)
        if (field.name not in _FREE if forming is None else field.name in forming)
    )
    ports = tuple((port.port, schemas[port.stream]) for port in operator.inputs)
    waits = operator.timeout is not None
    return to_json((operator.kind, settings, ports, schemas[operator.name], waits))


def fingerprint_of(plan: Plan, form: str) -> str:
    """Tells states apart that must not be mixed: other sections, or another engine's form."""
    text = to_json(sections_of(plan))
    digest = hashlib.sha256(f"{_VERSION}\0{form}\0{text}".encode()).hexdigest()
    return f"{form}-{digest[:16]}"


def form_of(fingerprint: str) -> str:
    """Which engine's states have this fingerprint."""
    return fingerprint.partition("-")[0]
