"""What is refused, in which words, and where in the text."""

from __future__ import annotations

import pytest
from tests.expressions.columns import JOIN, ROW, WINDOW

from headway.errors import ExpressionError
from headway.expressions.check import NUMERIC, check
from headway.expressions.scope import Scope
from headway.model.expression import Sql
from headway.model.schema import DataType


def refused(text: str, scope: Scope = ROW, **options: object) -> tuple[str, int | None]:
    with pytest.raises(ExpressionError) as caught:
        check(Sql(text), scope, **options)  # type: ignore[arg-type]
    return str(caught.value), caught.value.problems[0].offset


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        # names
        ("1 + sped", "unknown column 'sped'; did you mean 'speed'?", 4),
        ("Speed > 1", "unknown column 'Speed'; did you mean 'speed'?", 0),
        (
            "zzz",
            "unknown column 'zzz'; "
            "there are timestamp, speed, distance, heading, id, big, small, name, …",
            0,
        ),
        ("radar.x", "unknown port 'radar'; write 'x' alone: there is only one input", 0),
        ("id > 0 AND\n  sped < 1", "unknown column 'sped'; did you mean 'speed'?", 13),
        ("a.b.c", "'a.b.c' is not a column", 0),
        # types
        ("speed = name", "'=' mixes double and string; make the types agree with CAST", 8),
        ("ok + 1", "'+' takes numbers; strings are joined with ||; got boolean", 0),
        ("1 - name", "'-' takes numbers; got string", 4),
        ("speed div 2", "'div' takes int or bigint; got double", 0),
        ("NOT id", "NOT takes a boolean; got int", 4),
        ("ok AND id", "AND takes a boolean; got int", 7),
        ("IF(id, 1, 2)", "if takes a boolean; got int", 3),
        (
            "CASE id WHEN 1 THEN 'a' ELSE 2 END",
            "CASE mixes string and int; make the types agree with CAST",
            29,
        ),
        ("coalesce(name, 1)", "coalesce mixes string and int; make the types agree with CAST", 15),
        ("id IN (1, 'a')", "IN mixes int and string; make the types agree with CAST", 10),
        ("sqrt(name)", "sqrt takes a number; got string", 5),
        ("name || 1", "concat takes strings; CAST(… AS string) makes one; got int", 8),
        (
            "timestamp - seen",
            "'-' does not work on a timestamp; "
            "compute with unix_micros(…), a bigint in microseconds",
            0,
        ),
        (
            "CAST(speed AS string)",
            "CAST from double to string is not supported; "
            "how one is written differs between Java versions; round to a bigint first",
            5,
        ),
        (
            "CAST(seen AS bigint)",
            "CAST from timestamp to bigint is not supported; "
            "unix_micros(…) gives a bigint in microseconds",
            5,
        ),
        (
            "CAST(id AS decimal(3, 1))",
            "CAST to decimal(3, 1) is not supported; "
            "the types are boolean, int, bigint, float, double, string, timestamp",
            5,
        ),
        ("NULL", "the type of NULL is unknown here; write CAST(NULL AS double)", 0),
        ("coalesce(NULL, NULL)", "the type of NULL is unknown here; write CAST(NULL AS double)", 0),
        ("1e400", "1e400 does not fit a double", 0),
        (
            "1 + 99999999999999999999",
            "99999999999999999999 does not fit a bigint; write it as a double",
            4,
        ),
        # units
        (
            "speed > distance",
            "'>' mixes the units m/s and m; "
            "convert one, and name its new unit: with_unit(…, 'm/s')",
            8,
        ),
        (
            "speed - distance * 2",
            "'-' mixes the units m/s and m; "
            "convert one, and name its new unit: with_unit(…, 'm/s')",
            8,
        ),
        ("sin(heading)", "sin takes an angle in rad; got deg; write sin(radians(…))", 4),
        # functions
        ("1 + sqr(speed)", "unknown function 'sqr'; did you mean 'sqrt'?", 4),
        (
            "zzz(speed)",
            "unknown function 'zzz'; the manual lists the functions there are",
            0,
        ),
        ("abs(id, 3)", "abs takes 1 argument; got 2", 0),
        ("atan2(speed)", "atan2 takes 2 arguments; got 1", 0),
        ("least(id)", "least takes 2 or more arguments; got 1", 0),
        ("substring(name)", "substring takes 2 or 3 arguments; got 1", 0),
        ("nvl(id)", "nvl takes 2 arguments; got 1", 0),
        ("IF(ok, id)", "if takes 3 arguments; got 2", 3),
        ("round(speed, id)", "round takes a constant count of digits", 13),
        ("round(speed, 99)", "round rounds to -18 to 18 digits", 13),
        # aggregates
        (
            "1 < max(speed)",
            "the aggregate max is not allowed here; "
            "aggregates belong in the columns of an aggregate operator",
            4,
        ),
        # what the language lacks
        ("(SELECT 1)", "a subquery is not supported in an expression", 8),
        ("id IN (SELECT 1)", "a subquery is not supported in an expression", 14),
        ("SELECT 1", "a subquery is not supported in an expression", 0),
        ("sum(id) OVER ()", "a window function (OVER) is not supported in an expression", 0),
        ("name LIKE 'a%'", "LIKE is not supported in an expression", 0),
        ("id & 1", "'&' is not supported in an expression", 0),
        ("INTERVAL 1 SECOND", "an interval is not supported in an expression", 0),
        ("id; big", "';' is not supported in an expression", 0),
        ("speed AS v", "an expression has no alias; the column is named outside it", 6),
        # syntax
        ("", "the expression is empty", 0),
        ("speed >", "syntax error: something is missing at '>'", 6),
        ("(speed", "syntax error after 'speed': ')' expected", 1),
        ("id big", "syntax error: unexpected 'big'", 3),
        ("name = 'abc", "syntax error: a ' is not closed", 7),
        ("CASE WHEN ok THEN 1", "syntax error after '1': 'END after CASE' expected", 18),
    ],
)
def test_refused(text: str, message: str, offset: int) -> None:
    assert refused(text) == (message, offset)


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        (
            "speed > 1",
            "column 'speed' is ambiguous; write radar.speed or own.speed",
            0,
        ),
        ("own.id", "port 'own' has no column 'id'; there are timestamp, speed, lane", 4),
        ("rader.id", "unknown port 'rader'; did you mean 'radar'?", 0),
        ("lain", "unknown column 'lain'; did you mean 'own.lane'?", 0),
    ],
)
def test_refused_at_a_join(text: str, message: str, offset: int) -> None:
    assert refused(text, JOIN) == (message, offset)


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        (
            "max(speed) - speed",
            "column 'speed' is neither aggregated nor a grouping key; "
            "write max(speed) or another aggregate, or group by it",
            13,
        ),
        ("max(sum(id))", "the aggregate sum is inside the aggregate max", 4),
        (
            "count(DISTINCT id)",
            "count(DISTINCT …) is not supported; group by the column first, then aggregate",
            15,
        ),
        ("max(*)", "max does not take *", 4),
        ("count(id, big)", "count takes 1 argument; got 2", 0),
        ("max(window_start)", "window_start cannot be used inside max", 4),
        ("sum(name)", "sum takes a number; got string", 4),
        ("window_begin", "unknown column 'window_begin'; did you mean 'window_end'?", 0),
    ],
)
def test_refused_in_an_aggregate(text: str, message: str, offset: int) -> None:
    assert refused(text, WINDOW, aggregates=True, grouping=("id",)) == (message, offset)


def test_the_place_may_want_a_type() -> None:
    assert refused("speed + 1", want=DataType.BOOLEAN) == (
        "the expression must be boolean; got double",
        0,
    )
    assert refused("name", want=NUMERIC) == ("the expression must be a number; got string", 0)


def test_too_much_of_it() -> None:
    too_deep = "the expression is nested too deeply; split it in two"
    assert refused("(" * 2000 + "id" + ")" * 2000)[0] == too_deep
    assert refused(" + ".join(["id"] * 150))[0] == too_deep
    between = "ok"
    for _ in range(20):
        between = f"({between} BETWEEN ok AND ok)"
    assert refused(between)[0] == "the expression is too large; split it in two"
    assert refused("id +" * 5000)[0] == (
        "the expression has 20000 characters; at most 10000 are read"
    )
