"""What native code cannot do, told by name before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from headway.errors import Problem
from headway.model.expression import Expression, PythonCall
from headway.model.operator_kinds import NATIVE, gap_problems
from headway.model.operators import Operator
from headway.model.query import Source
from headway.native.cpp_fusion import TWINS
from headway.native.program_layout import ProgramLayout


def native_problems(layout: ProgramLayout) -> Iterator[Problem]:
    """All that stands in the way of a program in C++."""
    yield from query_problems(layout.graph.sources.values(), layout.graph.operators.values())


def query_problems(sources: Iterable[Source], operators: Iterable[Operator]) -> Iterator[Problem]:
    """The same of some sources and operators: Python functions, operators without C++."""
    for source in sources:
        if source.shedder is not None:
            yield from _python(f"sources.{source.name}.shed", (source.shedder.value,))
    for operator in operators:
        yield from gap_problems([operator], NATIVE)
        yield from _python(f"operators.{operator.name}", operator.expressions)
        yield from _only_python(operator)


def _python(at: str, expressions: Iterable[Expression]) -> Iterator[Problem]:
    for expression in expressions:
        if isinstance(expression, PythonCall):
            yield Problem(
                f"the Python function {expression.function} cannot run in native code",
                at=at,
                want="write it in SQL, or as an operator in C++",
            )


def _only_python(operator: Operator) -> Iterator[Problem]:
    """A user's operator that has a class in Python and none in C++."""
    implementation = getattr(operator, "implementation", None)
    if implementation is None or getattr(operator, "native", None) is not None:
        return
    if implementation in TWINS:
        if operator.optional_part is not None:
            yield Problem(
                f"{implementation} has no optional part",
                at=f"operators.{operator.name}.optional",
                want="leave out 'optional', or name a class with one",
            )
        return
    yield Problem(
        f"operator {operator.name!r} has only a Python class, {implementation}",
        at=f"operators.{operator.name}",
        want="name a class in C++ with 'native', or run the query on the engine 'vehicle'",
    )
