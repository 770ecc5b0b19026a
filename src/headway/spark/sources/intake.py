"""What a stream reads: a streaming DataFrame, and the tuples that each of its micro-batches stands
for, in pieces that fit the cluster.

The query that Spark runs reads :attr:`Intake.stream`; inside ``foreachBatch`` each
:class:`Piece` of the batch is computed and committed for itself::

    for piece in intake.pieces(batch, number, mark):     # mark: of the last piece committed, or 0
        step(piece.sources)
        commit(piece.mark, piece.last)

A batch that is repeated gives the same pieces; those up to ``mark`` are left out. A batch without
tuples is one piece of empty DataFrames, so that time can go on in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headway.spark.lowering.engine_region import struct_name
from headway.spark.lowering.frames import SOURCE


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken at a time. ``files_per_batch`` of each source; ``max_rate`` tuples a
    second, of all sources together; ``slots`` is asked for every piece, because executors come and
    go: None asks Spark."""

    files_per_batch: int | None = None
    max_rate: float | None = None
    slots: Callable[[], int] | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """``sources`` have the columns that :func:`~headway.spark.lowering.given_sources.as_source`
    takes. ``mark`` says how much of the batch is done when this is; ``last``: all of it."""

    sources: Mapping[str, DataFrame]
    mark: int
    last: bool


class Intake(Protocol):
    """``stream`` is what the streaming query reads; only :meth:`pieces` knows what is in it."""

    @property
    def stream(self) -> DataFrame: ...

    def pieces(self, batch: DataFrame, number: int, mark: int = 0) -> Iterator[Piece]:
        """Of a micro-batch of ``stream``, those after ``mark``. A piece's DataFrames may be used
        until the next one is asked for."""


class StreamedTuples:
    """Sources that Spark streams tuple by tuple (Kafka, CAN, DataFrames): a batch is one piece."""

    def __init__(self, sources: Mapping[str, DataFrame]) -> None:
        self._names = list(sources)
        frames = list(sources.values())
        self.stream = frames[0] if len(frames) == 1 else reduce(DataFrame.union, _tagged(frames))

    def pieces(self, batch: DataFrame, number: int, mark: int = 0) -> Iterator[Piece]:
        del number
        if mark:
            return
        if len(self._names) == 1:
            yield Piece({self._names[0]: batch}, 1, last=True)
            return
        kept = batch.persist()  # each source would read the batch again
        try:
            found = {
                name: kept.where(F.col(SOURCE) == place).select(f"`{struct_name(place)}`.*")
                for place, name in enumerate(self._names)
            }
            yield Piece(found, 1, last=True)
        finally:
            kept.unpersist()


def _tagged(frames: list[DataFrame]) -> list[DataFrame]:
    """All in the same columns: which source a row is of, and a struct for each of them."""
    structs = [F.struct(*(F.col(f"`{name}`") for name in data.columns)) for data in frames]
    return [
        data.select(
            F.lit(place).alias(SOURCE),
            *(
                (structs[place] if other == place else F.lit(None).cast(their.schema))
                .alias(struct_name(other))
                for other, their in enumerate(frames)
            ),
        )
        for place, data in enumerate(frames)
    ]  # fmt: skip
