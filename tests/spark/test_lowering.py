"""What the lowering asks of its sources, shares between outputs and refuses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from tests.contract.cases import CASES, SOURCES, merged, query_of
from tests.waiting import until

from headway.compiler import compile_query
from headway.engine.operators.operator_base import DropKind
from headway.errors import DataError, UnsupportedError
from headway.model.expression import Column, PythonCall, Sql
from headway.model.graph import graph_of
from headway.model.operators import Filter, Input, Map, UserDefined
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, schema
from headway.model.user_operator import OperatorContext, Row, UserOperator
from headway.spark.batches.batch_run import operator_rows
from headway.spark.batches.lower_batch import lower_batch
from headway.spark.capabilities import Mode, problems, refuse_unsupported
from headway.spark.lowering.regions import keeps_state, region_of
from headway.spark.sources.intake import StreamedTuples
from headway.spark.spark_results import OperatorRows
from headway.spark.storage.locations import Location
from headway.spark.streams.lower_stream import lower_stream, with_heartbeat, without_heartbeat
from headway.spark.streams.micro_batches import GroupWork, MicroBatches, StreamBounds
from headway.spark.streams.ways import PLAIN_JOBS, DirectWay

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "vehicle string, timestamp timestamp, arrived_at timestamp, k int, v double"


class Counting(UserOperator):
    """Keeps a count and tells nobody."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self.count = 0

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return ()


def plain_filter(columns: str = "v > 0", **fields: str) -> Query:
    return Query(
        name="q",
        sources=(Source(name="s", schema=schema(**(fields or {"k": "int", "v": "double"}))),),
        steps=(Filter(name="f", inputs=(Input("input", "s"),), where=Sql(columns)),),
        outputs=(Output(name="out", stream="f", deadline=SECOND),),
    )


# -------------------------------------------------------------------- what is native


def test_what_needs_no_order_is_native() -> None:
    for name, operators in CASES.items():
        region = region_of(graph_of(merged([(name, operators)], SOURCES["plain"])))
        words = ("udo", "fusion", "timeout", "join by a", "distinct", "sample")
        ordered = any(word in name for word in words)
        assert bool(region.streams) == ordered, name


def test_after_the_region_it_is_native_again() -> None:
    graph = graph_of(query_of(["udo, then windows"], "plain"))
    assert region_of(graph).exits == ("c0_x",), "the windows are Spark's"


def test_a_shedder_alone_is_a_region() -> None:
    graph = graph_of(query_of(["tumbling windows"], "shed"))
    assert region_of(graph).exits == ("s0",)


def test_a_stream_keeps_all_state_in_the_engine() -> None:
    graph = graph_of(query_of(["windows of a join", "filter"], "plain"))
    assert region_of(graph, keeps_state).exits == ("c0_x",)


# -------------------------------------------------------------------- sources


def test_a_missing_source_is_named(spark: SparkSession) -> None:
    with pytest.raises(DataError, match="no data for source 's'; got data for t"):
        lower_batch(compile_query(plain_filter()), {"t": spark.createDataFrame([], COLUMNS)})


def test_columns_are_checked_before_anything_runs(spark: SparkSession) -> None:
    data = spark.createDataFrame([], "timestamp timestamp, k bigint")
    with pytest.raises(DataError) as error:
        lower_batch(compile_query(plain_filter()), {"s": data})
    assert str(error.value).splitlines() == [
        "sources.s: column 'k'; got bigint; want int",
        "sources.s: column 'v' is missing; got the columns timestamp, k; want double",
    ]


def test_without_vehicle_and_arrival(spark: SparkSession) -> None:
    data = spark.sql("SELECT timestamp_micros(5) AS timestamp, 1 AS k, 2D AS v")
    with lower_batch(compile_query(plain_filter()), {"s": data}) as outputs:
        (row,) = outputs["out"].selectExpr("vehicle", "unix_micros(timestamp)", "k", "v").collect()
    assert tuple(row) == ("", 5, 1, 2.0)


def test_tuples_that_do_not_fit_are_left_out(spark: SparkSession) -> None:
    """As the vehicle engine rejects them at its entrance: bytes are counted, not letters."""
    texts = "VALUES ('abc'), ('äb'), ('äbc'), (NULL)"
    data = spark.sql(f"SELECT timestamp_micros(5) AS timestamp, col1 AS t FROM ({texts})")
    none = spark.sql("SELECT CAST(NULL AS timestamp) AS timestamp, 'a' AS t")
    plan = compile_query(plain_filter("true", t="string(3)"))
    with lower_batch(plan, {"s": data.union(none)}) as outputs:
        assert {row.t for row in outputs["out"].collect()} == {"abc", "äb", None}


# -------------------------------------------------------------------- shared work


def plan_text(data: DataFrame) -> str:
    return str(data._jdf.queryExecution().toString())


