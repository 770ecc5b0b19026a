"""Finding by name what a fusion operator reads and writes, and saying clearly what is missing."""

from __future__ import annotations

from math import inf, isfinite
from typing import Any

from headway.errors import Problem, QueryError
from headway.model.operators import Parameter
from headway.model.quantities import MICROSECOND
from headway.model.schema import DataType
from headway.model.user_operator import OperatorContext, Row

LARGEST = 1e9
"""No coordinate, speed or angle beyond this is believed; it keeps every later product finite."""
LEAST_VARIANCE, LARGEST_VARIANCE = 1e-6, 1e6
"""A sensor is trusted to a millimetre at best and a kilometre at worst (in m², and so for m/s);
within these bounds rounding cannot make a variance negative."""

KEY_TYPES = (DataType.STRING, DataType.INT, DataType.BIGINT, DataType.BOOLEAN)


def number(value: Any) -> float | None:
    """A value as a believable number; None when it is NULL, NaN, infinite or absurdly large."""
    if value is None or not -LARGEST <= value <= LARGEST:  # NaN fails every comparison
        return None
    return float(value)


def variance(value: Any) -> float | None:
    """A value as a variance within the bounds of trust; None when NULL, NaN, infinite or
    negative."""
    if value is None or not 0 <= value < inf:
        return None
    return min(max(float(value), LEAST_VARIANCE), LARGEST_VARIANCE)


def window(context: OperatorContext, name: str) -> int:
    """A window's length in whole microseconds, the resolution of timestamps."""
    length = context.windows.get(name)
    if not isinstance(length, int) or length < 0:
        raise QueryError(
            f"a fusion operator needs the length of its {name} window",
            at=name,
            got=repr(length),
            want="give a duration, such as '1 s'",
        )
    return length // MICROSECOND


def check_keys(context: OperatorContext) -> None:
    """Keys must be there in every input, comparable with each other and never NaN."""
    problems: list[Problem] = []
    for what in ("object", "sensor"):
        column = context.windows.get(f"{what}_key")
        if column is None:
            continue
        kinds = set()
        for port, schema in context.inputs.items():
            field = schema.find(column) if column in schema.names else None
            if field is None or field.type not in KEY_TYPES:
                problems.append(
                    Problem(
                        f"input {port!r} needs a column {column!r} of type string, int, bigint or "
                        f"boolean to tell {what}s apart",
                        at=what,
                        got=f"a {field.type.value}" if field else f"columns {schema.describe()}",
                    )
                )
            else:
                kinds.add(field.type is DataType.STRING)
        if len(kinds) > 1:
            problems.append(
                Problem(
                    f"column {column!r} is a string in some inputs and a number in others",
                    at=what,
                    want="give it the same type in all",
                )
            )
    if problems:
        raise QueryError(problems)


class Columns:
    """The numeric columns of an operator's inputs; collects what is missing until :meth:`check`."""

    def __init__(self, context: OperatorContext) -> None:
        self._context = context
        self._problems: list[Problem] = []

    def optional(self, port: str, *names: str, types: tuple[DataType, ...] = ()) -> int | None:
        """Place in the row of the first of these columns that the input has."""
        schema = self._context.inputs[port]
        for name in names:
            if name not in schema.names:
                continue
            kind = schema.fields[schema.names.index(name)].type
            if kind not in types and (types or not kind.is_numeric):
                self._complain(
                    port,
                    f"column {name!r} of input {port!r} has the wrong type",
                    got=kind.value,
                    want=f"make it {' or '.join(types) or 'a number'}",
                )
            return schema.names.index(name) + 1
        return None

    def required(self, port: str, *names: str, types: tuple[DataType, ...] = ()) -> int:
        """Place in the row of the first of these columns that the input has; it must have one."""
        place = self.optional(port, *names, types=types)
        if place is None:
            self._complain(
                port,
                f"input {port!r} has no column {' or '.join(map(repr, names))}",
                got=f"columns {', '.join(self._context.inputs[port].names) or '(none)'}",
                want="add it to the input's schema",
            )
            return 0
        return place

    def ports(self, *names: str) -> None:
        """The operator has these inputs and no others."""
        if set(self._context.inputs) != set(names):
            raise QueryError(
                f"this operator needs the inputs {' and '.join(names)}",
                at="inputs",
                got=", ".join(self._context.inputs) or "none",
            )

    def check(self) -> None:
        if self._problems:
            raise QueryError(self._problems)

    def _complain(self, port: str, what: str, got: str, want: str) -> None:
        self._problems.append(Problem(what, at=f"inputs.{port}", got=got, want=want))


def positive_parameters(
    context: OperatorContext, defaults: dict[str, float], others: tuple[str, ...] = ()
) -> dict[str, float]:
    """The operator's positive numbers, defaults filled in; no unknown name passes unseen."""
    problems: list[Problem] = []
    known = (*defaults, *others)
    for name, value in context.parameters.items():
        at = f"parameters.{name}"
        if name not in known:
            problems.append(
                Problem("unknown parameter", at=at, want=f"there are: {', '.join(known)}")
            )
        elif name in defaults and not _positive(value):
            problems.append(Problem("must be a positive number", at=at, got=repr(value)))
    if problems:
        raise QueryError(problems)
    return {
        name: float(context.parameters.get(name, default)) for name, default in defaults.items()
    }


def _positive(value: Parameter) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and isfinite(value)
        and 0 < value <= LARGEST
    )


def row_value(row: Row, place: int | None) -> Any:
    """The value at a place that may not exist."""
    return None if place is None else row[place]
