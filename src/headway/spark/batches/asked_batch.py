"""A batch in a session of the user's: nothing is written, nothing computed before it is asked for,
and no setting of the session is changed. Works through Spark Connect too."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.engine.operators.operator_base import DropKind
from headway.engine.result_tables import SIDE_SCHEMA
from headway.errors import DataError
from headway.model.plan import Plan
from headway.model.query import Source
from headway.model.schema import VEHICLE_COLUMN
from headway.sources.in_memory import ArrowStream, Rows, check_names, given_table, place_of
from headway.sources.parquet_file import arrow_schema
from headway.spark.accounting import Account, now
from headway.spark.batches.lower_batch import Lowered, lower_batch
from headway.spark.lowering.frames import POSITION_COLUMN, conformed
from headway.spark.lowering.side_rows import KIND
from headway.spark.session.spark_failures import translated
from headway.spark.session.spark_session import local_session
from headway.spark.side_files import in_order
from headway.spark.sources.recorded_files import Inputs, Recording
from headway.spark.spark_results import SideCount, SparkRun
from headway.spark.storage.locations import Location


class AskedBatch(Mapping[str, DataFrame]):
    """The outputs of a plan over a folder, over tables, or over DataFrames of one session, by name:
    ``vehicle``, ``timestamp``, the fields. In a ``with`` block, what several outputs need is let go
    of at the end (:meth:`release`)."""

    def __init__(
        self,
        plan: Plan,
        data: Path | Location | Mapping[str, DataFrame | ArrowStream | Rows],
        session: SparkSession | None = None,
    ) -> None:
        self.plan = plan
        self._began, self._clock = now(), time.perf_counter()
        self.session = _session(data, session)
        with translated():
            sources = self._sources(data)
            known = sources.known if isinstance(sources, Recording) else None
            self._lowered: Lowered = lower_batch(plan, sources, known=known)

    def __getitem__(self, output: str) -> DataFrame:
        return self._lowered[output]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lowered)

    def __len__(self) -> int:
        return len(self._lowered)

    # ---------------------------------------------------------------- what left its way

    @property
    def side(self) -> DataFrame:
        """Tuples that left their way, as the vehicle engine lists them: ``kind`` (late, shed,
        failed, rejected), where, when and why."""
        with translated():
            return self._lowered.side

    def _of_kind(self, kind: DropKind) -> DataFrame:
        return self.side.where(F.col(KIND) == kind.value).drop(KIND)

    @property
    def late(self) -> DataFrame:
        """Tuples that came too late for a join or a window."""
        return self._of_kind(DropKind.LATE)

    @property
    def shed(self) -> DataFrame:
        """Tuples that a load shedder left out."""
        return self._of_kind(DropKind.SHED)

    @property
    def failed(self) -> DataFrame:
        """Tuples for which a function of yours raised an exception."""
        return self._of_kind(DropKind.FAILED)

    @property
    def rejected(self) -> DataFrame:
        """Tuples that do not fit the schema of their source."""
        return self._of_kind(DropKind.REJECTED)

    # ---------------------------------------------------------------- computed

    def table(self, output: str) -> Any:
        """An output as Arrow, in order of vehicle and time: timestamp, fields, and ``vehicle``
        where the data has vehicles."""
        (stream,) = (one.stream for one in self.plan.query.outputs if one.name == output)
        wanted = arrow_schema(list(dict(self.plan.schemas)[stream].columns))
        data = self._lowered[output]
        with translated():
            found = data.orderBy(*data.columns).toArrow()
        return _typed(found, wanted)

    def side_table(self, kind: DropKind) -> Any:
        """Tuples that left their way, as the vehicle engine lists them."""
        with translated():
            found = self._of_kind(kind).orderBy("time", "where", "row").toArrow()
        return _typed(found, SIDE_SCHEMA)

    def summary(self) -> SparkRun:
        """Computes all outputs, and counts what left its way."""
        schemas = dict(self.plan.schemas)
        outputs = []
        with translated():
            for output in self.plan.query.outputs:
                account = Account(output, schemas[output.stream], self._began)
                outputs.append(account.measured(account.stamped(self._lowered[output.name])))
            counted = self.side.groupBy(KIND, "where").count().collect()
        side = [SideCount(row[KIND], row["where"], row["count"]) for row in counted]
        seconds = time.perf_counter() - self._clock
        return SparkRun(outputs=tuple(outputs), seconds=seconds, side=in_order(side, self.plan))

    def release(self) -> None:
        """Lets go of what is kept for several outputs."""
        self._lowered.release()

    def __enter__(self) -> AskedBatch:
        return self

    def __exit__(self, *raised: object) -> None:
        self.release()

    def _sources(
        self, data: Path | Location | Mapping[str, DataFrame | ArrowStream | Rows]
    ) -> dict[str, DataFrame]:
        sources = self.plan.query.sources
        if isinstance(data, Path | Location):
            return Inputs(data).read_batch(self.session, sources)
        check_names(data, sources)
        return {source.name: self._source(source, data[source.name]) for source in sources}

    def _source(self, source: Source, given: DataFrame | ArrowStream | Rows) -> DataFrame:
        if not isinstance(given, DataFrame):
            return self.session.createDataFrame(given_table(given, source))
        tied = POSITION_COLUMN in given.columns and POSITION_COLUMN not in source.schema.names
        position = F.col(POSITION_COLUMN) if tied else F.lit(None)
        return conformed(given, source.schema, place_of(source.name), position)


def _typed(found: Any, wanted: Any) -> Any:
    """As the vehicle engine gives it: the zone is UTC, whatever the session's, and who has no name
    is not named."""
    table = found.select(wanted.names).cast(wanted)
    vehicles = found.column(VEHICLE_COLUMN)
    if not pc.any(pc.not_equal(vehicles, "")).as_py():
        return table
    return table.append_column(VEHICLE_COLUMN, vehicles)


def _session(data: object, given: SparkSession | None) -> SparkSession:
    """The DataFrames', else the one that is given, the one that is active, or a new local one."""
    frames = data.values() if isinstance(data, Mapping) else ()
    theirs = [one.sparkSession for one in frames if isinstance(one, DataFrame)]
    if theirs and any(one is not theirs[0] for one in theirs[1:]):
        raise DataError("the DataFrames are of several Spark sessions", at="data",
                                want="take all from one")  # fmt: skip
    if theirs and given is not None and given is not theirs[0]:
        raise DataError("the DataFrames are of another Spark session than spark=",
                                at="data", want="leave out spark=")  # fmt: skip
    if theirs:
        return theirs[0]
    return given or SparkSession.getActiveSession() or local_session()
