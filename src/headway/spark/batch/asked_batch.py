"""A batch in a session of the user's: nothing is written, and nothing computed before it is asked
for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
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
from headway.spark.batch.lower_batch import Lowered, lower_batch
from headway.spark.lowering.frames import POSITION_COLUMN, conformed
from headway.spark.lowering.side_rows import KIND
from headway.spark.session.spark_failures import translated
from headway.spark.session.spark_session import MEANT, local_session
from headway.spark.side_files import in_order
from headway.spark.sources.recorded_files import Inputs
from headway.spark.spark_results import SideCount, SparkRun


class AskedBatch:
    """A plan over a folder, over tables, or over DataFrames of one session."""

    def __init__(
        self,
        plan: Plan,
        data: Path | Mapping[str, DataFrame | ArrowStream | Rows],
        session: SparkSession | None = None,
    ) -> None:
        self.plan = plan
        self._began, self._clock = now(), time.perf_counter()
        self.session = _session(data, session)
        with self._meant():
            self._lowered: Lowered = lower_batch(plan, self._sources(data))

    @property
    def dataframes(self) -> dict[str, DataFrame]:
        """Outputs by name: vehicle, timestamp, fields."""
        return dict(self._lowered)

    def table(self, output: str) -> Any:
        """An output as Arrow, in order of vehicle and time: timestamp, fields, and ``vehicle``
        where the data has vehicles."""
        (stream,) = (one.stream for one in self.plan.query.outputs if one.name == output)
        wanted = arrow_schema(list(dict(self.plan.schemas)[stream].columns))
        data = self._lowered[output]
        with self._meant():
            found = data.orderBy(*data.columns).toArrow()
        return _typed(found, wanted)

    def side_table(self, kind: DropKind) -> Any:
        """Tuples that left their way, as the vehicle engine lists them."""
        with self._meant():
            mine = self._side.where(F.col(KIND) == kind.value).drop(KIND)
            found = mine.orderBy("time", "where", "row").toArrow()
        return _typed(found, SIDE_SCHEMA)

    @cached_property
    def _side(self) -> DataFrame:
        return self._lowered.side

    def summary(self) -> SparkRun:
        """Computes all outputs, and counts what left its way."""
        schemas = dict(self.plan.schemas)
        outputs = []
        with self._meant():
            for output in self.plan.query.outputs:
                account = Account(output, schemas[output.stream], self._began)
                outputs.append(account.measured(account.stamped(self._lowered[output.name])))
            counted = self._side.groupBy(KIND, "where").count().collect()
        side = [SideCount(row[KIND], row["where"], row["count"]) for row in counted]
        seconds = time.perf_counter() - self._clock
        return SparkRun(outputs=tuple(outputs), seconds=seconds, side=in_order(side, self.plan))

    def release(self) -> None:
        """Lets go of what is kept for several outputs."""
        self._lowered.release()

    @contextmanager
    def _meant(self) -> Iterator[None]:
        """A session of the user's may have other settings than Headway's SQL is defined by: they
        are changed while a query is translated, which is when Spark looks at them, and while it is
        read out."""
        conf = self.session.conf
        before = {name: conf.get(name) for name in MEANT}
        for name, value in MEANT.items():
            conf.set(name, value)
        try:
            with translated():
                yield
        finally:
            for name, was in before.items():
                if was is None:
                    conf.unset(name)
                else:
                    conf.set(name, was)

    def _sources(
        self, data: Path | Mapping[str, DataFrame | ArrowStream | Rows]
    ) -> dict[str, DataFrame]:
        sources = self.plan.query.sources
        if isinstance(data, Path):
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
