"""What emitted code is: values that may be NULL, conditions, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headway.model.expression_tree import Literal, Logic
from headway.model.schema import DataType

FLOATING = (DataType.FLOAT, DataType.DOUBLE)
_BRACKETS_AND_STRINGS = re.compile(r"""[()]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


@dataclass(frozen=True, slots=True)
class Value:
    """``code`` computes the value, unless one of the names in ``nulls`` is None: then it is NULL.

    An ``atom`` is a name or a constant; if it can be NULL it is itself the name to look at.
    """

    code: str
    nulls: tuple[str, ...] = ()
    atom: bool = False

    @property
    def nullable_code(self) -> str:
        """An expression that gives None for NULL."""
        if self.atom or not self.nulls:
            return self.code
        return f"(None if {any_none(self.nulls)} else {self.code})"


@dataclass(frozen=True, slots=True)
class Test:
    """A Python condition; where it holds, the names in ``sure`` are not None."""

    code: str
    sure: frozenset[str] = frozenset()


NULL = Value("None", ("None",), atom=True)


def guarded(nulls: Iterable[str], code: str, sure: frozenset[str]) -> Test:
    checks = [f"{name} is not None" for name in nulls if name not in sure]
    text = " and ".join([*checks, code] if code else checks) or "True"
    return Test(f"({text})" if checks else text, frozenset(nulls))


def chained(node: Logic, left: Test) -> str:
    """The left condition, without its parentheses in a chain such as a AND b AND c."""
    same = isinstance(node.left, Logic) and node.left.operator == node.operator
    return bare(left.code) if same else left.code


def any_none(names: Iterable[str]) -> str:
    return " or ".join(f"{name} is None" for name in names)


def nulls_of(*values: Value) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for value in values for name in value.nulls))


def literal_code(node: Literal) -> str:
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool) and node.value < 0:
        return f"({node.value!r})"
    return repr(node.value)


def bare(code: str) -> str:
    """The code without parentheses around all of it."""
    if not (code.startswith("(") and code.endswith(")")):
        return code
    depth = 0
    for piece in _BRACKETS_AND_STRINGS.finditer(code):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth == 0:
            return code[1:-1] if piece.end() == len(code) else code
    return code
