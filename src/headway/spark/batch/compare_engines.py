"""Both engines over one recording: do they give the same tuples, and how many?

The vehicle engine runs without costs, which is the meaning of the query; Spark runs its batch. The
answers are compared as multisets per vehicle and output. Numbers count as equal when they agree to
nine digits, because a sum of doubles depends on the order of its rows in the last places.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headway.compiler.node_queries import on_one_node
from headway.engine.engine import Engine, replay
from headway.model.plan import Plan
from headway.model.schema import VEHICLE_COLUMN
from headway.sources.recordings import scan_recording
from headway.spark.batch.lower_batch import lower_batch
from headway.spark.lowering.frames import to_plain
from headway.spark.session.spark_failures import translated
from headway.spark.sources.recorded_files import read_batch

DIGITS = 9
Answer = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class OutputAgreement:
    """Tuples of one output: given by both engines, and by one of them only."""

    output: str
    equal: int
    vehicle_only: int
    spark_only: int

    @property
    def holds(self) -> bool:
        return not self.vehicle_only and not self.spark_only


def agreements(spark: SparkSession, plan: Plan, recording: Path) -> list[OutputAgreement]:
    """One for each output."""
    meant = _by_vehicle_engine(plan, recording)
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


def _by_vehicle_engine(plan: Plan, recording: Path) -> dict[str, Answer]:
    plan = on_one_node(plan)
    contents = scan_recording(recording, plan.query.sources)
    answers: dict[str, Answer] = {output.name: Counter() for output in plan.query.outputs}

    def engine() -> Engine:
        return Engine(plan=plan, charged=False, keep_trace=False)

    for vehicle, result in replay(plan, recording, contents, engine):
        for name, record in result.outputs.items():
            answers[name].update(_comparable((vehicle or "", *row)) for row in record.rows)
    return answers


def _by_spark(spark: SparkSession, plan: Plan, recording: Path) -> dict[str, Answer]:
    schemas = dict(plan.schemas)
    answers: dict[str, Answer] = {}
    with translated(), lower_batch(
        plan, read_batch(spark, recording, plan.query.sources)
    ) as lowered:  # fmt: skip
        for output in plan.query.outputs:
            plain = lowered[output.name].select(
                VEHICLE_COLUMN, to_plain(schemas[output.stream]).alias("row")
            )
            table = plain.select(VEHICLE_COLUMN, "row.*").toArrow()
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            answers[output.name] = Counter(map(_comparable, rows))
    return answers


def _comparable(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_near(value) if isinstance(value, float) else value for value in row)


def _near(value: float) -> float | str:
    return "NaN" if math.isnan(value) else float(f"{value:.{DIGITS}g}") + 0.0
