"""``hw.run``: a plan over data in a folder, in tables, in rows or in Spark DataFrames."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from headway.engine.clock import WallClock
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import DropKind
from headway.engine.result_tables import output_table, side_table, trace_table
from headway.engine.results import OutputTuple, RunResult, Totals, VehicleRun
from headway.engine.wall_engine import WallEngine
from headway.errors import DataError, InputError
from headway.front_door.compiling import CompiledQuery, QueryGiven, VehicleGiven, compile
from headway.front_door.interruptions import Interruption, caught_once, interruption
from headway.front_door.query_result import QueryResult, Tables
from headway.front_door.runnable_plan import RunnablePlan, load_plan, runnable
from headway.front_door.vehicle_options import VehicleOptions
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import VEHICLE_COLUMN
from headway.model.user_operator import Row
from headway.sources.in_memory import ArrowStream, Rows, in_memory
from headway.sources.recordings import Contents, RecordedArrival, read_recording, scan_recording
from headway.spark.session.spark_session import check_packages
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from headway.native.native_engine import NativeEngine

PlanGiven = CompiledQuery | Plan | QueryGiven


class SparkFrame(Protocol):
    """A DataFrame of Spark, told by its module: nothing here needs Spark to be installed."""

    @property
    def sparkSession(self) -> Any: ...  # noqa: N802 - Spark's name


Data = PathLike[str] | str | Mapping[str, ArrowStream | Rows | SparkFrame]
Sink = Callable[[OutputTuple], None]
UNLIMITED = 1 << 40
"""no tuple of a sink is dropped, however slow it is"""


def run(
    plan: PlanGiven,
    data: Data,
    *,
    vehicle: VehicleGiven | None = None,
    engine: Literal["vehicle", "native", "spark"] | None = None,
    policy: str | None = None,
    clock: Literal["virtual", "wall"] | WallClock = "virtual",
    speed: float | None = None,
    most_waiting: int | None = None,
    when_full: Literal["shed", "oldest", "refuse"] | None = None,
    zero_cost: bool = False,
    cores: Literal["global", "partitioned"] = "global",
    batching: bool = False,
    cost_seed: int | None = None,
    trace: bool = False,
    sinks: Mapping[str, Sink] | None = None,
    spark: Any = None,
) -> QueryResult:
    """Runs a plan (or a query, which is compiled first, for ``vehicle``) over data to its end.

    ``data`` is the folder of a recording (on Spark also the URI of one that Hadoop knows), or for
    each source a pandas, Polars or Arrow table, a list of rows, or a Spark DataFrame
    (:mod:`headway.sources.in_memory` tells the columns). Data of several vehicles has a column
    ``vehicle``; each has an engine of its own.

    The engine of the car runs it, under ``policy`` and with the operators' declared costs
    (``zero_cost=True``: none; ``cost_seed``: drawn between best and worst, where both are
    declared) in virtual time, or in real time with ``clock='wall'`` or a clock of
    your own; ``speed`` replays faster, and where it cannot keep up at most ``most_waiting`` jobs
    wait before the least worth are shed, or by ``when_full`` the oldest, or the new one is refused.
    Ctrl-C ends a run in real time, which then gives what is complete: ``interrupted`` of the result
    tells what is not. A second one is a KeyboardInterrupt, as ever.
    ``sinks`` are called with the tuples of an output as they
    come. ``engine='native'`` compiles the plan to C++ first and runs that in virtual time: the
    same tuples, side outputs and trace, much faster. Spark DataFrames, or ``engine='spark'``, run
    on Spark: in the DataFrames' session, in ``spark``, in the one that is active, or in a new local
    one.

    InputError says what does not go together; DataError which table, column or row is wrong.
    """
    compiled = _compiled(plan, vehicle)
    chosen = engine or ("spark" if _has_spark_frames(data) else "vehicle")
    options = VehicleOptions(
        policy=policy or "s-edf",
        clock=clock,
        speed=speed,
        most_waiting=most_waiting,
        when_full=when_full,
        partitioned=cores == "partitioned",
        batching=batching,
        cost_seed=cost_seed,
        zero_cost=zero_cost,
        trace=trace,
        native=chosen == "native",
    )
    if chosen == "spark":
        _refuse_on_spark(options, policy, sinks)
        return _run_on_spark(compiled, data, spark)
    if chosen not in ("vehicle", "native"):
        want = "vehicle, native or spark"
        raise InputError("there is no such engine", at="engine", got=repr(chosen), want=want)
    if spark is not None:
        raise InputError("spark= is a session for engine='spark'", want="leave it out")
    if _has_spark_frames(data):
        want = "leave out engine=, or give toArrow() of them"
        raise DataError("Spark DataFrames run on Spark", at="data", want=want)
    prepared = runnable(compiled.plan, zero_cost=zero_cost)
    return _run_in_vehicle(prepared, data, options, sinks or {}, compiled)


def _compiled(given: PlanGiven, vehicle: VehicleGiven | None) -> CompiledQuery:
    if isinstance(given, str | PathLike) and Path(given).suffix == ".json":
        given = load_plan(Path(given))
    if isinstance(given, Plan):
        given = CompiledQuery(plan=given)
    if not isinstance(given, CompiledQuery):
        return compile(given, vehicle)
    if vehicle is not None:
        want = "leave out vehicle=, or give the query instead of the plan"
        raise InputError("a plan is for a vehicle already", at="vehicle", want=want)
    return given


def _has_spark_frames(data: Data) -> bool:
    """Some are enough: a mixture is refused where it is read."""
    return isinstance(data, Mapping) and any(map(is_spark_frame, data.values()))


def is_spark_frame(given: object) -> bool:
    return type(given).__module__.startswith("pyspark.")


# ---------------------------------------------------------------- in the engine of the car


class _Replayed(Protocol):
    """A recording, wherever it is."""

    @property
    def contents(self) -> Contents: ...

    def arrivals(self, vehicle: str | None) -> Iterator[RecordedArrival]: ...


@dataclass(frozen=True)
class _Folder:
    folder: Path
    sources: tuple[Source, ...]
    contents: Contents

    def arrivals(self, vehicle: str | None) -> Iterator[RecordedArrival]:
        return read_recording(self.folder, self.sources, vehicle)


def _recorded(data: object, sources: tuple[Source, ...]) -> _Replayed:
    if isinstance(data, str | PathLike):
        place = Location.of(data)
        if not place.is_local:
            want = "name a local one, or run it on Spark: engine='spark'"
            raise DataError("the engine of the car reads local folders", at="data", got=place.text,
                            want=want)  # fmt: skip
        folder = place.path
        return _Folder(folder, sources, scan_recording(folder, sources))
    if not isinstance(data, Mapping):
        want = "a folder, or a mapping from each source to its table"
        raise DataError("this is no data", at="data", got=type(data).__name__, want=want)
    return in_memory(data, sources)


def _run_in_vehicle(
    prepared: RunnablePlan,
    data: Data,
    options: VehicleOptions,
    sinks: Mapping[str, Sink],
    compiled: CompiledQuery,
) -> QueryResult:
    plan = prepared.plan
    outputs = [output.name for output in plan.query.outputs]
    if unknown := [name for name in sinks if name not in outputs]:
        want = f"the outputs are {', '.join(outputs)}"
        raise InputError(f"there is no output {unknown[0]!r}", at="sinks", want=want)
    with compiled.placing():
        _engine(prepared, options, sinks)  # what cannot be opened is found before anything is read
    recorded = _recorded(data, plan.query.sources)
    totals, gathered = Totals(), _Gathered(plan, named=recorded.contents.named)
    by_the_clock: list[WallEngine] = []
    caught: list[signal.Signals] = []
    ended: Interruption | None = None

    def end(number: signal.Signals) -> None:
        caught.append(number)
        if by_the_clock:
            by_the_clock[-1].interrupt()

    with caught_once(() if options.virtual else (signal.SIGINT,), end):
        for name in recorded.contents.vehicles:
            with compiled.placing():
                one = _engine(prepared, options, sinks)
            if isinstance(one, WallEngine):
                by_the_clock.append(one)
                if caught:  # it came between two vehicles
                    one.interrupt()
            arrivals = (
                Arrival(at * MICROSECOND, source, row)
                for at, source, row, _ in recorded.arrivals(name)
            )
            result = one.run(arrivals)
            _finish(one)
            totals.add(VehicleRun(name, result))
            gathered.add(name, result, traced=options.trace)
            if caught:
                left = recorded.contents.count - totals.summary.arrived
                ended = interruption(caught[0], result.lost, left)
                break
    return QueryResult(
        plan=plan,
        engine="native" if options.native else "vehicle",
        tables=gathered.tables("output", outputs),
        side_tables=gathered.tables("side output", [f"{kind}/" for kind in DropKind]),
        trace=gathered.tables("trace", ["trace/"])["trace"] if options.trace else None,
        note=" ".join(
            note
            for note in (prepared.note if options.virtual else "", options.not_covered(plan))
            if note
        ),
        interrupted=ended,
        summarise=lambda: totals.summary,
    )


def _engine(
    prepared: RunnablePlan, options: VehicleOptions, sinks: Mapping[str, Sink]
) -> Engine | WallEngine | NativeEngine:
    """A fresh one, its sinks attached."""
    deadlines = {output.name: output.deadline or 0 for output in prepared.plan.query.outputs}

    def tell(name: str, row: Row, completed: int) -> None:
        if name in sinks:
            due = row[0] * MICROSECOND + deadlines[name]
            sinks[name](OutputTuple(row, completed, due))

    engine = options.engine(prepared, on_output=tell if sinks else None)
    if isinstance(engine, WallEngine):
        for name, sink in sinks.items():
            engine.applications.subscribe(name, sink, size=UNLIMITED)
    return engine


def _finish(engine: Engine | WallEngine | NativeEngine) -> None:
    """In real time a sink has a thread of its own: it gets the rest, and what it raised counts."""
    if isinstance(engine, WallEngine):
        for subscription in engine.applications.all():
            subscription.join()
            if subscription.failures:
                raise subscription.failures[0].error


class _Gathered:
    """The tables of one vehicle after the other; with names where the data has them."""

    def __init__(self, plan: Plan, *, named: bool) -> None:
        self._plan, self._named = plan, named
        schemas = dict(plan.schemas)
        self._schemas = {output.name: schemas[output.stream] for output in plan.query.outputs}
        self._parts: dict[str, list[Any]] = {}

    def add(self, vehicle: str | None, result: RunResult, *, traced: bool) -> None:
        found = {
            name: output_table(record, self._schemas[name])
            for name, record in result.outputs.items()
        }
        found |= {f"{kind}/": side_table(result.side, kind, self._plan) for kind in DropKind}
        if traced:
            found["trace/"] = trace_table(result)
        for name, table in found.items():
            if self._named:
                owner = pa.array([vehicle] * table.num_rows, pa.string())
                table = table.append_column(VEHICLE_COLUMN, owner)
            self._parts.setdefault(name, []).append(table)

    def tables(self, what: str, names: list[str]) -> Tables:
        """A ``/`` behind a name keeps it apart from an output of the same name."""
        return Tables(
            what, {name.rstrip("/"): partial(pa.concat_tables, self._parts[name]) for name in names}
        )


# ---------------------------------------------------------------- on Spark


def _run_on_spark(compiled: CompiledQuery, data: Data, session: Any) -> QueryResult:
    check_packages()
    from headway.spark.batches.asked_batch import AskedBatch

    with compiled.placing():
        given: Any = Location.of(data) if isinstance(data, str | PathLike) else data
        batch = AskedBatch(compiled.plan, given, session)
    return QueryResult(
        plan=compiled.plan,
        engine="spark",
        tables=Tables("output", {name: partial(batch.table, name) for name in batch}),
        side_tables=Tables(
            "side output", {kind.value: partial(batch.side_table, kind) for kind in DropKind}
        ),
        dataframes=dict(batch),
        summarise=batch.summary,
        release=batch.release,
    )


def _refuse_on_spark(
    options: VehicleOptions, policy: str | None, sinks: Mapping[str, Sink] | None
) -> None:
    """A batch on Spark computes what the query means; there is nothing to schedule."""
    used = {
        "policy": policy is not None,
        "clock": not options.virtual,
        "cores": options.partitioned,
        "batching": options.batching,
        "cost_seed": options.cost_seed is not None,
        "trace": options.trace,
        "sinks": bool(sinks),
    }
    for name, given in used.items():
        if given:
            raise InputError(
                f"{name}= belongs to engine='vehicle'", want="leave it out, or choose that engine"
            )
