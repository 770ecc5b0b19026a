"""Pass: the schema of every stream, and with it the type check of every expression.

One function an operator (:data:`INFER`) gives the schema of its output from those of its inputs. It
raises :class:`headway.errors.InputError` whose problems are told from the operator's own place
(``where``, ``columns.ttc``); :func:`infer` adds where the operator stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from headway.compiler.compilation import Compilation
from headway.compiler.python_code import OWN
from headway.errors import InputError, Problem, QueryError
from headway.expressions.check import NUMERIC
from headway.expressions.check import check as parse_and_check
from headway.expressions.scope import Scope
from headway.expressions.verify import verify
from headway.model.expression import Column, Expression
from headway.model.expression_tree import ColumnRef, Literal, Typed
from headway.model.graph import graph_of
from headway.model.names import NAME, NAME_FORM, NATIVE_RULE
from headway.model.operator_kinds import kind_of, part
from headway.model.operators import (
    Aggregate,
    Distinct,
    Filter,
    Fusion,
    Join,
    Map,
    Operator,
    Sample,
    Union,
    UserDefined,
)
from headway.model.quantities import MICROSECOND
from headway.model.schema import RESERVED_COLUMNS, DataType, Field, Schema
from headway.model.user_operator import OperatorContext, load_class

MOST_WINDOWS = 100_000
"""that a tuple may be in; the engines keep a state for each"""

Inferred = tuple[Operator, Schema]
"""an operator whose expressions carry their typed trees, and the schema of its output"""


def check(
    expression: Expression,
    scope: Scope,
    *,
    want: DataType | frozenset[DataType] | None = None,
    aggregates: bool = False,
    grouping: tuple[str, ...] = (),
) -> Typed:
    """The typed tree of an expression. One that the query of a plan brings along is held to its
    columns and not parsed again."""
    look = parse_and_check if expression.typed is None else verify
    return look(expression, scope, want=want, aggregates=aggregates, grouping=grouping)


# ---------------------------------- named expressions to fields: what Map, Join and Aggregate share


def fields_of(
    columns: Iterable[Column],
    typed: Callable[[Expression], Typed],
    inputs: Mapping[Any, Schema],
) -> tuple[tuple[Column, ...], list[Field]]:
    """The columns with their typed trees and the fields they define; all problems of all columns at
    once.

    ``inputs`` are the schemas by port (None for a single input): a string keeps its longest length.
    """
    compiled: list[Column] = []
    fields: list[Field] = []
    problems: list[Problem] = []
    for column in columns:
        at = f"columns.{column.name}"
        try:
            result = typed(column.value)
        except InputError as error:
            problems += [problem.within(at) for problem in error.problems]
            continue
        compiled.append(replace(column, value=replace(column.value, typed=result)))
        length = _length(result, inputs)
        fields.append(Field(column.name, result.type, result.unit, length))
    problems += name_problems([column.name for column in columns])
    if problems:
        raise InputError(problems)
    return tuple(compiled), fields


def _length(result: Typed, inputs: Mapping[Any, Schema]) -> int | None:
    """The longest length of a string that is a constant or a column as it is."""
    node = result.tree
    if isinstance(node, Literal) and isinstance(node.value, str):
        return len(node.value.encode())
    if isinstance(node, ColumnRef) and node.port in inputs:
        field = inputs[node.port].find(node.name)
        return field.length if field else None
    return None


def name_problems(names: Iterable[str]) -> list[Problem]:
    """Names that cannot be columns, or are there twice."""
    problems = []
    seen: set[str] = set()
    for name in names:
        at = f"columns.{name}"
        if not NAME.fullmatch(name):
            problems.append(Problem(f"{name!r} cannot be a name", at=at, want=f"use {NAME_FORM}"))
        elif name in RESERVED_COLUMNS:
            problems.append(
                Problem(f"column {name!r} is part of every stream", at=at, want="rename it")
            )
        elif name in seen:
            problems.append(Problem(f"column {name!r} is there twice", at=at, want="rename one"))
        seen.add(name)
    return problems


# ------------------------------------------------------- filter, map and union: one tuple at a time


def infer_filter(operator: Filter, inputs: Mapping[str, Schema]) -> Inferred:
    """The input's schema; the condition must be boolean."""
    (schema,) = inputs.values()
    try:
        where = check(operator.where, Scope.row(schema), want=DataType.BOOLEAN)
    except InputError as error:
        raise QueryError(problem.within("where") for problem in error.problems) from None
    return replace(operator, where=replace(operator.where, typed=where)), schema


def infer_map(operator: Map, inputs: Mapping[str, Schema]) -> Inferred:
    """The computed columns, after the kept ones; a kept column that is computed anew keeps its
    place."""
    (schema,) = inputs.values()
    scope = Scope.row(schema)
    columns, computed = fields_of(
        operator.columns, lambda expression: check(expression, scope), {None: schema}
    )
    operator = replace(operator, columns=columns)
    if not operator.keep:
        return operator, Schema(tuple(computed))
    fields = {field.name: field for field in schema.fields}
    fields |= {field.name: field for field in computed}
    return operator, Schema(tuple(fields.values()))


