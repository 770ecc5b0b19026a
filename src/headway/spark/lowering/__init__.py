"""Operators as native columns and joins of Spark, one function an operator.

An operator is in ``LOWER`` if Spark can compute it from its input tuples and their marks alone,
in whatever order they come. What needs the order of arrival or timers runs in the engine
(:mod:`headway.spark.lowering.region`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headway.model.schema import Schema
from headway.spark.lowering.aggregate import lower_aggregate
from headway.spark.lowering.frame import Frame
from headway.spark.lowering.join import lower_join
from headway.spark.lowering.rows import lower_filter, lower_map, lower_union

Lower = Callable[[Any, Mapping[str, Frame], Schema], Frame]
"""(operator, its inputs by port, the schema of its output) -> its output"""

LOWER: dict[str, Lower] = {
    "filter": lower_filter,
    "map": lower_map,
    "union": lower_union,
    "join": lower_join,
    "aggregate": lower_aggregate,
}

__all__ = ["LOWER", "Frame", "Lower"]
