"""How long the strings of an expression can become, so that there is room for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from headway.errors import UnsupportedError
from headway.model.expression_tree import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Coalesce,
    ColumnRef,
    Literal,
    Node,
    PythonValue,
)
from headway.model.schema import DataType
from headway.native.cpp_types import RowStruct

Lengths = Callable[[ColumnRef], int]
"""the room of a string column"""
_DIGITS = {DataType.INT: 11, DataType.BIGINT: 20}
_MOST_BYTES_OF_CHARACTER = 4
UPPER_GROWTH, LOWER_GROWTH = (3, 1), (3, 2)
"""how many bytes can come of how many: ``ΐ`` has 2 bytes and 6 in capitals, ``İ`` 2 and 3 in small
letters"""


def struct_lengths(structs: Mapping[str | None, RowStruct]) -> Lengths:
    """The room of the string columns of rows, by port."""
    return lambda column: structs[column.port].column(column.name).type.length


def result_length(node: Node, lengths: Lengths) -> int:
    """The most bytes that a string expression can give; 0 for other types."""
    if node.type is not DataType.STRING:
        return 0
    match node:
        case Literal():
            return len(str(node.value).encode("utf-8", "surrogatepass")) if node.value else 0
        case ColumnRef():
            return lengths(node)
        case Cast():
            return _DIGITS.get(node.operand.type, len("false"))
        case Case():
            values = [*(value for _, value in node.branches), node.otherwise]
            return max(result_length(value, lengths) for value in values)
        case Coalesce():
            return max(result_length(operand, lengths) for operand in node.operands)
        case AggregateCall() if node.argument is not None:
            return result_length(node.argument, lengths)
        case Call():
            return _call_length(node, [result_length(part, lengths) for part in node.arguments])
        case PythonValue():
            raise refused(node)
    raise AssertionError(f"no string: {node}")


def _call_length(node: Call, sizes: list[int]) -> int:
    match node.function:
        case "concat":
            return sum(sizes)
        case "upper":
            return _grown(sizes[0], UPPER_GROWTH)
        case "lower":
            return _grown(sizes[0], LOWER_GROWTH)
        case "substring" if len(node.arguments) == 3 and isinstance(node.arguments[2], Literal):
            characters = node.arguments[2].value
            return min(sizes[0], _MOST_BYTES_OF_CHARACTER * max(int(characters or 0), 0))
    return max(sizes)  # least, greatest, substring


def _grown(size: int, growth: tuple[int, int]) -> int:
    most, of = growth
    return -(-size * most // of)


def refused(node: PythonValue) -> UnsupportedError:
    """What is said about a call of Python."""
    return UnsupportedError(
        f"the Python function {node.function} cannot run in native code",
        want="write it in SQL, or as an operator in C++",
    )
