"""Micro-batches of one group of outputs: computed by tasks, committed by a record, then published.

The driver sees names, counts and sizes, never a row. Spark numbers micro-batches and repeats one
that it has not heard the end of; one that has its record is then only published again. What a batch
goes on from is the record before it, so a batch that is computed again replaces whatever an earlier
try of it left behind.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headway.errors import FileError, Place
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.model.schema import VEHICLE_COLUMN
from headway.spark.accounting import Account, now
from headway.spark.session.urgency import Share, slots_of
from headway.spark.sources.intake import Intake, IntakePiece, each_piece
from headway.spark.state.batch_manifest import (
    END,
    STATES,
    BatchRecord,
    BatchRecords,
    PartitionLoad,
)
from headway.spark.state.partition_files import StatesBefore
from headway.spark.state.partition_intake import MOST_READERS, PartitionIntake
from headway.spark.state.state_sections import NATIVE_FORM, PYTHON_FORM, form_of
from headway.spark.state.step_programs import step_program
from headway.spark.state.step_task import (
    Computing,
    FunctionRows,
    NativeRows,
    VehicleProgram,
    VehicleRows,
)
from headway.spark.state.task_files import TaskReport
from headway.spark.storage.file_stores import file_store
from headway.spark.storage.locations import Location
from headway.spark.storage.small_files import SmallFiles
from headway.spark.streams.lower_stream import LoweredKind, LoweredStream, kind_of, lower_stream
from headway.spark.tallies import Tally

BATCH = "batch-"


def step_name(number: int) -> str:
    """What the files of a step are called."""
    return f"{BATCH}{number:010d}"


@dataclass(frozen=True)
class StreamBounds:
    """Of what a stream keeps; times in nanoseconds, None: no bound. ``hold``: how long a live
    vehicle's tuples wait for a source of which nothing comes; None: a replay, they wait for ever.
    ``partitions``: how many the vehicles are dealt out to; None: as many as there are slots.
    ``upload_gap``: what arrived so long before the newest of its vehicle is a delayed upload."""

    hold: int | None = None
    forget: int | None = None
    most_held: int | None = None
    partitions: int | None = None
    upload_gap: int | None = None


@dataclass(frozen=True)
class GroupWork:
    """What a group of outputs computes and where it goes; ``plan`` is the part that computes them.
    ``sides`` are the folders of the side outputs by kind, ``listed`` the sources and operators
    whose side outputs are this group's (None: all); ``earlier``: the same part of plans whose
    states may be there."""

    name: str
    plan: Plan
    began: int
    output: Location
    checkpoint: Location
    sides: Mapping[str, str]
    listed: frozenset[str] | None = None
    bounds: StreamBounds = StreamBounds()
    share: Share = field(default_factory=Share)
    earlier: tuple[Plan, ...] = ()

    @cached_property
    def accounts(self) -> dict[str, Account]:
        schemas = dict(self.plan.schemas)
        return {
            one.name: Account(one, schemas[one.stream], self.began)
            for one in self.plan.query.outputs
        }

    @property
    def states(self) -> Location:
        """The folder of records and states."""
        return self.checkpoint / STATES / self.name


@dataclass(frozen=True)
class StreamStep:
    """Something to be computed by tasks. ``partitions``: vehicles are dealt out to so many; None:
    rows stay where they are. ``token`` tells one try from another; ``number`` is the step's, of the
    end that of the last step before it."""

    name: str
    number: int
    token: str
    data: DataFrame
    computing: Computing
    native: bool
    partitions: int | None = None


class RowWay(Protocol):
    """How the rows of a step come from the tasks to where they belong."""

    @property
    def state_folder(self) -> str | None:
        """Where tasks find the files of the state; None: it comes to them in rows."""

    def reports(self, step: StreamStep) -> list[TaskReport]:
        """Computes a step; nothing of it can be seen afterwards."""

    def publish(self, record: BatchRecord) -> None:
        """Makes it seen; may be repeated."""

    def withdraw(self, record: BatchRecord) -> None:
        """More input comes: windows that the end closed are open again."""

    def sweep(self) -> None:
        """Removes what steps left behind that never were done; none may be running."""


class MicroBatches:
    """Of one group, in one process. ``session`` is one of the group's own; ``sent`` are files that
    its tasks may leave to the driver."""

    def __init__(
        self, session: SparkSession, work: GroupWork, way: RowWay, sent: Sequence[SmallFiles] = ()
    ) -> None:
        self.session, self.work, self._way, self._sent = session, work, way, sent
        self._records = BatchRecords(work.states, file_store(work.states, session))
        self._record: BatchRecord | None = None
        self._end: BatchRecord | None = None

    @cached_property
    def keeps_state(self) -> bool:
        outputs = self.work.plan.query.outputs
        return any(kind_of(self.work.plan, one.name) is LoweredKind.STATE for one in outputs)

    @property
    def shown(self) -> BatchRecord | None:
        """The sums of the run so far."""
        return self._end or self._record

    def take_up(self) -> None:
        """Goes on where the last process stopped. FileError for a record that is damaged."""
        self._record = self._records.newest()
        self._end = self._records.end()
        if self._record is not None:
            self._way.publish(self._record)
        self._way.sweep()

    def run(self, batch: DataFrame, number: int, intake: Intake) -> None:
        """A micro-batch of Spark."""
        done = self._record
        if done is not None and done.batch == number and done.last:
            self._way.publish(done)
            return
        mark = done.mark if done is not None and done.batch == number else 0
        self._check_place(done, number)
        each_piece(intake, batch, number, mark, lambda piece: self._step(piece, number))

    def _check_place(self, done: BatchRecord | None, number: int) -> None:
        """Batches come one after the other, or somebody took a record away."""
        before = -1 if done is None else done.batch - (0 if done.last else 1)
        if before != number - 1:
            raise FileError(
                "the record of a micro-batch is gone, or the checkpoint is older than its records",
                place=Place(self.work.states.text),
                got=f"the last record is of batch {before}, and batch {number} is due",
                want="put it back from a copy, or start afresh with a new --checkpoint and a new "
                "--output",
            )

    def _step(self, piece: IntakePiece, number: int) -> None:
        done = self._record
        step = 0 if done is None else done.step + 1
        self._drop_end()
        before = self._states_before() if self.keeps_state else None
        reports = self._way.reports(
            self._by_tasks(piece, step, before) or self._by_spark(piece, step, before)
        )
        record = _summed(done, reports, before, step, number, piece)
        for files in self._sent:
            files.take()
        self._records.commit(record)
        self._way.publish(record)
        self._records.sweep(record, done)
        self._record = record

    def _by_spark(self, piece: IntakePiece, step: int, before: StatesBefore | None) -> StreamStep:
        """Spark reads the tuples, and deals them out by vehicle where a state is kept."""
        lowered = lower_stream(self.work.plan, self._capped(piece.sources))
        return StreamStep(
            step_name(step),
            step,
            uuid.uuid4().hex[:8],
            lowered.data,
            self._computing(lowered, before),
            lowered.kind is LoweredKind.NATIVE,
            None if before is None else before.partitions,
        )

    def _by_tasks(
        self, piece: IntakePiece, step: int, before: StatesBefore | None
    ) -> StreamStep | None:
        """Every task reads the tuples of its own vehicles, where that is less work."""
        if before is None or piece.files is None or self._way.state_folder is None:
            return None
        if before.partitions > MOST_READERS:
            return None
        plan = self.work.plan
        schemas = {source.name: source.schema for source in plan.query.sources}
        count = before.partitions
        return StreamStep(
            step_name(step),
            step,
            uuid.uuid4().hex[:8],
            self.session.range(0, count, 1, count),
            replace(self._going_on(before), intake=PartitionIntake(piece.files, schemas, count)),
            native=False,
        )

    def _going_on(self, before: StatesBefore) -> VehicleRows:
        live = self.work.bounds.hold is not None
        newest = 0 if self._record is None else self._record.newest
        return self._vehicles(before, now() if live else None, newest, ends=False)

    def _capped(self, sources: Mapping[str, DataFrame]) -> Mapping[str, DataFrame]:
        most = self.work.share.most(slots_of(self.session))
        if most is None:
            return sources
        return {name: data.coalesce(most) for name, data in sources.items()}

    def _drop_end(self) -> None:
        if self._end is not None:
            self._way.withdraw(self._end)
            self._records.drop_end()
            self._end = None

    # ---------------------------------------------------------------- states

    def _states_before(self) -> StatesBefore:
        states = () if self._record is None else self._record.states
        return StatesBefore(self._partitions(len(states)), states)

    def _partitions(self, before: int) -> int:
        """As many as there are slots; not changed for less than twice as many or half of them."""
        bounds = self.work.bounds
        if bounds.partitions is not None:
            return bounds.partitions
        wanted = self.work.share.slots(self.session)
        return wanted if not before or wanted >= 2 * before or 2 * wanted <= before else before

    def _computing(self, lowered: LoweredStream, before: StatesBefore | None) -> Computing:
        if lowered.kind is LoweredKind.NATIVE:
            return NativeRows(lowered.schemas)
        if before is None:
            return FunctionRows(plan_to_json(lowered.part), self.work.listed)
        return self._going_on(before)

    def _vehicles(
        self, before: StatesBefore, clock: int | None, newest: int, *, ends: bool
    ) -> VehicleRows:
        sources = tuple(source.name for source in self.work.plan.query.sources)
        folder = self._way.state_folder
        return VehicleRows(self._program, sources, before, folder, clock, newest, ends)

    @cached_property
    def _program(self) -> VehicleProgram:
        """Compiled once, and handed to the workers once."""
        plan, bounds = self.work.plan, self.work.bounds
        program = self._library()
        shared: Any = None if program is None else self.session.sparkContext.broadcast(program)
        return VehicleProgram(
            plan_to_json(plan),
            self.work.listed,
            bounds.hold,
            bounds.forget,
            bounds.most_held,
            bounds.upload_gap,
            shared,
            tuple(map(plan_to_json, self.work.earlier)),
        )

    def _library(self) -> bytes | None:
        """The compiled program; None where Python runs it. States that are there have the form of
        one of them and go on in it."""
        record = self._record
        form = "" if record is None or not record.states else form_of(record.fingerprint)
        if form == PYTHON_FORM:
            return None
        program = step_program(self.work.plan)
        if form == NATIVE_FORM and program.library is None:
            raise FileError(
                "the states in the checkpoint are those of a compiled query, and it cannot be "
                "compiled here",
                place=Place(self.work.states.text),
                got=program.reason,
                want="go on where there is a compiler, or start afresh with a new --checkpoint and "
                "a new --output",
            )
        return program.library

    # ---------------------------------------------------------------- the end

    def finish(self) -> None:
        """The input has ended: what the state still holds comes out. May be repeated; a stream
        that goes on later with more input takes it back."""
        done = self._record
        if done is None or not done.states:
            return
        if self._end is None:
            before = StatesBefore(done.partitions, done.states)
            nobody = self.session.range(0)
            reports = self._way.reports(
                StreamStep(
                    END,
                    done.step,
                    uuid.uuid4().hex[:8],
                    nobody.select(F.lit(None).cast("string").alias(VEHICLE_COLUMN)),
                    self._vehicles(before, None, done.newest, ends=True),
                    native=False,
                    partitions=done.partitions,
                )
            )
            end = _ended(done, reports)
            self._records.commit_end(end)
            self._end = end
        self._way.publish(self._end)


# ---------------------------------------------------------------- sums


def _summed(
    done: BatchRecord | None,
    reports: Sequence[TaskReport],
    before: StatesBefore | None,
    step: int,
    number: int,
    piece: IntakePiece,
) -> BatchRecord:
    tallies, side, counts = _sums(done, reports)
    states: list[Any] = []
    loads: list[PartitionLoad] = []
    if before is not None:
        kept = not before.moved and done is not None and bool(done.states)
        states = list(done.states) if kept and done is not None else [()] * before.partitions
        loads = list(done.loads) if kept and done is not None else [
            PartitionLoad() for _ in range(before.partitions)
        ]  # fmt: skip
        for one in reports:
            if one.state is not None:
                older = () if one.state.whole else states[one.part]
                states[one.part] = (*older, one.state)
            if one.counts:
                loads[one.part] = PartitionLoad(one.counts["vehicles"], one.counts["held"])
    fingerprints = [one.fingerprint for one in reports if one.fingerprint]
    return BatchRecord(
        step=step,
        batch=number,
        mark=piece.mark,
        last=piece.last,
        fingerprint=_first(fingerprints, "" if done is None else done.fingerprint),
        states=tuple(states),
        loads=tuple(loads),
        files=tuple(file for one in reports for file in one.files),
        tallies=tallies,
        side=side,
        counts=counts,
        newest=max([0 if done is None else done.newest, *(one.newest for one in reports)]),
    )


def _ended(done: BatchRecord, reports: Sequence[TaskReport]) -> BatchRecord:
    tallies, side, counts = _sums(done, reports)
    return BatchRecord(
        step=done.step + 1,
        batch=done.batch,
        fingerprint=done.fingerprint,
        files=tuple(file for one in reports for file in one.files),
        tallies=tallies,
        side=side,
        counts=counts,
        newest=done.newest,
    )


def _sums(
    done: BatchRecord | None, reports: Sequence[TaskReport]
) -> tuple[dict[str, Tally], Counter[tuple[str, str]], Counter[str]]:
    tallies: dict[str, Tally] = {}
    side: Counter[tuple[str, str]] = Counter()
    counts: Counter[str] = Counter()
    parts: list[BatchRecord | TaskReport] = [*reports] if done is None else [done, *reports]
    for one in parts:
        for name, tally in one.tallies.items():
            tallies.setdefault(name, Tally()).merge(tally)
        side.update(one.side)
        counts.update({name: one.counts.get(name, 0) for name in SUMMED})
    return tallies, side, counts


SUMMED = ("tuples", "forgotten", "shed")
"""of a step's counts: the others are of the moment"""


def _first(found: Sequence[str], otherwise: str) -> str:
    return found[0] if found else otherwise