def infer_union(operator: Union, inputs: Mapping[str, Schema]) -> Inferred:
    """All inputs must have one shape: names, types and units in the same order."""
    (first_port, first), *others = inputs.items()
    for port, schema in others:
        if not schema.same_shape(first):
            raise QueryError(
                "the inputs of a union must have the same columns",
                at=f"inputs.{port}",
                got=f"({schema.describe()}) beside ({first.describe()}) of {first_port!r}",
                want="make them equal with a map, in the same order",
            )
    longest = [
        max((schema.fields[i] for schema in inputs.values()), key=lambda field: field.size_bytes)
        for i in range(len(first.fields))
    ]
    return operator, Schema(tuple(longest))


# ------------------- join: keys must be comparable; columns of both sides go out, or those selected


def infer_join(operator: Join, inputs: Mapping[str, Schema]) -> Inferred:
    left, right = inputs.values()
    problems: list[Problem] = []
    for left_name, right_name in operator.keys:
        mine, theirs = left.find(left_name), right.find(right_name)
        for port, name, field in zip(inputs, (left_name, right_name), (mine, theirs), strict=True):
            if field is None:
                problems.append(Problem(f"port {port!r} has no column {name!r}", at="keys"))
        if mine and theirs and (mine.type, mine.unit) != (theirs.type, theirs.unit):
            problems.append(
                Problem(
                    f"keys {left_name!r} and {right_name!r} cannot be compared",
                    at="keys",
                    got=f"{mine.describe()} and {theirs.describe()}",
                    want="convert one of them with a map first",
                )
            )
    scope = Scope.join(dict(inputs))
    if operator.where is not None:
        try:
            where = check(operator.where, scope, want=DataType.BOOLEAN)
            operator = replace(operator, where=replace(operator.where, typed=where))
        except InputError as error:
            problems += [problem.within("where") for problem in error.problems]
    if operator.within < 0:
        problems.append(Problem("a time window must not be negative", at="within"))
    if problems:
        raise QueryError(problems)
    if operator.columns:
        columns, fields = fields_of(
            operator.columns, lambda expression: check(expression, scope), {**inputs}
        )
        return replace(operator, columns=columns), Schema(tuple(fields))
    both = (*left.fields, *right.fields)
    if any("twice" in problem.what for problem in name_problems(field.name for field in both)):
        doubles = sorted(set(left.names) & set(right.names))
        raise QueryError(
            "both sides have columns of the same name",
            at="columns",
            got=", ".join(doubles),
            want="say which columns go out with 'select'",
        )
    return operator, Schema(both)


# ------------------------------------------------- aggregate: the keys, then the aggregated columns


def infer_aggregate(operator: Aggregate, inputs: Mapping[str, Schema]) -> Inferred:
    (schema,) = inputs.values()
    problems: list[Problem] = []
    keys: list[Field] = []
    for name in operator.by:
        field = schema.find(name)
        if field is None:
            problems.append(
                Problem(f"unknown column {name!r}", at="by", want=f"there are {schema.names}")
            )
        else:
            keys.append(field)
    for name, length in (("window", operator.window), ("every", operator.every)):
        if length <= 0 or length % MICROSECOND:
            problems.append(
                Problem(
                    "must be a positive number of whole microseconds", at=name, got=f"{length} ns"
                )
            )
    if operator.every > operator.window:
        problems.append(
            Problem("windows would leave gaps", at="every", want="make it at most the window")
        )
    if not problems and operator.windows_per_tuple > MOST_WINDOWS:
        problems.append(
            Problem(
                f"each tuple would be in {operator.windows_per_tuple:,} windows",
                at="every",
                want=f"at most {MOST_WINDOWS:,}: let windows start less often, or be shorter",
            )
        )
    if problems:
        raise QueryError(problems)
    scope = Scope.aggregate(schema)
    columns, computed = fields_of(
        operator.columns,
        lambda expression: check(expression, scope, aggregates=True, grouping=operator.by),
        {None: schema},
    )
    if doubled := name_problems([field.name for field in (*keys, *computed)]):
        raise QueryError(doubled)
    return replace(operator, columns=columns), Schema((*keys, *computed))


# ------------------------------------------- distinct: the input's columns; the keys are among them


def infer_distinct(operator: Distinct, inputs: Mapping[str, Schema]) -> Inferred:
    (schema,) = inputs.values()
    problems = [
        Problem(f"unknown column {name!r}", at="keys", want=f"there are {schema.names}")
        for name in operator.keys
        if schema.find(name) is None
    ]
    if problems:
        raise QueryError(problems)
    return operator, schema


