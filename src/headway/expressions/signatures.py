"""How a function's arguments decide in which types it is computed and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.errors import ExpressionError
from headway.expressions.parts import Part, common_type, require
from headway.expressions.typing_rules import INTEGRAL, NUMERIC
from headway.model.expression_tree import Literal
from headway.model.schema import DataType


@dataclass(frozen=True, slots=True)
class Types:
    """The types the arguments are cast to, and the type of the result."""

    arguments: tuple[DataType, ...]
    result: DataType


Rule = Callable[[str, Sequence[Part]], Types]


@dataclass(frozen=True, slots=True)
class Count:
    """How many arguments there may be; ``most`` None is any number from ``least`` on."""

    least: int
    most: int | None

    def accepts(self, count: int) -> bool:
        return count >= self.least and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} or more arguments"
        numbers = str(self.least) if self.least == self.most else f"{self.least} or {self.most}"
        return f"{numbers} argument{'' if self.most == 1 else 's'}"


@dataclass(frozen=True, slots=True)
class Signature:
    count: Count
    rule: Rule


def fixed(result: DataType, *kinds: DataType, optional: int = 0) -> Signature:
    """One type per argument; a double takes any number and a bigint takes an int."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        for part, kind in zip(parts, kinds, strict=False):
            require(part, _fitting(kind), name, _FITTING_WORDS.get(kind, f"a {kind.value}"))
        return Types(kinds[: len(parts)], result)

    return Signature(Count(len(kinds) - optional, len(kinds)), rule)


def doubles(count: int) -> Signature:
    """Numbers in, computed in double."""
    return fixed(DataType.DOUBLE, *[DataType.DOUBLE] * count)


def same_number() -> Signature:
    """A number in, the same type out."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        require(parts[0], NUMERIC, name, "a number")
        kind = parts[0].type or DataType.DOUBLE
        return Types((kind,), kind)

    return Signature(Count(1, 1), rule)


def to_whole() -> Signature:
    """A number in, a bigint out."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        require(parts[0], NUMERIC, name, "a number")
        kind = DataType.BIGINT if parts[0].type in INTEGRAL else DataType.DOUBLE
        return Types((kind,), DataType.BIGINT)

    return Signature(Count(1, 1), rule)


def rounding() -> Signature:
    """A number and perhaps a constant count of digits; float is rounded in double."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        require(parts[0], NUMERIC, name, "a number")
        for digits in parts[1:]:
            node = digits.node
            if not (isinstance(node, Literal) and node.type is DataType.INT):
                raise ExpressionError(
                    f"{name} takes a constant count of digits", offset=digits.offset
                )
            if not (isinstance(node.value, int) and -18 <= node.value <= 18):
                raise ExpressionError(f"{name} rounds to -18 to 18 digits", offset=digits.offset)
        integral = parts[0].type if parts[0].type in INTEGRAL else None
        kind = integral or DataType.DOUBLE
        return Types((kind, DataType.INT)[: len(parts)], kind)

    return Signature(Count(1, 2), rule)


def alike(least: int) -> Signature:
    """Any number of arguments of a common type, which is also the result's."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        kind = common_type(parts, name)
        if kind is None:
            raise ExpressionError(f"{name} of nothing but NULL has no type", offset=parts[0].offset)
        return Types((kind,) * len(parts), kind)

    return Signature(Count(least, None), rule)


def strings(least: int) -> Signature:
    """Any number of strings, giving a string."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        for part in parts:
            require(
                part, frozenset({DataType.STRING}), name, "strings; CAST(… AS string) makes one"
            )
        return Types((DataType.STRING,) * len(parts), DataType.STRING)

    return Signature(Count(least, None), rule)


def any_argument(result: DataType) -> Signature:
    def rule(name: str, parts: Sequence[Part]) -> Types:
        return Types((parts[0].type or DataType.BOOLEAN,), result)

    return Signature(Count(1, 1), rule)


def same_type() -> Signature:
    """Anything in, the same type out."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        kind = parts[0].type or DataType.DOUBLE
        return Types((kind,), kind)

    return Signature(Count(1, 1), rule)


def summed() -> Signature:
    """A number in; whole numbers are summed as bigint, others as double."""

    def rule(name: str, parts: Sequence[Part]) -> Types:
        require(parts[0], NUMERIC, name, "a number")
        kind = DataType.BIGINT if parts[0].type in INTEGRAL else DataType.DOUBLE
        return Types((kind,), kind)

    return Signature(Count(1, 1), rule)


_FITTING_WORDS = {
    DataType.DOUBLE: "a number",
    DataType.BIGINT: "a whole number",
    DataType.INT: "an int",
}


def _fitting(kind: DataType) -> frozenset[DataType]:
    if kind is DataType.DOUBLE:
        return NUMERIC
    return INTEGRAL if kind is DataType.BIGINT else frozenset({kind})
