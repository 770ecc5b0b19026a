"""User-defined operators: the user's class in C++, and what the query sets for it."""

from __future__ import annotations

from headway.errors import UnsupportedError
from headway.model.operators import Parameter, UserDefined
from headway.native.cpp_text import fields, number, quoted, span_of, table
from headway.native.native_class import check_refines, native_class
from headway.native.operator_code import STATEFUL, OperatorCode, WriteContext

_LARGEST = 1 << 63


def write_user_operator(operator: UserDefined, context: WriteContext) -> OperatorCode:
    if operator.native is None:
        raise UnsupportedError(
            f"operator {operator.name!r} has only a Python class, {operator.implementation}",
            at=f"operators.{operator.name}",
            want="name a class in C++ with 'native'",
        )
    found = native_class(operator.native, operator.name)
    if operator.optional is not None:
        check_refines(found, operator.name)
    parameters = context.names.take(f"{context.function}_parameters")
    settings = context.names.take(f"{context.function}_settings")
    most = -1 if operator.most_outputs is None else operator.most_outputs
    kind = f"headway::Configured<{found.name}, {settings}>"
    rows = [fields(name=quoted(name), **_forms(value)) for name, value in operator.parameters]
    text = [
        *table("headway::Parameter", parameters, rows),
        f"inline constexpr headway::UserSettings {settings}{{",
        f"    {quoted(operator.name)}, {span_of(parameters, len(rows))}, {number(most)}}};",
        f"inline {kind} {context.function};",
    ]
    return OperatorCode(
        kind=STATEFUL,
        text=tuple(text),
        headers=frozenset({found.header, "headway/user_operator.hpp"}),
        object=context.function,
        arena=f"{kind}::arena_bytes()",
        files=dict(found.files),
    )


def _forms(value: Parameter) -> dict[str, str]:
    """A parameter in each of the forms in which it can be asked for."""
    if isinstance(value, str):
        return {"number": "0.0", "whole": "0", "text": quoted(value)}
    in_range = -_LARGEST <= value < _LARGEST
    return {
        "number": repr(float(value)),
        "whole": number(int(value)) if in_range else "0",
        "text": '""',
    }