# --------------------------------- sample: the input's columns; of several inputs with their ports


def infer_sample(operator: Sample, inputs: Mapping[str, Schema]) -> Inferred:
    if len(inputs) == 1:
        (schema,) = inputs.values()
        return operator, schema
    fields = [
        replace(field, name=f"{port}_{field.name}")
        for port, schema in inputs.items()
        for field in schema.fields
    ]
    if doubled := name_problems([field.name for field in fields]):
        raise QueryError(
            replace(problem, at="inputs", want="rename the port or the column")
            for problem in doubled
        )
    return operator, Schema(tuple(fields))


# ---------------------------------------------------------------- user-defined and fusion
# They declare their output; their inputs must have the key columns. What else Headway's own classes
# need of inputs, parameters and schema they say when they are opened, here and in every engine
# alike. A class of the user is code, and none of it is imported before the query runs.


_IMPLEMENTATION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def infer_udo(operator: UserDefined, inputs: Mapping[str, Schema]) -> Inferred:
    if problems := list(_class_problems(operator)):
        raise QueryError(problems)
    _open_own(operator, inputs)
    return operator, operator.schema


def infer_fusion(operator: Fusion, inputs: Mapping[str, Schema]) -> Inferred:
    problems = list(_class_problems(operator))
    for what, column in (("object", operator.object_key), ("sensor", operator.sensor_key)):
        for port, schema in inputs.items():
            if column is not None and schema.find(column) is None:
                problems.append(Problem(f"input {port!r} has no column {column!r}", at=what))
    if min(operator.front, operator.rear) < 0:
        problems.append(Problem("a window must not be negative", at="front"))
    if problems:
        raise QueryError(problems)
    _open_own(operator, inputs)
    return operator, operator.schema


def _open_own(operator: UserDefined | Fusion, inputs: Mapping[str, Schema]) -> None:
    """QueryError with what one of Headway's own classes has against the operator."""
    implementation = operator.implementation
    if implementation is None or not implementation.startswith(OWN):
        return
    context = OperatorContext(
        name=operator.name,
        inputs=dict(inputs),
        output=operator.schema,
        parameters=dict(operator.parameters),
        windows=operator.windows,
    )
    load_class(implementation)().open(context)


def _class_problems(operator: UserDefined | Fusion) -> Iterator[Problem]:
    if operator.implementation is None and operator.native is None:
        yield Problem(
            "it has no class",
            at="implementation",
            want="name one in Python, or one in C++ with 'native'",
        )
    if operator.native is not None and not NATIVE_RULE.accepts(operator.native):
        yield Problem(
            NATIVE_RULE.what, at="native", got=repr(operator.native), want=NATIVE_RULE.want
        )
    if operator.implementation is not None and not _IMPLEMENTATION.fullmatch(
        operator.implementation
    ):
        yield Problem(
            "not the place of a class",
            at="implementation",
            got=repr(operator.implementation),
            want="write 'package.module:Class'",
        )


# ---------------------------------------------------------------- the pass


def infer(compilation: Compilation) -> Compilation:
    """Schemas by stream, and every expression with its typed tree; all problems at once, streams
    behind a faulty operator left out."""
    graph = compilation.graph
    problems: list[Problem] = []
    schemas: dict[str, Schema] = {}
    sources = dict(graph.sources)
    operators = dict(graph.operators)
    for source in graph.sources.values():
        schemas[source.name] = source.schema
        if source.shedder is not None:
            try:
                value = check(source.shedder.value, Scope.row(source.schema), want=NUMERIC)
                compiled = replace(source.shedder.value, typed=value)
                shedder = replace(source.shedder, value=compiled)
                sources[source.name] = replace(source, shedder=shedder)
            except InputError as error:
                at = f"sources.{source.name}.shed.value"
                problems += [problem.within(at) for problem in error.problems]
    for name in graph.order:
        operator = graph.operators[name]
        if any(stream not in schemas for stream in operator.streams):
            continue
        inputs = {port.port: schemas[port.stream] for port in operator.inputs}
        try:
            kind = kind_of(operator)
            operators[name], schemas[name] = part(kind, kind.infer)(operator, inputs)
        except InputError as error:
            problems += [p.within(compilation.origins[name]) for p in error.problems]
    for ported in compilation.port_checks:
        given = schemas.get(ported.stream)
        if given is not None and not given.same_shape(ported.schema):
            problems.append(
                Problem(
                    f"stream {ported.stream!r} does not fit the component's input",
                    at=ported.at,
                    got=f"({given.describe()})",
                    want=f"the component declares ({ported.schema.describe()})",
                )
            )
    if problems:
        raise QueryError(dict.fromkeys(problems))
    query = replace(
        compilation.query, sources=tuple(sources.values()), steps=tuple(operators.values())
    )
    return replace(compilation, query=query, graph=graph_of(query), schemas=schemas)
