"""Executor slots by class: hard outputs get some that soft ones cannot take (ROP-EDF's idea).

A soft query is cut into fewer partitions than there are slots, so that however long its tasks run,
the others are free when a hard batch comes. Each class has a pool of its own in Spark's FAIR
scheduler; within one pool a hard batch would queue behind the soft tasks before it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from headway.spark.settings import CHECKPOINTS, PARTITIONS
from headway.spark.workers import modest_workers

POOL = "spark.scheduler.pool"
_COPIED = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    CHECKPOINTS,
    PARTITIONS,
)
HARD, SOFT = "hard", "soft"
_FEW_FILES = {
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.files.openCostInBytes": str(1 << 20),
    "spark.sql.files.maxPartitionBytes": str(16 << 20),
}
"""for hard outputs: up to sixteen small files are read by one task. A live micro-batch has a few,
and a second task costs it more time than it saves; a large one is still read side by side."""


@dataclass(frozen=True)
class Share:
    """What a class of outputs gets. ``most`` partitions at a time; None: as many as there are.
    ``modest``: its Python workers step back (:mod:`headway.spark.workers`)."""

    pool: str | None
    most: int | None
    modest: bool = False

    def session(self, spark: SparkSession) -> SparkSession:
        """A session of the same Spark whose queries stay within the share."""
        own = spark.newSession()
        for key in _COPIED:
            if (value := spark.conf.get(key, None)) is not None:
                own.conf.set(key, value)
        for key, value in _FEW_FILES.items() if self.pool == HARD else ():
            if not spark.sparkContext.getConf().contains(key):
                own.conf.set(key, value)
        if self.most is not None:
            own.conf.set(PARTITIONS, str(self.most))
        return own

    def capped(self, sources: dict[str, DataFrame]) -> dict[str, DataFrame]:
        if self.most is None:
            return sources
        return {name: data.coalesce(self.most) for name, data in sources.items()}

    def workers(self, spark: SparkSession) -> AbstractContextManager[None]:
        """Functions that are handed to Spark in this block run in workers of the class."""
        return modest_workers(spark) if self.modest else nullcontext()

    def enter(self, spark: SparkSession) -> None:
        """The queries that this thread starts from now on are of this pool."""
        spark.sparkContext.setLocalProperty(POOL, self.pool)  # type: ignore[arg-type]


def reserved(slots: int) -> int:
    """Slots that only hard outputs use."""
    return max(1, slots // 2)


def shares(slots: int, *, any_hard: bool, policy: str) -> dict[bool, Share]:
    """The share of hard (True) and of soft (False) outputs."""
    if policy != "edf":
        return {True: Share(None, None), False: Share(None, None)}
    most = max(1, slots - reserved(slots)) if any_hard and slots > 1 else None
    return {True: Share(HARD, None), False: Share(SOFT, most, modest=any_hard)}
