"""What a task computes of a micro-batch: the rows of its outputs, and its partition's new state.

Three kinds of groups come here. ``NativeRows``: Spark has computed the outputs with columns of its
own, they are only taken apart. ``FunctionRows``: outputs that need no memory but functions of the
user; the engine runs them tuple by tuple, in any order. ``VehicleRows``: all else, the engines of
the partition's vehicles go on from their state. What a task computes is handed on as Arrow tables;
where they go is another matter (:mod:`headway.spark.state.task_files`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headway.engine.result_tables import SideRow, SideRows, side_rows_table
from headway.engine.stepwise import StepResult, Stepwise
from headway.errors import DataError
from headway.model.codec import plan_from_json
from headway.model.quantities import MICROSECOND
from headway.model.schema import VEHICLE_COLUMN, Schema
from headway.spark.lowering.engine_region import EXIT, arrivals, struct_name
from headway.spark.lowering.frames import ARRIVED, POSITION, SOURCE, arrow_types
from headway.spark.state.partition_files import (
    StatesBefore,
    blamed,
    next_segment,
    read_segments,
)
from headway.spark.state.partition_intake import PartitionIntake
from headway.spark.state.state_migration import migrated
from headway.spark.state.state_sections import fingerprint_of, form_of
from headway.spark.state.vehicle_states import fingerprint_of_state
from headway.spark.state.vehicle_steps import (
    KIND,
    StepInput,
    StepOutput,
    VehicleSteps,
    vehicle_steps,
)

# ---------------------------------------------------------------- what comes out


@dataclass(frozen=True, slots=True)
class OutputRows:
    """Rows of an output: vehicle, timestamp, fields; times may be whole microseconds."""

    output: str
    rows: Any


@dataclass(frozen=True, slots=True)
class SideTuples:
    """What left its way: kind, the columns of the side files, vehicle."""

    rows: Any


@dataclass(frozen=True, slots=True)
class NewState:
    """Of a partition; ``data`` None: as it was. ``newest`` is the newest arrival (us)."""

    part: int
    data: bytes | None
    whole: bool
    fingerprint: str
    counts: Mapping[str, int]
    newest: int


Produced = OutputRows | SideTuples | NewState


class Computing(Protocol):
    """May be copied to tasks."""

    def rows(self, batches: Iterator[Any], part: int) -> Iterator[Produced]: ...


# ---------------------------------------------------------------- native columns


@dataclass(frozen=True)
class NativeRows:
    """``outputs`` in the order of their places; one alone has plain columns."""

    outputs: Mapping[str, Schema]

    def rows(self, batches: Iterator[Any], part: int) -> Iterator[Produced]:
        del part
        for batch in batches:
            if not batch.num_rows:
                continue
            if len(self.outputs) == 1:
                (name,) = self.outputs
                yield OutputRows(name, pa.Table.from_batches([batch]))
                continue
            exits, vehicles = batch.column(EXIT), batch.column(VEHICLE_COLUMN)
            for place, (name, schema) in enumerate(self.outputs.items()):
                mine = pc.equal(exits, place)
                structs = batch.column(struct_name(place)).filter(mine)
                if len(structs):
                    yield OutputRows(name, _named(vehicles.filter(mine), structs, schema))


def _named(vehicles: Any, structs: Any, schema: Schema) -> Any:
    names = [VEHICLE_COLUMN, *(field.name for field in schema.columns)]
    return pa.table([vehicles, *structs.flatten()], names=names)


# ---------------------------------------------------------------- functions of the user


@dataclass(frozen=True)
class FunctionRows:
    """``text`` is the plan; a function may fail, and the tuple is then listed."""

    text: str
    listed: frozenset[str] | None

    def rows(self, batches: Iterator[Any], part: int) -> Iterator[Produced]:
        del part
        engine, sources, outputs, side = _tuple_by_tuple(self.text)
        engine.restore(None)
        for batch in batches:
            owners: list[list[str]] = [[] for _ in outputs]
            results: list[list[StepResult]] = [[] for _ in outputs]
            dropped: list[tuple[str, str, SideRow]] = []
            for vehicle, mine in groupby(_arrivals(batch, sources), key=lambda one: one[0]):
                for _, source, arrived, row in mine:
                    engine.now = arrived * MICROSECOND
                    engine.arrive(sources[source], row)
                for result in engine.take_results():
                    owners[result.output].append(vehicle)
                    results[result.output].append(result)
                for time, one in engine.take_dropped():
                    if self.listed is None or one.where in self.listed:
                        dropped.append((vehicle, one.kind.value, side.row(time, one)))
            for (name, schema), names, found in zip(outputs, owners, results, strict=True):
                if found:
                    yield OutputRows(name, _table(names, found, schema))
            if dropped:
                yield SideTuples(_dropped(dropped))


@lru_cache(maxsize=8)
def _tuple_by_tuple(
    text: str,
) -> tuple[Stepwise, list[str], list[tuple[str, Schema]], SideRows]:
    plan = plan_from_json(text)
    schemas = dict(plan.schemas)
    outputs = [(one.name, schemas[one.stream]) for one in plan.query.outputs]
    return Stepwise(plan), [one.name for one in plan.query.sources], outputs, SideRows(plan)


def _arrivals(batch: Any, sources: list[str]) -> Iterator[tuple[str, int, int, tuple[Any, ...]]]:
    if len(sources) > 1:
        yield from arrivals(batch, len(sources))
        return
    vehicles, times, _, *cells = (column.to_pylist() for column in batch.columns)
    for vehicle, at, row in zip(vehicles, times, zip(*cells, strict=True), strict=True):
        yield vehicle, 0, at, row


def _table(vehicles: list[str], found: list[StepResult], schema: Schema) -> Any:
    columns = zip(*(result.row for result in found), strict=True)
    arrays = [
        pa.array(values, kind)
        for values, (_, kind) in zip(columns, arrow_types(schema), strict=True)
    ]
    names = [VEHICLE_COLUMN, *(name for name, _ in arrow_types(schema))]
    return pa.table([pa.array(vehicles, pa.string()), *arrays], names=names)


def _dropped(found: list[tuple[str, str, SideRow]]) -> Any:
    table = side_rows_table([row for _, _, row in found])
    kinds = pa.array([kind for _, kind, _ in found], pa.string())
    return table.add_column(0, KIND, kinds).append_column(
        VEHICLE_COLUMN, pa.array([vehicle for vehicle, _, _ in found], pa.string())
    )


# ---------------------------------------------------------------- vehicles with a state


@dataclass(frozen=True)
class VehicleProgram:
    """The vehicles of a plan: what :func:`vehicle_steps` wants. ``program`` gives the bytes of the
    compiled one in a task."""

    text: str
    listed: frozenset[str] | None
    hold: int | None
    forget: int | None
    most_held: int | None
    upload_gap: int | None = None
    program: Any = None
    """a broadcast variable of Spark"""
    earlier: tuple[str, ...] = ()
    """plans that states in the checkpoint may be of"""

    @property
    def library(self) -> bytes | None:
        found: bytes | None = None if self.program is None else self.program.value
        return found

    def taken_up(self, states: list[bytes], fingerprint: str) -> tuple[list[bytes], bool]:
        """States as this program's, which has the fingerprint, and whether some were of a plan
        before it. DataError for one that is of none of them."""
        found = [
            one if fingerprint_of_state(one) == fingerprint else self._migrated(one)
            for one in states
        ]
        return found, any(new is not old for new, old in zip(found, states, strict=True))

    def _migrated(self, state: bytes) -> bytes:
        whose = fingerprint_of_state(state)
        for text in self.earlier:
            before = plan_from_json(text)
            if fingerprint_of(before, form_of(whose)) == whose:
                return migrated(before, plan_from_json(self.text), state, self.library)
        return state  # whoever reads it says whose it is not

    def steps(self) -> VehicleSteps:
        program = self.library
        return _steps(
            self.text,
            self.listed,
            self.hold,
            self.forget,
            self.most_held,
            self.upload_gap,
            program,
        )


@lru_cache(maxsize=8)
def _steps(
    text: str,
    listed: frozenset[str] | None,
    hold: int | None,
    forget: int | None,
    most_held: int | None,
    upload_gap: int | None,
    program: bytes | None,
) -> VehicleSteps:
    """Built once in a worker."""
    return vehicle_steps(
        plan_from_json(text),
        listed=listed,
        hold=hold,
        forget=forget,
        most_held=most_held,
        upload_gap=upload_gap,
        program=program,
    )


@dataclass(frozen=True)
class VehicleRows:
    """One micro-batch, or (``ends``) the end of the input. ``folder``: where the state's files
    are; None: it comes in rows. ``intake``: the task reads its tuples itself."""

    program: VehicleProgram
    sources: tuple[str, ...]
    before: StatesBefore
    folder: str | None
    clock: int | None
    newest: int | None
    ends: bool = False
    intake: PartitionIntake | None = None

    def rows(self, batches: Iterator[Any], part: int) -> Iterator[Produced]:
        if self.intake is None:
            tables, blobs = self._gathered(batches)
        else:
            for _ in batches:  # a worker that leaves rows unread is not used again
                pass
            tables, blobs = self.intake.tables(part), {}
        segments = self.before.of(part)
        moved = self.before.moved
        waits = tables or self.clock is not None or self.program.forget is not None
        if not (waits or moved or self.ends) or not (tables or segments):
            yield NewState(part, None, False, "", {}, 0)
            return
        if self.folder is not None:
            data = read_segments(Path(self.folder), segments)
        else:
            data = [blobs[segment.name] for segment in segments]
        steps = self.program.steps()
        stale = False
        newest = max(
            (pc.max(table.column(ARRIVED)).as_py() for table in tables.values()), default=0
        )
        try:
            data, stale = self.program.taken_up(data, steps.fingerprint)
            output = self._step(steps, tables, data, part, newest)
        except DataError as error:
            raise blamed(error, self.folder or "the checkpoint", segments, data) from None
        for name, rows in output.outputs.items():
            if rows.num_rows:
                yield OutputRows(name, rows)
        if output.side.num_rows:
            yield SideTuples(output.side)
        written = None if self.ends else next_segment(output, segments, moved=moved or stale)
        yield NewState(
            part,
            None if written is None else written[0],
            written is not None and written[1],
            steps.fingerprint,
            asdict(output.counts),
            newest,
        )

    def _step(
        self, steps: VehicleSteps, tables: Mapping[str, Any], data: list[bytes], part: int,
        newest: int,
    ) -> StepOutput:  # fmt: skip
        if self.ends:
            return steps.finish(data)
        known = None if self.newest is None else max(self.newest, newest)
        return steps.step(
            StepInput(tables, data or None, self.clock, self.before.keep(part), known)
        )

    def _gathered(self, batches: Iterable[Any]) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The tuples by source, and segments that came in rows by name."""
        whole = [batch for batch in batches if batch.num_rows]
        if not whole:
            return {}, {}
        table = pa.Table.from_batches(whole)
        blobs: dict[str, bytes] = {}
        if SEGMENT in table.column_names:
            mine = table.filter(pc.is_valid(table.column(SEGMENT)))
            names, data = (mine.column(name).to_pylist() for name in (SEGMENT, BLOB))
            blobs = dict(zip(names, data, strict=True))
            table = table.drop_columns([SEGMENT, BLOB])
        if table.column(VEHICLE_COLUMN).null_count:  # the heartbeat of a live stream, and states
            table = table.filter(pc.is_valid(table.column(VEHICLE_COLUMN)))
        return (_by_source(table, self.sources) if table.num_rows else {}), blobs


SEGMENT, BLOB = "#segment", "#blob"
"""columns of a state's segment that comes in rows: the name of its file, its content"""


def _by_source(table: Any, sources: tuple[str, ...]) -> dict[str, Any]:
    if len(sources) == 1:
        return {sources[0]: table}
    codes, found = table.column(SOURCE), {}
    for place, name in enumerate(sources):
        mine = table.filter(pc.equal(codes, place))
        if not mine.num_rows:
            continue
        structs = mine.column(struct_name(place)).combine_chunks()
        names = [structs.type.field(index).name for index in range(structs.type.num_fields)]
        found[name] = pa.table(
            [*(mine.column(one) for one in (VEHICLE_COLUMN, ARRIVED, POSITION)),
             *structs.flatten()],
            names=[VEHICLE_COLUMN, ARRIVED, POSITION, *names],
        )  # fmt: skip
    return found
