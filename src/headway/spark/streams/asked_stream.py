"""A stream in a session of the user's: DataFrames where no state is needed, else a query to start.

An output of filters, maps and unions is a streaming DataFrame like any other. What keeps a state
keeps it beside the micro-batches (:mod:`headway.spark.streams.micro_batches`), which a DataFrame
cannot say; such outputs are written by :meth:`AskedStream.start`, as ``DataFrame.writeStream``
would, by a run of the same kind as ``headway run --mode stream``: exactly once, restarted where a
failure passes, into the same files. No setting of the session is changed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.compiler.node_queries import on_one_node
from headway.errors import DataError, EnvironmentMissing, InputError, UnsupportedError
from headway.model.graph import graph_of
from headway.model.operator_kinds import SPARK_STREAM
from headway.model.plan import Plan
from headway.model.quantities import parse_duration
from headway.model.query import Query, Source
from headway.sources.in_memory import check_names, place_of
from headway.spark.batches.batch_sinks import PARQUET_FORMAT, Sink
from headway.spark.batches.lower_batch import given_sources
from headway.spark.capabilities import Mode, refuse_unsupported
from headway.spark.lowering.frames import POSITION_COLUMN, StreamFrame, conformed
from headway.spark.lowering.native_operators import lower_operator
from headway.spark.lowering.regions import part_with
from headway.spark.sources.checked_files import Quarantine, Rejected
from headway.spark.sources.intake import Intake, Limits, StreamedTuples
from headway.spark.spark_results import OutputProgress, SparkRun
from headway.spark.storage.locations import Location
from headway.spark.streams.lower_stream import LoweredKind, kind_of
from headway.spark.streams.run_metrics import OnMetrics
from headway.spark.streams.stream_run import StreamRun

Place = PathLike[str] | str


class AskedStream(Mapping[str, DataFrame]):
    """The outputs of a plan over streaming DataFrames of one session. As a mapping it holds those
    that need no state, by name; :meth:`start` writes all of them."""

    def __init__(self, plan: Plan, data: Mapping[str, DataFrame]) -> None:
        self.plan = on_one_node(plan)
        refuse_unsupported(self.plan, Mode.STREAM)
        sources = self.plan.query.sources
        check_names(data, sources)
        self.session = _session(data)
        self._sources = {source.name: _source(source, data[source.name]) for source in sources}
        self.kinds = {one.name: kind_of(self.plan, one.name) for one in self.plan.query.outputs}
        plain = [name for name, kind in self.kinds.items() if kind is not LoweredKind.STATE]
        self._frames = _frames(part_with(self.plan, plain), self._sources) if plain else {}

    # ---------------------------------------------------------------- without state

    def __getitem__(self, output: str) -> DataFrame:
        if output in self._frames:
            return self._frames[output]
        if output not in self.kinds:
            raise InputError(
                f"the query has no output {output!r}", want=f"it has {', '.join(self.kinds)}"
            )
        raise UnsupportedError(
            f"{output!r} keeps a state beside the micro-batches and is no DataFrame",
            at=f"outputs.{output}",
            want="write it with start(output=…, checkpoint=…)",
        )

    def __contains__(self, output: object) -> bool:
        return output in self._frames

    def __iter__(self) -> Iterator[str]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    # ---------------------------------------------------------------- all of them

    def start(
        self,
        *,
        output: Place,
        checkpoint: Place,
        available_now: bool = False,
        format: str = PARQUET_FORMAT,
        options: Mapping[str, str] | None = None,
        forget: str | None = None,
        most_held: int | None = None,
        partitions: int | None = None,
        upload_gap: str | None = None,
        late_ok: bool = False,
        adopt: bool = False,
        on_metrics: OnMetrics | None = None,
    ) -> RunningStream:
        """Starts to write every output, and what left its way, into the folder ``output`` (a path
        or a URI); ``checkpoint`` is where it goes on after a stop. ``available_now`` takes what is
        there, lets the end of it come out, and ends. ``on_metrics`` is called after each
        micro-batch, in a thread of its own. The rest are the options of ``headway run`` of these
        names. FileError where another run is writing there, or one of another query was."""
        _refuse_connect(self.session)
        run = StreamRun(
            self.session,
            self.plan,
            GivenFrames(self._sources),
            Location.of(output),
            checkpoint=Location.of(checkpoint),
            sink=Sink(format, dict(options or {})),
            policy="fifo",
            available_now=available_now,
            forget=None if forget is None else parse_duration(forget),
            most_held=most_held,
            partitions=partitions,
            upload_gap=None if upload_gap is None else parse_duration(upload_gap),
            late_ok=late_ok,
            adopt=adopt,
            on_metrics=on_metrics,
        )
        return RunningStream(run)


class RunningStream:
    """A stream that runs, in the manner of Spark's ``StreamingQuery``."""

    def __init__(self, run: StreamRun) -> None:
        self._run = run
        self._outcome: SparkRun | None = None
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="headway-stream", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._outcome = self._run.run()
        except BaseException as failure:  # noqa: BLE001 - raised where somebody waits for it
            self._failure = failure

    @property
    def isActive(self) -> bool:  # noqa: N802 - as Spark calls it
        return self._thread.is_alive()

    @property
    def lastProgress(self) -> list[OutputProgress]:  # noqa: N802
        """Where each output stands now."""
        return self._run.progress()

    @property
    def summary(self) -> SparkRun:
        """What was done until now: tuples, misses and latencies of each output, what left its
        way."""
        return self._outcome or self._run.outcome()

    def exception(self) -> BaseException | None:
        return self._failure

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802
        """Waits for the end, ``timeout`` seconds at most; whether it has come. Raises what ended
        the stream, if it was a failure."""
        self._thread.join(timeout)
        if self._failure is not None:
            raise self._failure
        return not self._thread.is_alive()

    def stop(self) -> None:
        """Ends it after the micro-batch that runs; the same :meth:`AskedStream.start` goes on."""
        self._run.stop()
        self._thread.join()


