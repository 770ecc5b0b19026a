"""What a stream reads: a streaming DataFrame, and the tuples that each of its micro-batches stands
for, in pieces that fit the cluster.

The query that Spark runs reads :attr:`Intake.stream`; inside ``foreachBatch`` each
:class:`IntakePiece` of the batch is computed and committed for itself::

    for piece in intake.pieces(batch, number, mark):     # mark: of the last piece committed, or 0
        step(piece.sources)
        commit(piece.mark, piece.last)

A batch that is repeated gives the same pieces; those up to ``mark`` are left out. A batch without
tuples is one piece of empty DataFrames, so that time can go on in it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.errors import FileError
from headway.spark.lowering.engine_region import struct_name
from headway.spark.lowering.frames import SOURCE
from headway.spark.session.spark_failures import explained
from headway.spark.session.urgency import slots_of

if TYPE_CHECKING:
    from headway.model.query import Query, Source
    from headway.spark.sources.checked_files import Quarantine, Rejected


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken at a time. ``files_per_batch`` of each source; ``max_rate`` tuples a
    second, of all sources together; ``bytes_per_batch`` of files (None: by the slots). ``slots``
    is asked for every piece, because executors come and go; None: those that Spark has.
    ``spread``: tuples are not brought together by vehicle afterwards, so those of one large file
    are dealt out to all slots."""

    files_per_batch: int | None = None
    max_rate: float | None = None
    bytes_per_batch: int | None = None
    slots: Callable[[], int] | None = None
    spread: bool = False

    def slots_of(self, spark: SparkSession) -> int:
        return slots_of(spark) if self.slots is None else self.slots()


@dataclass(frozen=True, slots=True)
class IntakePiece:
    """``sources`` have the columns that :func:`~headway.spark.lowering.given_sources.in_order`
    takes. ``mark`` says how much of the batch is done when this is; ``last``: all of it.
    ``without_damaged`` reads its files to the end and gives it without those that cannot be read
    so, which are quarantined; None if all can. ``files``: the same tuples as local Parquet files
    of each source, sound by their footers and without misfits; None where it is not so."""

    sources: Mapping[str, DataFrame]
    mark: int
    last: bool
    without_damaged: Callable[[], IntakePiece | None] = lambda: None
    files: Mapping[str, tuple[str, ...]] | None = None


def each_piece(
    intake: Intake, batch: DataFrame, number: int, mark: int, compute: Callable[[IntakePiece], None]
) -> None:
    """Computes what is left of a batch. Damage behind the sound footer of a file shows when Spark
    reads it: then the piece is computed again without the file, so ``compute`` must replace what it
    did before."""
    for given in intake.pieces(batch, number, mark):
        piece: IntakePiece = given
        while True:
            try:
                compute(piece)
                break
            except (PySparkException, Py4JError) as error:
                of_a_file = isinstance(explained(error), FileError)
                rest = piece.without_damaged() if of_a_file else None
                if rest is None:
                    raise
                piece = rest


class StreamInputs(Protocol):
    """Where a run's sources come from."""

    @property
    def identity(self) -> str:
        """What a checkpoint belongs to besides the query."""

    def check(self, query: Query, *, streaming: bool, spark: SparkSession | None = None) -> None:
        """InputError for what cannot be read."""

    def intake(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine,
        rejected: Rejected,
        limits: Limits | None = None,
    ) -> Intake:
        """What there is and what will come, for one streaming query."""


class Intake(Protocol):
    """``stream`` is what the streaming query reads; only :meth:`pieces` knows what is in it."""

    @property
    def stream(self) -> DataFrame: ...

    def pieces(self, batch: DataFrame, number: int, mark: int = 0) -> Iterator[IntakePiece]:
        """Of a micro-batch of ``stream``, those after ``mark``. A piece's DataFrames may be used
        until the next one is asked for."""

    def close(self) -> None:
        """The query stops: nothing waits any longer."""


class Pace:
    """Waits so that no more than ``rate`` tuples a second go on, in the long run; None: never."""

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._free_at = -math.inf
        self._closed = threading.Event()

    @property
    def rows_at_once(self) -> float | None:
        """Those of a second: more would come in bursts."""
        return self._rate

    def wait(self, rows: float) -> None:
        """Until the tuples before these have had their time."""
        if self._rate is None:
            return
        left = self._free_at - self._clock()
        if left > 0:
            self._closed.wait(left)
        self._free_at = max(self._free_at, self._clock()) + rows / self._rate

    def close(self) -> None:
        self._closed.set()


class StreamedTuples:
    """Sources that Spark streams tuple by tuple (Kafka, CAN, DataFrames): a batch is one piece."""

    def __init__(self, sources: Mapping[str, DataFrame], max_rate: float | None = None) -> None:
        self._names = list(sources)
        frames = list(sources.values())
        self.stream = frames[0] if len(frames) == 1 else reduce(DataFrame.union, _tagged(frames))
        self._pace = Pace(max_rate)

    def close(self) -> None:
        self._pace.close()

    def pieces(self, batch: DataFrame, number: int, mark: int = 0) -> Iterator[IntakePiece]:
        del number
        if mark:
            return
        if (most := self._pace.rows_at_once) is not None:
            self._pace.wait(most)  # the source gives no more in a batch
        if len(self._names) == 1:
            yield IntakePiece({self._names[0]: batch}, 1, last=True)
            return
        kept = batch.persist()  # each source would read the batch again
        try:
            found = {
                name: kept.where(F.col(SOURCE) == place).select(f"`{struct_name(place)}`.*")
                for place, name in enumerate(self._names)
            }
            yield IntakePiece(found, 1, last=True)
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
