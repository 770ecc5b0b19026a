"""A query over DataFrames of a user, in a session of theirs, whatever its settings."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import headway as hw
from headway.compiler import compile_query
from headway.errors import DataError, QueryError
from headway.spark import batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

THEIRS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "America/St_Johns",
    "spark.sql.parser.escapedStringLiterals": "true",
    "spark.sql.variable.substitute": "true",
}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    """Of a user's: everything that Headway's SQL could lean on is otherwise."""
    theirs = spark.newSession()
    for name, value in THEIRS.items():
        theirs.conf.set(name, value)
    return theirs


def query() -> hw.QueryBuilder:
    """Of what ends a query in ANSI mode: divisions, casts, sums beyond the range."""
    q = hw.QueryBuilder("q")
    source = q.source("s", {"a": "int", "b": "bigint", "t": "string(4)"}, rate="1 per 10 ms",
                      lateness="1 s")  # fmt: skip
    columns = {
        "ratio": "a / (a - 1)",
        "rest": "b % (a - 1)",
        "whole": "b div (a - 1)",
        "more": "a + 2147483647",
        "most": "b + 9223372036854775807",
        "number": "CAST(t AS int)",
        "text": "'${env:HOME} it''s'",
    }
    q.output("values", source.map("m", columns), deadline="1 s")
    sums = source.aggregate("w", {"total": "sum(b)", "n": "count(*)"}, window="1 s")
    q.output("sums", sums, deadline="1 s")
    return q


ROWS = [(10_000, 0, 7, "3.9"), (20_000, 1, 9223372036854775807, "x"), (30_000, 2, 5, "toolong")]
VALUES = [
    (0.0, 0, -7, 2147483647, -9223372036854775802, 3, "${env:HOME} it's"),
    (None, None, None, -2147483648, -2, None, "${env:HOME} it's"),
]


def given(
    session: SparkSession, columns: str = "timestamp long, a int, b long, t string"
) -> DataFrame:
    return session.createDataFrame(ROWS, columns)


def test_an_ansi_session_gets_the_languages_nulls_and_stays_as_it_is(session: SparkSession) -> None:
    before = {name: session.conf.get(name) for name in THEIRS}
    with batch(query(), {"s": given(session)}) as outputs:
        assert list(outputs) == ["values", "sums"]
        rows = [tuple(row)[2:] for row in outputs["values"].orderBy("timestamp").collect()]
        assert rows == VALUES
        ((total, n),) = outputs["sums"].select("total", "n").collect()
        assert (total, n) == (7 + 9223372036854775807 - 2**64, 2)
        assert [row.where for row in outputs.rejected.collect()] == ["s"]
        assert outputs.late.count() == outputs.failed.count() == outputs.shed.count() == 0
        assert outputs.side.count() == 1
    assert {name: session.conf.get(name) for name in THEIRS} == before == THEIRS


def test_the_front_door_too(session: SparkSession) -> None:
    with hw.run(query(), {"s": given(session)}) as result:
        assert result.tables["values"].column("most").to_pylist() == [row[4] for row in VALUES]
        first = result.tables["values"].column("timestamp")[0].as_py()
    assert first == datetime.fromtimestamp(0.01, UTC)


def test_narrower_types_are_taken(session: SparkSession) -> None:
    """A time without a zone is UTC's, also where the session's clocks skip an hour (2:30 on the
    8th of March 2020 is no time in St. John's)."""
    data = session.sql(
        "SELECT TIMESTAMP_NTZ'2020-03-08 02:30:00.000001' AS timestamp, CAST(3 AS tinyint) AS a,"
        " CAST(7 AS smallint) AS b, 't' AS t"
    )
    with batch(query(), {"s": data}) as outputs:
        (row,) = outputs["values"].selectExpr("unix_micros(timestamp) AS at", "rest").collect()
    wanted = datetime(2020, 3, 8, 2, 30, 0, 1, tzinfo=UTC)
    assert (row.at, row.rest) == (int(wanted.timestamp()) * 1_000_000 + 1, 1)


def test_wider_types_are_named(session: SparkSession) -> None:
    with pytest.raises(DataError, match=r"a column has the wrong type.* got bigint; want int"):
        batch(query(), {"s": given(session, "timestamp long, a long, b long, t string")})


def test_a_query_is_a_path_a_builder_a_query_or_a_plan(
    session: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "query.yaml"
    path.write_text(
        "query: q\nsources: {s: {schema: {a: int}}}\n"
        "operators: {f: {filter: a > 0, from: s}}\noutputs: {out: {from: f, deadline: 1 s}}\n"
    )
    q = hw.QueryBuilder("q")
    q.output("out", q.source("s", {"a": "int"}).filter("f", "a > 0"), deadline="1 s")
    plan = compile_query(q.build())
    data = given(session).select("timestamp", "a")
    for one in (path, str(path), q, q.build(), plan, hw.compile(q)):
        with batch(one, {"s": data}) as outputs:
            assert sorted(row.a for row in outputs["out"].collect()) == [1, 2]
    with pytest.raises(QueryError, match="this is no query; got int"):
        batch(3, {"s": data})  # type: ignore[arg-type]
