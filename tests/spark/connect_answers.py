"""A process that knows Spark through Spark Connect only; says what differs from the meaning.

In one process Spark is either classic or Connect, so the tests start this one:
``python -m tests.spark.connect_answers FOLDER``
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from tests.contract.cases import query_of
from tests.contract.engines import side_of_batch, spark_batch
from tests.contract.examples import recording_of
from tests.contract.random_queries import random_recording
from tests.contract.recordings import differences, meaning, meant_side
from tests.spark.test_library_streams import QUERY, add_file, meant, rows

import headway as hw
from headway.compiler import compile_query
from headway.errors import EnvironmentMissing
from headway.files import parse_query
from headway.spark import batch, stream
from headway.spark.session.java_runtime import java_home

SMALL = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
ASKED = ("filter by a function", "join within a time", "windows of a join", "udo, then windows")


def contract(spark: SparkSession) -> list[str]:
    """Native operators, functions of the user, the engine inside the tasks; what left its way."""
    query = query_of(ASKED, "plain")
    plan = compile_query(query)
    recording = random_recording(random.Random(24), query, vehicles=2, most=20)
    wrong = differences(meaning(plan, recording), spark_batch(spark, plan, recording))
    if side_of_batch(spark, plan, recording) != meant_side(plan, recording):
        wrong.append("the side outputs differ")
    return wrong


def library(spark: SparkSession) -> list[str]:
    """Users' own way in, and the front door."""
    q = hw.QueryBuilder("q")
    speed = q.source("speed", {"v": "double", "n": "int"})
    q.output("ratio", speed.map("m", {"x": "v / n"}), deadline="1 s")
    data = spark.createDataFrame([(10_000, 3.0, 2), (20_000, 3.0, 0)],
                                 "timestamp long, v float, n short")  # fmt: skip
    with batch(q, {"speed": data}) as outputs:
        mine = sorted((row.x for row in outputs["ratio"].collect()), key=str)
        told = [] if mine == [1.5, None] else [f"headway.spark's batch gave {mine}"]
    with hw.run(q, {"speed": data}) as result:
        values = result.tables["ratio"].column("x").to_pylist()
        told += [] if values == [1.5, None] else [f"hw.run gave {values}"]
        tuples = [one.tuples for one in result.summary.outputs]
        told += [] if tuples == [2] else [f"hw.run counted {tuples}"]
    return told


def streamed(spark: SparkSession, folder: Path) -> list[str]:
    """A stream without state; all outputs together cannot be started here."""
    query = parse_query(QUERY).query
    plan = compile_query(query)
    recording = recording_of(query, random.Random(11), steps=60)
    add_file(plan, recording, folder / "speed", 0)
    schema = spark.read.parquet(str(folder / "speed")).schema
    speed = spark.readStream.schema(schema).parquet(str(folder / "speed"))
    outputs = stream(query, {"speed": speed})
    one = outputs["ratio"].writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    one.trigger(availableNow=True).start(str(folder / "out")).awaitTermination()
    expected = meant(plan, recording, "ratio")
    wrong = differences(expected, rows(folder / "out", plan, "ratio"))
    try:
        outputs.start(output=folder / "all", checkpoint=folder / "others")
    except EnvironmentMissing as missing:
        if "through Spark Connect nobody can commit micro-batches" not in str(missing):
            wrong.append(f"refused for another reason: {missing}")
    else:
        wrong.append("all outputs were started")
    return wrong + (["a refused stream left a folder"] if (folder / "all").exists() else [])


def main(folder: Path) -> None:
    os.environ["JAVA_HOME"] = str(java_home())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Spark's own word for: take a port that is free.
    os.environ["SPARK_TESTING"] = "1"
    builder = SparkSession.builder.remote("local[2]")
    for key, value in SMALL.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        told = [f"by {type(spark).__module__}", *library(spark), *contract(spark)]
        told += [*streamed(spark, folder), "all was asked"]
        sys.stdout.write("\n".join(told) + "\n")
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
