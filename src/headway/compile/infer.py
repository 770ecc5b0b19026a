"""Pass: the schema of every stream, and with it the type check of every expression."""

from __future__ import annotations

from dataclasses import replace

from headway.compile.compilation import Compilation
from headway.compile.inference import INFER
from headway.errors import InputError, Problem, QueryError
from headway.expressions import NUMERIC, Scope
from headway.expressions import check as check_expression
from headway.model.schema import Schema


def infer(compilation: Compilation) -> Compilation:
    """Schemas by stream; all problems at once, streams behind a faulty operator left out."""
    graph = compilation.graph
    problems: list[Problem] = []
    schemas: dict[str, Schema] = {}
    for source in graph.sources.values():
        schemas[source.name] = source.schema
        if source.shedder is not None:
            try:
                check_expression(source.shedder.value, Scope.row(source.schema), want=NUMERIC)
            except InputError as error:
                at = f"sources.{source.name}.shed.value"
                problems += [problem.within(at) for problem in error.problems]
    for name in graph.order:
        operator = graph.operators[name]
        if any(stream not in schemas for stream in operator.streams):
            continue
        inputs = {port.port: schemas[port.stream] for port in operator.inputs}
        try:
            schemas[name] = INFER[operator.kind](operator, inputs)
        except InputError as error:
            problems += [p.within(compilation.origins[name]) for p in error.problems]
    for check in compilation.port_checks:
        given = schemas.get(check.stream)
        if given is not None and not given.same_shape(check.schema):
            problems.append(
                Problem(
                    f"stream {check.stream!r} does not fit the component's input",
                    at=check.at,
                    got=f"({given.describe()})",
                    want=f"the component declares ({check.schema.describe()})",
                )
            )
    if problems:
        raise QueryError(dict.fromkeys(problems))
    return replace(compilation, schemas=schemas)
