"""The contract is only worth something if a wrong lowering breaks it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from tests.contract.cases import query_of
from tests.contract.engines import spark_batch
from tests.contract.random_queries import random_recording
from tests.contract.recordings import differences, meaning

from headway.compiler import compile_query
from headway.model.schema import Schema
from headway.spark.batches import lower_batch as plan_module
from headway.spark.lowering import engine_region, native_operators
from headway.spark.lowering.frames import LATE, StreamFrame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Spoil = Callable[[pytest.MonkeyPatch], None]


def nobody_is_late(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        plan_module, "with_marks", lambda data, source, order: data.withColumn(LATE, F.lit(False))
    )


def _instead(
    patch: pytest.MonkeyPatch, name: str, change: Callable[[StreamFrame], StreamFrame]
) -> None:
    right = getattr(native_operators, name)

    def wrong(operator: Any, inputs: Mapping[str, StreamFrame], output: Schema) -> StreamFrame:
        return change(right(operator, inputs, output))

    patch.setattr(native_operators, name, wrong)


def pairs_only_once(patch: pytest.MonkeyPatch) -> None:
    _instead(patch, "lower_join", lambda frame: frame.with_data(frame.data.distinct()))


def windows_without_null(patch: pytest.MonkeyPatch) -> None:
    _instead(
        patch, "lower_aggregate", lambda frame: frame.with_data(frame.data.where("k IS NOT NULL"))
    )


def sources_one_after_the_other(patch: pytest.MonkeyPatch) -> None:
    """The engine in the tasks gets its tuples source by source, not as they arrived."""
    patch.setattr(engine_region, "arrival_order", lambda count: ["#source", "#at", "#position"])


WRONG: dict[Spoil, tuple[str, ...]] = {
    nobody_is_late: ("tumbling windows",),
    pairs_only_once: ("join without keys", "join of a stream with itself"),
    windows_without_null: ("sliding windows",),
    sources_one_after_the_other: ("udo, gathering all",),
}


@pytest.mark.parametrize("spoil", WRONG)
def test_a_wrong_lowering_is_caught(
    spark: SparkSession, spoil: Spoil, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = query_of(WRONG[spoil], "plain")
    plan, recording = compile_query(query), random_recording(random.Random(24), query, most=40)
    spoil(monkeypatch)
    assert differences(meaning(plan, recording), spark_batch(spark, plan, recording)) != []
