"""What a stream's answers depend on, element by element, and what has changed of it in words.

A checkpoint is bound to this and not to the bytes of a plan: costs, placement, the vehicle, weights
and deadlines may change and the stream goes on as if nothing had happened. What changes answers
(an expression, a time, a class of the user) goes on only where the user adopts it. What states and
files have their form from (the columns of a source, the length of a window, which outputs are
computed together) cannot change at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any, NamedTuple

from headway.compiler.python_code import OWN
from headway.errors import InputError
from headway.extensions import resolve
from headway.model.expression import Column, Expression, PythonCall, Sql
from headway.model.graph import graph_of
from headway.model.operators import OperatorBase
from headway.model.plan import Plan
from headway.model.quantities import format_duration
from headway.model.query import Source
from headway.model.schema import Schema
from headway.native.native_class import native_class
from headway.spark.lowering.regions import ancestors
from headway.spark.streams.stream_query import groups_of

IDENTITY_VERSION = 1
"""of what is compared; one more when that changes"""


class Facet(NamedTuple):
    """``forms``: states or files that are there have their form from it."""

    text: str
    forms: bool


Facets = dict[str, Facet]
Identity = dict[str, Facets]
"""element (``operators.fast``) -> setting -> what it is"""

# ---------------------------------------------------------------- what a plan is


def identity_of(plan: Plan) -> Identity:
    """All that its answers depend on."""
    found: Identity = {}
    graph, schemas = graph_of(plan.query), dict(plan.schemas)
    for source in plan.query.sources:
        found[f"sources.{source.name}"] = _source(source)
    for name in graph.order:
        found[f"operators.{name}"] = _operator(graph.operators[name], schemas)
    for group in groups_of(plan):
        read = ancestors(graph, [output.stream for output in group.outputs]) & graph.sources.keys()
        # In this order a vehicle's tuples of one instant arrive, and states number them.
        sources = ", ".join(name for name in graph.sources if name in read)
        found[f"queries.{group.name}"] = {"sources": Facet(sources, forms=True)}
        for output in group.outputs:
            found[f"outputs.{output.name}"] = {
                "from": Facet(output.stream, forms=False),
                "columns": Facet(schemas[output.stream].describe(), forms=True),
                "query": Facet(group.name, forms=True),
            }
    return found


def _source(source: Source) -> Facets:
    facets = {
        "schema": Facet(source.schema.describe(), forms=True),
        "lateness": Facet(format_duration(source.lateness), forms=False),
    }
    shedder = source.shedder
    if shedder is None:
        return {**facets, "shed": Facet("nothing", forms=True)}
    how = f"{shedder.decide.value}, per {format_duration(shedder.per)}"
    return {
        **facets,
        "shed": Facet(how, forms=True),
        "shed.at_most": Facet(str(shedder.at_most), forms=False),
        "shed.value": Facet(_text(shedder.value), forms=False),
        **_code(shedder.value),
    }


_FREE = frozenset({"name", "cost", "selectivity", "most_outputs", "partners", "optional"})
"""settings that only promises, loads and schedules depend on"""
_TIMES = frozenset({"timeout", "within", "window", "every", "front", "rear"})


def _operator(operator: OperatorBase, schemas: Mapping[str, Schema]) -> Facets:
    kept, forming = operator.traits.keeps_state, operator.state_settings
    facets: Facets = {"kind": Facet(operator.kind, forms=kept)}
    for port in operator.inputs:
        facets[f"inputs.{port.port}"] = Facet(port.stream, forms=False)
        if kept:
            columns = schemas[port.stream].describe()
            facets[f"inputs.{port.port}.columns"] = Facet(columns, forms=True)
    for field in fields(operator):
        if field.name in _FREE or field.name in ("kind", "inputs"):
            continue
        forms = kept and (forming is None or field.name in forming)
        value = getattr(operator, field.name)
        for setting, text in _texts(value, field.name):
            facets[setting] = Facet(text, forms)
    if kept:
        facets["output"] = Facet(schemas[operator.name].describe(), forms=True)
    if kept and len(operator.inputs) > 1:
        waits = "never" if operator.timeout is None else "up to its timeout"
        facets["waits for its inputs"] = Facet(waits, forms=True)
    for expression in operator.expressions:
        facets |= _code(expression)
    implementation = getattr(operator, "implementation", None)
    if implementation is not None and not implementation.startswith(OWN):
        facets[f"code of {implementation}"] = Facet(_source_of(implementation), forms=False)
    native = getattr(operator, "native", None)
    if native is not None:
        with suppress(InputError):  # where nothing compiles it, it need not be there
            files = native_class(native, operator.name).files
            facets[f"code of {native}"] = Facet(_hashed(*files.values()), forms=False)
    return facets


def _texts(value: Any, setting: str) -> Iterator[tuple[str, str]]:
    """A setting in words: columns and parameters one by one, all else on one line."""
    if value is None or value == ():
        return
    if isinstance(value, tuple) and all(isinstance(one, Column) for one in value):
        for column in value:
            yield f"{setting}.{column.name}", _text(column.value)
    elif setting == "parameters":
        for name, given in value:
            yield f"{setting}.{name}", str(given)
    elif isinstance(value, tuple):
        parts = (" = ".join(dict.fromkeys(map(str, _flat(one)))) for one in value)
        yield setting, ", ".join(parts)
    elif setting in _TIMES and isinstance(value, int):
        yield setting, format_duration(value)
    elif isinstance(value, Schema):
        yield setting, value.describe()
    else:
        yield setting, _text(value)


def _flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _text(value: Any) -> str:
    if isinstance(value, Sql):
        return value.text
    if isinstance(value, PythonCall):
        return f"{value.function}({', '.join(value.arguments)}), {value.returns.value}"
    return str(value)


def _code(expression: Expression) -> Facets:
    if not isinstance(expression, PythonCall):
        return {}
    name = expression.function
    return {f"code of {name}": Facet(_source_of(name), forms=False)}


def _source_of(name: str) -> str:
    """A few letters that stand for the source of ``module:name``."""
    try:
        return _hashed(inspect.getsource(resolve(name)))
    except (ImportError, AttributeError, OSError, TypeError):
        return "cannot be read"  # built in, or not here: then nobody can tell whether it changed


def _hashed(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()[:10]


# ---------------------------------------------------------------- what has changed


@dataclass(frozen=True, slots=True)
class Changed:
    """``before`` and ``now`` are None for what is new or gone. ``forms``: what is there has its
    form from it, so nobody can go on from there."""

    path: str
    before: str | None
    now: str | None
    forms: bool

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path}: added{self.now and f', {self.now}'}"
        if self.now is None:
            return f"{self.path}: removed{self.before and f', it was {self.before}'}"
        return f"{self.path}: {self.before} -> {self.now}"


def changes(before: Identity, now: Identity) -> list[Changed]:
    """What differs, in the order of the query as it is now; an element that is new or gone is one
    change. Queries of Spark come and go with their outputs."""
    found: list[Changed] = []
    for element in dict.fromkeys([*now, *before]):
        old, new = before.get(element), now.get(element)
        if old is None or new is None:
            if not element.startswith("queries."):
                gone, came = (None if one is None else "" for one in (old, new))
                found.append(Changed(element, gone, came, forms=False))
            continue
        for setting in dict.fromkeys([*new, *old]):
            facets = (old.get(setting), new.get(setting))
            was, is_now = (None if one is None else one.text for one in facets)
            if was != is_now:
                forms = any(one is not None and one.forms for one in facets)
                found.append(Changed(f"{element}.{setting}", was, is_now, forms))
    return found


# ---------------------------------------------------------------- in a checkpoint


def identity_data(identity: Identity) -> dict[str, dict[str, list[Any]]]:
    """As JSON has it."""
    return {
        element: {setting: list(facet) for setting, facet in facets.items()}
        for element, facets in identity.items()
    }


def identity_from(data: Any) -> Identity:
    """What :func:`identity_data` gave; ValueError, TypeError or AttributeError for anything
    else."""
    return {
        str(element): {
            str(setting): Facet(str(text), bool(forms)) for setting, (text, forms) in facets.items()
        }
        for element, facets in data.items()
    }
