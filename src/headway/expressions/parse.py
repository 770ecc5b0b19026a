"""Text to syntax tree: sqlglot with Spark's grammar, errors in our own words, positions kept."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from sqlglot import exp, parse_one
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.spark import SparkParser

from headway.errors import ExpressionError, Problem

LONGEST_TEXT = 10_000


class _Dialect(Spark):
    """Spark's grammar without sqlglot's own functions: every call keeps its name, its arguments and
    its place, and the table in ``functions.py`` alone says what exists."""

    class Tokenizer(Spark.Tokenizer):
        # As Spark 4 reads it: '' inside a string is one quote.
        STRING_ESCAPES: ClassVar[list[str]] = [*Spark.Tokenizer.STRING_ESCAPES, "'"]

    class Parser(SparkParser):
        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
            name: SparkParser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST")
        }
        NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}


def parse(text: str) -> exp.Expr:
    """The syntax tree of one SQL expression; ExpressionError with the offset when it is none."""
    if not text.strip():
        raise ExpressionError("the expression is empty", offset=0)
    if len(text) > LONGEST_TEXT:
        raise ExpressionError(
            f"the expression has {len(text)} characters; at most {LONGEST_TEXT} are read"
        )
    try:
        return parse_one(text, read=_Dialect, into=exp.Condition)
    except ParseError as error:
        raise ExpressionError(_syntax_problem(text, error)) from None
    except TokenError:
        raise ExpressionError(_token_problem(text)) from None
    except RecursionError:
        raise ExpressionError(
            "the expression is nested too deeply", want="split it in two", offset=0
        ) from None


def offset_of(node: exp.Expr) -> int:
    """The character where the node's text starts; operators start with their left operand."""
    own = node.meta.get("start")
    if own is not None:
        return int(own)
    return min((int(n.meta["start"]) for n in node.walk() if "start" in n.meta), default=0)


def _syntax_problem(text: str, error: ParseError) -> Problem:
    if not error.errors:
        return Problem("syntax error", offset=0)
    first = error.errors[0]
    found = str(first.get("highlight") or "")
    offset = _offset_of_line(text, int(first["line"] or 1)) + int(first["col"] or 1) - len(found)
    description = str(first.get("description"))
    at_end = not text[offset + len(found) :].strip()
    if description.startswith("Required keyword"):
        return Problem(f"syntax error: something is missing at {found!r}", offset=offset)
    if description.startswith("Expect"):
        expected = re.sub(r"^Expect(ing|ed)\s+", "", description)
        where = f"after {found!r}" if at_end else f"at {found!r}"
        return Problem(f"syntax error {where}: {expected!r} expected", offset=offset)
    if found.upper() == "SELECT":
        return Problem("a subquery is not supported in an expression", offset=offset)
    if found.upper() == "AS":
        return Problem(
            "an expression has no alias", want="the column is named outside it", offset=offset
        )
    return Problem(f"syntax error: unexpected {found!r}", offset=offset)


def _token_problem(text: str) -> Problem:
    for quote in ("'", '"', "`"):
        if text.count(quote) % 2:
            return Problem(f"syntax error: a {quote} is not closed", offset=text.rindex(quote))
    return Problem("syntax error: unreadable text", offset=0)


def _offset_of_line(text: str, line: int) -> int:
    return sum(len(part) for part in text.splitlines(keepends=True)[: line - 1])