@dataclass(frozen=True)
class GivenFrames:
    """Streaming DataFrames of the user as what a run reads."""

    frames: Mapping[str, DataFrame]

    @property
    def identity(self) -> str:
        """Spark's own checkpoint knows what each source is."""
        return "DataFrames"

    def check(self, query: Query, *, streaming: bool, spark: SparkSession | None = None) -> None:
        """They were checked when they were given."""

    def intake(
        self,
        spark: SparkSession,
        sources: Iterable[Source],
        quarantine: Quarantine,
        rejected: Rejected,
        limits: Limits | None = None,
    ) -> Intake:
        del spark, quarantine, rejected, limits
        return StreamedTuples({source.name: self.frames[source.name] for source in sources})


# ---------------------------------------------------------------- what is given


def _session(data: Mapping[str, DataFrame]) -> SparkSession:
    for name, one in data.items():
        if not isinstance(one, DataFrame):
            raise DataError("this is no DataFrame", at=place_of(name), got=type(one).__name__,
                            want="give a streaming DataFrame: spark.readStream…")  # fmt: skip
        if not one.isStreaming:
            raise DataError("this DataFrame is no stream", at=place_of(name),
                            want="take it from spark.readStream, or use batch()")  # fmt: skip
    sessions = [one.sparkSession for one in data.values()]
    if any(one is not sessions[0] for one in sessions[1:]):
        raise DataError("the DataFrames are of several Spark sessions", at="data",
                        want="take all from one")  # fmt: skip
    return sessions[0]


def _source(source: Source, given: DataFrame) -> DataFrame:
    tied = POSITION_COLUMN in given.columns and POSITION_COLUMN not in source.schema.names
    position = F.col(POSITION_COLUMN) if tied else F.lit(None)
    return conformed(given, source.schema, place_of(source.name), position)


def _frames(part: Plan, sources: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Outputs as plain columns. A tuple for which a function of the user failed is left out."""
    graph, schemas = graph_of(part.query), dict(part.schemas)
    given = given_sources(part, sources)
    frames = {
        name: StreamFrame(given[name], source.schema) for name, source in graph.sources.items()
    }
    for name in graph.order:
        operator = graph.operators[name]
        inputs = {port.port: frames[port.stream] for port in operator.inputs}
        frames[name] = lower_operator(operator, SPARK_STREAM, inputs, schemas[name])
    return {name: frames[output.stream].output() for name, output in graph.outputs.items()}


def _refuse_connect(session: SparkSession) -> None:
    if not hasattr(session, "_jvm"):
        raise EnvironmentMissing(
            "start() works in the process of Spark's driver: through Spark Connect nobody can "
            "commit micro-batches here. Use the DataFrames of outputs without state, `headway "
            "pipeline`, or `headway run --mode stream` beside the cluster."
        )
