"""What the files of a pipeline's project call: the datasets of a plan as DataFrames.

Spark evaluates the functions of a pipeline to learn the graph of its datasets, and refuses there
whatever would look at data: asking a DataFrame for its columns already does, through Spark Connect.
So :class:`PipelineQuery` looks at the sources when it is made, outside of the functions, and builds
there what Connect cannot build blindly (``mapInArrow`` asks for columns); :meth:`dataset` then
only puts columns together.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.compiler.read_plan import read_plan
from headway.errors import DataError, InputError
from headway.model.graph import Graph
from headway.model.operator_kinds import SPARK_BATCH
from headway.model.query import Source
from headway.model.schema import VEHICLE_COLUMN
from headway.spark.lowering.drops import with_marks
from headway.spark.lowering.engine_region import exits, run_region
from headway.spark.lowering.frames import LATE, StreamFrame
from headway.spark.lowering.given_sources import as_source, order_of
from headway.spark.lowering.native_operators import lower_operator
from headway.spark.lowering.regions import part_giving
from headway.spark.pipelines.pipeline_datasets import (
    Content,
    Dataset,
    DatasetKind,
    PipelinePart,
    pipeline_parts,
)
from headway.spark.pipelines.pipeline_sources import read_source
from headway.yaml_tree import read_text

PLAN = "plan.json"
MODULES = "modules"
"""the user's own modules that the query names, in the project's folder"""


class PipelineQuery:
    """The plan of a project, over sources that are given by :meth:`recorded` and :meth:`arriving`
    before the first dataset is asked for."""

    def __init__(self, spark: SparkSession, project: Path) -> None:
        self._spark = spark
        modules = str(project / MODULES)
        if (project / MODULES).is_dir() and modules not in sys.path:
            sys.path.append(modules)
        self.plan = read_plan(read_text(project / PLAN), str(project / PLAN))
        self._parts = {part.kind: part for part in pipeline_parts(self.plan)}
        self._sources: dict[DatasetKind, dict[str, DataFrame]] = {kind: {} for kind in DatasetKind}
        self._engine: DataFrame | None = None

    # ---------------------------------------------------------------- sources

    def files(self, source: str, folder: str) -> DataFrame:
        """All that a recording has of a source."""
        return read_source(self._spark, folder, self._source(source), streaming=False)

    def new_files(self, source: str, folder: str) -> DataFrame:
        """The same as a stream: each file once."""
        return read_source(self._spark, folder, self._source(source), streaming=True)

    def recorded(self, source: str, data: DataFrame) -> None:
        """All tuples of a source, for the materialized views: ``timestamp``, the source's columns,
        and if there are any ``vehicle``, ``arrived_at`` and ``position``."""
        self._give(DatasetKind.MATERIALIZED_VIEW, source, data, streaming=False)

    def arriving(self, source: str, data: DataFrame) -> None:
        """A source as a stream, for the streaming tables."""
        self._give(DatasetKind.STREAMING_TABLE, source, data, streaming=True)

    def _give(self, kind: DatasetKind, source: str, data: DataFrame, *, streaming: bool) -> None:
        if data.isStreaming is not streaming:
            want = "readStream" if streaming else "read"
            raise DataError(
                f"this is {'no' if streaming else 'a'} stream",
                at=f"sources.{source}",
                want=f"take it from spark.{want}",
            )
        given = self._sources[kind]
        one = self._source(source)
        given[source] = as_source(data, one)
        part = self._parts.get(kind)
        if part is not None and self._engine is None and part.graph.sources.keys() <= given.keys():
            self._engine = self._engine_over(part, given)

    def _source(self, name: str) -> Source:
        for source in self.plan.query.sources:
            if source.name == name:
                return source
        known = ", ".join(source.name for source in self.plan.query.sources)
        raise InputError(f"the query has no source {name!r}", want=f"there are {known}")

    # ---------------------------------------------------------------- datasets

    def dataset(self, name: str) -> DataFrame:
        """A dataset of the project, over its sources and the datasets it reads."""
        for part in self._parts.values():
            for dataset in part.datasets:
                if dataset.name == name:
                    return self._data(part, dataset)
        raise InputError(f"the query has no dataset {name!r}", want="write the project again")

    def _data(self, part: PipelinePart, dataset: Dataset) -> DataFrame:
        given = self._sources[part.kind]
        if missing := [source for source in dataset.sources if source not in given]:
            how = "recorded" if part.kind is DatasetKind.MATERIALIZED_VIEW else "arriving"
            raise DataError(
                f"no data for source {missing[0]!r}",
                at=f"dataset {dataset.name}",
                want=f"give it by {how}({missing[0]!r}, …)",
            )
        if dataset.content is Content.ENGINE:
            assert self._engine is not None
            return self._engine
        frame = _Frames(self._spark, part, given, dataset.name).of(dataset.streams[0])
        if dataset.content is Content.OUTPUT:
            return frame.output()
        late = F.col(LATE) if frame.marked else F.lit(False).alias(LATE)
        return frame.data.select(VEHICLE_COLUMN, *frame.names, late)

    def _engine_over(self, part: PipelinePart, given: Mapping[str, DataFrame]) -> DataFrame | None:
        for dataset in part.datasets:
            if dataset.content is Content.ENGINE:
                region = part_giving(part.plan, dataset.streams)
                return run_region(region, dict(given), dataset.streams)
        return None


class _Frames:
    """The streams that one dataset is made of."""

    def __init__(
        self, spark: SparkSession, part: PipelinePart, sources: Mapping[str, DataFrame], name: str
    ) -> None:
        self._spark = spark
        self._part = part
        self._sources = sources
        self._name = name
        self._found: dict[str, StreamFrame] = {}
        self._marked = _marked(part.graph) if part.kind is DatasetKind.MATERIALIZED_VIEW else set()

    def of(self, stream: str) -> StreamFrame:
        if stream not in self._found:
            self._found[stream] = self._frame(stream)
        return self._found[stream]

    def _frame(self, stream: str) -> StreamFrame:
        graph, schemas = self._part.graph, dict(self._part.plan.schemas)
        stored = self._part.stored.get(stream)
        if stored is not None and stored != self._name:
            return self._read(stored, stream)
        if stream in graph.sources:
            source, data = graph.sources[stream], self._sources[stream]
            marked = stream in self._marked
            data = with_marks(data, source, order_of(source)) if marked else data
            return StreamFrame(data, source.schema, marked)
        operator = graph.operators[stream]
        inputs = {port.port: self.of(port.stream) for port in operator.inputs}
        return lower_operator(operator, SPARK_BATCH, inputs, schemas[stream])

    def _read(self, name: str, stream: str) -> StreamFrame:
        dataset = next(one for one in self._part.datasets if one.name == name)
        schemas = {one: dict(self._part.plan.schemas)[one] for one in dataset.streams}
        if self._part.kind is DatasetKind.STREAMING_TABLE:
            return StreamFrame(self._spark.readStream.table(name), schemas[stream])
        data = self._spark.read.table(name)
        if dataset.content is Content.ENGINE:
            return replace(exits(data, schemas)[stream], timed=False)
        return StreamFrame(data, schemas[stream], marked=True)


def _marked(graph: Graph) -> set[str]:
    """The streams of which somebody asks whether a tuple is late."""
    wanted: set[str] = set()
    for name in reversed(graph.order):
        operator = graph.operators[name]
        if operator.traits.drops_late or name in wanted:
            wanted.update(operator.streams)
    return wanted
