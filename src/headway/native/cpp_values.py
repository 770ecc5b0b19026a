"""Values in generated C++: columns that are read, constants, and what is written to a column."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headway.model.expression_tree import AggregateCall, ColumnRef, Literal
from headway.model.schema import DataType
from headway.native.cpp_body import bare
from headway.native.cpp_names import string_literal
from headway.native.cpp_types import RowStruct, ValueType, local_type, text_room


@dataclass(frozen=True, slots=True)
class CppValue:
    """``code`` computes the value; it is NULL unless all conditions in ``known`` hold.

    An ``atom`` is a name or a constant: it costs nothing to write it twice.
    """

    code: str
    known: tuple[str, ...] = ()
    atom: bool = False

    @property
    def known_code(self) -> str:
        """A C++ condition: not NULL."""
        return " && ".join(self.known) if self.known else "true"

    @property
    def maybe_code(self) -> str:
        """A ``Maybe`` of the value (of a ``std::string_view`` for a string)."""
        if not self.known:
            return f"headway::known({bare(self.code)})"
        return f"headway::maybe({self.known_code}, {bare(self.code)})"


ReadColumn = Callable[[ColumnRef], CppValue]
ReadAggregate = Callable[[AggregateCall], CppValue]


def all_known(*values: CppValue) -> tuple[str, ...]:
    return tuple(dict.fromkeys(condition for value in values for condition in value.known))


def maybe_or(value: CppValue, null: str) -> str:
    """A ``Maybe`` of the value, or ``null`` where it is always NULL."""
    return null if "false" in value.known else value.maybe_code


# -------------------------------------------------------------------- columns


def row_reader(row: str, struct: RowStruct, present: str | None = None) -> ReadColumn:
    """Reads the columns of ``row``, a reference to a struct. ``present``: a condition without which
    there is no row and even its timestamp is NULL (its other columns must be NULL then)."""

    def read(column: ColumnRef) -> CppValue:
        found = struct.column(column.name)
        place = f"{row}.{found.member}"
        if not found.nullable:
            return CppValue(place, () if present is None else (present,), atom=True)
        code = f"{place}.value"
        if found.type.type is DataType.STRING:
            code += ".view()"
        return CppValue(code, (f"{place}.known",), atom=True)

    return read


def port_reader(readers: Mapping[str | None, ReadColumn]) -> ReadColumn:
    """Reads columns of several rows, by port."""
    return lambda column: readers[column.port](column)


def column_code(value: CppValue, kind: ValueType) -> str:
    """The C++ of a column that holds the value."""
    if kind.type is not DataType.STRING:
        return value.maybe_code
    return f"headway::maybe_text<{text_room(kind.length)}>({value.known_code}, {bare(value.code)})"


# -------------------------------------------------------------------- constants


def literal_code(node: Literal) -> str:
    """The constant in exactly its type."""
    value = node.value
    match node.type:
        case DataType.BOOLEAN:
            return "true" if value else "false"
        case DataType.STRING:
            text = str(value)
            size = len(text.encode("utf-8", "surrogatepass"))
            return f"std::string_view({string_literal(text)}, {size})"
        case DataType.INT:
            whole = int(value or 0)
            return "std::int32_t{-2147483647 - 1}" if whole == -(2**31) else _signed(str(whole))
        case DataType.BIGINT | DataType.TIMESTAMP:
            whole = int(value or 0)
            digits = "-9223372036854775807 - 1" if whole == -(2**63) else str(whole)
            return f"std::int64_t{{{digits}}}"
    real = float(value or 0.0)
    kind = local_type(node.type)
    if math.isnan(real):
        return f"std::numeric_limits<{kind}>::quiet_NaN()"
    if math.isinf(real):
        sign = "-" if real < 0 else ""
        return f"({sign}std::numeric_limits<{kind}>::infinity())"
    return _signed(repr(real) + ("F" if node.type is DataType.FLOAT else ""))


def _signed(digits: str) -> str:
    return f"({digits})" if digits.startswith("-") else digits


def zero_code(kind: DataType) -> str:
    """The value that stands where there is none."""
    if kind is DataType.STRING:
        return "std::string_view{}"
    return literal_code(Literal(0, kind)) if kind is not DataType.FLOAT else "0.0F"
