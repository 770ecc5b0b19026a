"""The vehicle engine and Spark's batch over one recording: do they give the same tuples, and how
many? (:mod:`headway.engine.engine_answers`)"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from headway.engine.engine_answers import Answer, comparable, vehicle_answers
from headway.model.plan import Plan
from headway.model.schema import VEHICLE_COLUMN
from headway.spark.batches.lower_batch import lower_batch
from headway.spark.lowering.frames import to_plain
from headway.spark.session.spark_failures import translated
from headway.spark.sources.recorded_files import read_batch


@dataclass(frozen=True)
class OutputAgreement:
    """Tuples of one output: given by both engines, and by one of them only."""

    output: str
    equal: int
    vehicle_only: int
    spark_only: int

    @property
    def other_only(self) -> int:
        return self.spark_only

    @property
    def holds(self) -> bool:
        return not self.vehicle_only and not self.spark_only


def agreements(spark: SparkSession, plan: Plan, recording: Path) -> list[OutputAgreement]:
    """One for each output."""
    meant = vehicle_answers(plan, recording)
    computed = _by_spark(spark, plan, recording)
    return [
        OutputAgreement(
            name,
            equal=(meant[name] & computed[name]).total(),
            vehicle_only=(meant[name] - computed[name]).total(),
            spark_only=(computed[name] - meant[name]).total(),
        )
        for name in meant
    ]


def _by_spark(spark: SparkSession, plan: Plan, recording: Path) -> dict[str, Answer]:
    schemas = dict(plan.schemas)
    answers: dict[str, Answer] = {}
    sources = read_batch(spark, recording, plan.query.sources)
    with translated(), lower_batch(plan, sources, known=sources.known) as lowered:
        for output in plan.query.outputs:
            plain = lowered[output.name].select(
                VEHICLE_COLUMN, to_plain(schemas[output.stream]).alias("row")
            )
            table = plain.select(VEHICLE_COLUMN, "row.*").toArrow()
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            answers[output.name] = Counter(map(comparable, rows))
    return answers
