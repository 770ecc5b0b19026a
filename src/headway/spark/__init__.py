"""Headway's plans on Apache Spark: the only package that imports pyspark.

For users of Spark there are two functions, ``batch`` and ``stream``: a query over their own
DataFrames, in their own session (:mod:`headway.spark.own_dataframes`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.lazily import fetching

if TYPE_CHECKING:
    from headway.spark.own_dataframes import batch, stream

__all__ = ["batch", "stream"]

if not TYPE_CHECKING:
    __getattr__ = fetching(__name__, {"headway.spark.own_dataframes": __all__})
