"""A text in a query is that text: Spark puts neither its environment nor its settings into it."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.engines import spark_batch, spark_stream
from tests.contract.recordings import Recording, Tuple, meaning

import headway as hw
from headway.compiler import compile_query
from headway.spark.session.spark_session import MEANT, session_conf
from headway.spark.session.urgency import shares

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SUBSTITUTE = "spark.sql.variable.substitute"
ESCAPES = "spark.sql.parser.escapedStringLiterals"
TEXTS = {
    "home": "${env:HOME}",
    "app": "${spark.app.name}",
    "system": "${system:user.name}",
    "bare": "${hiveconf:x} $ {y} $${z}",
    "escaped": "\\${env:HOME} \\$\\{env:HOME}",
}
ROW = tuple(TEXTS.values())


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\") + "'"


def query() -> hw.QueryBuilder:
    q = hw.QueryBuilder("texts")
    source = q.source("s", {"v": "double"}, rate="1 per 10 ms")
    texts = source.map("m", {name: quoted(text) for name, text in TEXTS.items()})
    kept = texts.filter("f", f"home = {quoted(TEXTS['home'])}")
    q.output("out", kept, deadline="1 s")
    return q


def recording() -> Recording:
    return Recording(tuple(Tuple("a", "s", at, (at, 1.0)) for at in (10_000, 20_000)))


def test_texts_are_the_same_in_the_car_in_batch_and_as_a_stream(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = compile_query(query().build())
    meant = meaning(plan, recording())
    assert [row[1:] for _, _, row in meant] == [ROW, ROW]
    assert spark_batch(spark, plan, recording()) == meant
    assert spark_stream(spark, plan, recording(), tmp_path, random.Random(1)) == meant


@pytest.mark.parametrize("set_otherwise", [SUBSTITUTE, ESCAPES])
def test_in_a_session_of_the_users(spark: SparkSession, set_otherwise: str) -> None:
    """Whatever its settings are, they are so afterwards too."""
    before = str(spark.conf.get(set_otherwise))
    spark.conf.set(set_otherwise, "true")
    try:
        frame = spark.createDataFrame([(10_000, 1.0)], "timestamp long, v double")
        with hw.run(query(), {"s": frame}) as result:
            (row,) = result.tables["out"].select(list(TEXTS)).to_pylist()
            (lazily,) = result.dataframes["out"].select(*TEXTS).collect()
        assert row == lazily.asDict() == TEXTS
        assert spark.conf.get(set_otherwise) == "true"
    finally:
        spark.conf.set(set_otherwise, before)


def test_literals_do_not_lean_on_the_setting(spark: SparkSession) -> None:
    """A user's own settings win over Headway's, and still nothing is put into texts."""
    plan = compile_query(query().build())
    spark.conf.set(SUBSTITUTE, "true")
    try:
        assert spark_batch(spark, plan, recording()) == meaning(plan, recording())
    finally:
        spark.conf.set(SUBSTITUTE, "false")


def test_substitution_is_off_in_every_session(spark: SparkSession) -> None:
    assert session_conf("yarn", {})[SUBSTITUTE] == session_conf("local", {})[SUBSTITUTE] == "false"
    for share in shares(any_hard=True, policy="edf").values():
        own = share.session(spark)
        assert {name: own.conf.get(name) for name in MEANT} == MEANT
