"""What Spark's pages show of Headway's jobs and stages: the query, the micro-batch, the output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

_SHOWN = ("spark.job.description", "callSite.short", "callSite.long")
"""of a job and of an SQL execution; of stages, which have the name of their call site"""


@contextmanager
def titled(session: SparkSession, title: str) -> Iterator[None]:
    """Jobs that this thread starts inside bear the title; what was there before comes back. The
    job group stays: by it a streaming query stops its jobs. Nothing on Spark Connect, which has no
    such properties."""
    try:
        context: Any = session.sparkContext
    except (PySparkException, AttributeError):
        yield
        return
    before = {name: context.getLocalProperty(name) for name in _SHOWN}
    for name in _SHOWN:
        context.setLocalProperty(name, title)
    try:
        yield
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)