def test_a_shared_region_is_computed_once(spark: SparkSession) -> None:
    query = query_of(["udo", "udo, gathering all", "filter"], "plain")
    data = {source.name: spark.createDataFrame([], COLUMNS) for source in query.sources}
    with lower_batch(compile_query(query), data) as outputs:
        assert len(outputs.kept) == 1
        assert "InMemoryRelation" in plan_text(outputs["c0_x"])
        assert "InMemoryRelation" in plan_text(outputs["c1_x"])
        assert "InMemoryRelation" not in plan_text(outputs["c2_x"]), "reads its source"
    assert outputs.kept == []


def test_nothing_is_kept_for_one_output(spark: SparkSession) -> None:
    query = query_of(["windows of a join"], "plain")
    data = {source.name: spark.createDataFrame([], COLUMNS) for source in query.sources}
    assert lower_batch(compile_query(query), data).kept == []


def fresh_and_late(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Tuples of which none can be late, and the same of which all may be."""
    fresh = spark.sql(
        "SELECT 'a' AS vehicle, timestamp_micros(id * 10) AS timestamp, "
        "timestamp_micros(id * 10 + 3) AS arrived_at, CAST(id AS int) AS k, 1D AS v FROM range(9)"
    )
    late = fresh.selectExpr(
        "vehicle", "timestamp", "arrived_at + INTERVAL 1 SECOND AS arrived_at", "k", "v"
    )
    return fresh, late


def test_marks_are_spared_where_nobody_can_be_late(spark: SparkSession) -> None:
    plan = compile_query(query_of(["tumbling windows"], "plain"))
    fresh, late = fresh_and_late(spark)
    assert "Window" not in plan_text(lower_batch(plan, {"s0": fresh})["c0_x"])
    assert "Window" in plan_text(lower_batch(plan, {"s0": late})["c0_x"])


def test_a_window_that_sees_all_tuples_looks_for_late_ones_itself(spark: SparkSession) -> None:
    plan = compile_query(query_of(["tumbling windows"], "plain"))
    for data, holds in zip(fresh_and_late(spark), (True, False), strict=True):
        lowered = lower_batch(plan, {"s0": data}, watch=True)
        assert "Window" not in plan_text(lowered["c0_x"])
        lowered["c0_x"].collect()
        assert lowered.holds("c0_x") is holds


def test_nobody_watches_a_source_that_others_read_too(spark: SparkSession) -> None:
    plan = compile_query(query_of(["tumbling windows", "filter"], "plain"))
    _, late = fresh_and_late(spark)
    with lower_batch(plan, {"s0": late}, watch=True) as lowered:
        assert "Window" in plan_text(lowered["c0_x"])


def test_a_join_is_by_equal_slices_of_time(spark: SparkSession) -> None:
    query = query_of(["join without keys"], "plain")
    data = {source.name: spark.createDataFrame([], COLUMNS) for source in query.sources}
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        text = plan_text(lower_batch(compile_query(query), data, look_for_late=False)["c0_x"])
    finally:
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    assert "SortMergeJoin" in text
    assert "CartesianProduct" not in text
    assert "NestedLoop" not in text


# -------------------------------------------------------------------- refused


def test_names_that_spark_confuses_are_refused() -> None:
    plan = compile_query(plain_filter("v > 0", v="double", V="double"))
    with pytest.raises(UnsupportedError) as error:
        refuse_unsupported(plan, Mode.BATCH)
    assert str(error.value).splitlines()[0] == (
        "s.v: 'v' is not supported on Spark (batch): it is a column that differs from another in "
        "capitals only, and Spark does not tell such names apart; rename one of them"
    )


def test_state_that_would_be_lost_is_refused_in_a_stream() -> None:
    query = plain_filter()
    operator = UserDefined(
        name="f",
        inputs=(Input("input", "s"),),
        implementation="tests.spark.test_lowering:Counting",
        schema=schema(k="int"),
    )
    plan = compile_query(replace(query, steps=(operator,)))
    assert problems(plan, Mode.BATCH) == []
    with pytest.raises(UnsupportedError, match=r"Counting.* lost between micro-batches; define"):
        refuse_unsupported(plan, Mode.STREAM)


# -------------------------------------------------------------------- streams


def test_a_silent_source_is_waited_for_no_longer_than_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Of two sources one is silent: its partners' timeouts must still come, by the clock."""
    query = query_of(["join with a timeout"], "plain")
    for source, rows in (("s0", "VALUES (1000, 1), (3000, 2)"), ("s1", "VALUES (0, 9)")):
        numbered = f"SELECT CAST(col1 AS bigint) AS t, col2 AS k FROM ({rows})"
        spark.sql(
            "SELECT 'a' AS vehicle, timestamp_micros(t) AS timestamp, k, 1D AS v,"
            f" timestamp_micros(t) AS arrived_at FROM ({numbered})"
        ).coalesce(1).write.parquet(str(tmp_path / source))
    session = spark.newSession()
    for key, value in PLAIN_JOBS.items():
        session.conf.set(key, value)
    work = GroupWork(
        name="live",
        plan=compile_query(query),
        began=0,
        output=Location.of(tmp_path / "output"),
        checkpoint=Location.of(tmp_path / "checkpoint"),
        sides={kind.value: f"{kind}.parquet" for kind in DropKind},
        bounds=StreamBounds(hold=50 * MILLISECOND),
    )
    batches = MicroBatches(session, work, DirectWay(session, work))
    batches.take_up()
    intake = StreamedTuples(
        {
            source: session.readStream.schema(COLUMNS).parquet(str(tmp_path / source))
            for source in ("s0", "s1")
        }
    )

    def take(batch: DataFrame, number: int) -> None:
        batches.run(without_heartbeat(batch), number, intake)

    def keys() -> list[int]:
        files = (tmp_path / "output" / "c0_x.parquet").glob("batch*.parquet")
        return sorted(k for path in files for k in pq.read_table(path)["k"].to_pylist())

    running = with_heartbeat(intake.stream).writeStream.foreachBatch(take)
    query_run = running.option("checkpointLocation", str(tmp_path / "queries")).start()
    try:
        until(lambda: len(keys()) >= 3 or not query_run.isActive, every=0.2)
    finally:
        query_run.stop()
    assert keys() == [1, 2, 9]


# -------------------------------------------------------------------- computed once


def counted(value: float | None, place: str) -> float | None:
    """Leaves a mark for each call, whichever process makes it."""
    with Path(place).open("a", encoding="utf-8") as marks:
        marks.write("x")
    if value == 3.0:
        raise ValueError("three")
    return value


def test_what_outputs_share_is_computed_once(spark: SparkSession, tmp_path: Path) -> None:
    """Two outputs and the side outputs ask for what one function gives."""
    call = PythonCall("tests.spark.test_lowering:counted", ("v", "place"), DataType.DOUBLE)
    shared = Map(name="shared", inputs=(Input("input", "s"),), columns=(Column("v", call),))
    halves = [
        Filter(name=name, inputs=(Input("input", "shared"),), where=Sql(where))
        for name, where in (("low", "v < 5"), ("high", "v >= 5"))
    ]
    query = Query(
        name="q",
        sources=(Source(name="s", schema=schema(v="double", place="string")),),
        steps=(shared, *halves),
        outputs=tuple(Output(name=n, stream=n, deadline=SECOND) for n in ("low", "high")),
    )
    marks = tmp_path / "marks"
    rows = spark.range(10).selectExpr(
        "timestamp_micros(id) AS timestamp", "CAST(id AS double) AS v", f"'{marks}' AS place"
    )
    with lower_batch(compile_query(query), {"s": rows}) as lowered:
        assert lowered["low"].count() == 4
        assert lowered["high"].count() == 5
        assert [row["reason"] for row in lowered.side.select("reason").collect()] == [
            f"operator 'shared': ValueError: three; got row (3, 3.0, '{marks}')"
        ]
    assert len(marks.read_text()) == 10 + 1, "each tuple once, and the one that failed to say why"


def test_a_stream_reads_a_source_once_for_several_outputs(
    spark: SparkSession, tmp_path: Path
) -> None:
    base = plain_filter()
    query = replace(
        base,
        steps=(
            *base.steps,
            Map(name="m", inputs=(Input("input", "f"),), columns=(Column("w", Sql("v * 2")),)),
            Filter(name="g", inputs=(Input("input", "f"),), where=Sql("v > 5")),
        ),
        outputs=tuple(Output(name=n, stream=n, deadline=SECOND) for n in ("f", "m", "g")),
    )
    data = spark.readStream.schema(COLUMNS).parquet(str(tmp_path))
    lowered = lower_stream(compile_query(query), {"s": data}).data
    assert lowered._jdf.queryExecution().analyzed().toString().count("StreamingRelation") == 1


# -------------------------------------------------------------------- counted


def test_what_goes_into_and_out_of_operators_is_counted(spark: SparkSession) -> None:
    plan = compile_query(plain_filter())
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [("a", moment, moment, n, float(n - 2)) for n in range(5)]
    with lower_batch(plan, {"s": spark.createDataFrame(rows, COLUMNS)}) as lowered:
        counted = lowered.rows()
    assert counted == {"s": 5, "f": 2}
    graph = graph_of(plan.query)
    assert operator_rows(graph, counted) == (OperatorRows("s", 5, 5), OperatorRows("f", 5, 2))
    assert operator_rows(graph, {"f": 2}) == (
        OperatorRows("s", None, None),
        OperatorRows("f", None, 2),
    ), "what the engine computes inside is not known"
