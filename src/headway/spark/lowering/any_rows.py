"""Whether there are tuples of some kind at all: asked before work that only they need.

Late tuples, tuples that do not fit, tuples young enough to be judged: nearly always there are none.
A question is a filter that stops at the first tuple it finds. Where files keep the least and the
greatest value of a column, Spark answers from these and reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def not_empty(asked: Mapping[str, DataFrame]) -> set[str]:
    """The names of those that have a row; one job for all."""
    found: DataFrame | None = None
    for name, data in asked.items():
        first = data.select(F.lit(name).alias("name")).limit(1)
        found = first if found is None else found.union(first)
    return set() if found is None else {row["name"] for row in found.collect()}
