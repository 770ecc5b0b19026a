"""What a task of a micro-batch writes itself: Parquet files of its rows, its partition's state.

Every attempt of a task writes under names of its own, which nobody sees (a dot in front), and says
in one row what it wrote. Only what the driver hears of becomes part of the batch.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.types import StringType, StructField, StructType

from headway.engine.result_tables import SIDE_SCHEMA, TIME
from headway.model.quantities import MICROSECOND
from headway.model.schema import VEHICLE_COLUMN
from headway.sources.parquet_file import ARROW_TYPES
from headway.spark.accounting import Account, added_names, now
from headway.spark.session.python_workers import enter
from headway.spark.state.batch_manifest import StateSegment, WrittenFile
from headway.spark.state.partition_files import SUFFIX, write_segment
from headway.spark.state.step_task import (
    Computing,
    NewState,
    OutputRows,
    Produced,
    SideTuples,
)
from headway.spark.state.vehicle_steps import KIND
from headway.spark.tallies import Tally, tally_from

PART = ".part"
REPORT = StructType([StructField("report", StringType())])
"""the schema of what a task says"""
SIDE_FILE = SIDE_SCHEMA.append(pa.field(VEHICLE_COLUMN, pa.string()))


# ---------------------------------------------------------------- what a task says


@dataclass
class TaskReport:
    """``state`` None: the partition's state is as it was."""

    part: int
    files: list[WrittenFile] = field(default_factory=list)
    tallies: dict[str, Tally] = field(default_factory=dict)
    side: dict[tuple[str, str], int] = field(default_factory=dict)
    state: StateSegment | None = None
    fingerprint: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    newest: int = 0
    """the newest arrival, microseconds"""

    def note_state(self, state: NewState, name: str) -> None:
        self.fingerprint, self.counts = state.fingerprint, dict(state.counts)
        self.newest = state.newest
        if state.data is not None:
            self.state = StateSegment(name, len(state.data), state.whole)

    def note_dropped(self, rows: Any) -> None:
        counted = (
            rows.select([KIND, "where"]).group_by([KIND, "where"]).aggregate([([], "count_all")])
        )
        kinds, wheres, counts = (
            counted.column(name).to_pylist() for name in (KIND, "where", "count_all")
        )
        for kind, where, count in zip(kinds, wheres, counts, strict=True):
            self.side[kind, where] = self.side.get((kind, where), 0) + count

    def to_text(self) -> str:
        state = self.state
        return json.dumps(
            {
                "part": self.part,
                "files": [[one.hidden, one.final, one.rows, one.size] for one in self.files],
                "tallies": {name: tally.data() for name, tally in self.tallies.items()},
                "side": [[kind, where, count] for (kind, where), count in self.side.items()],
                "state": None if state is None else [state.name, state.size, state.whole],
                "fingerprint": self.fingerprint,
                "counts": self.counts,
                "newest": self.newest,
            }
        )


def report_from(text: str) -> TaskReport:
    data = json.loads(text)
    return TaskReport(
        data["part"],
        [WrittenFile(*one) for one in data["files"]],
        {name: tally_from(tally) for name, tally in data["tallies"].items()},
        {(kind, where): count for kind, where, count in data["side"]},
        None if data["state"] is None else StateSegment(*data["state"]),
        data["fingerprint"],
        data["counts"],
        data["newest"],
    )


# ---------------------------------------------------------------- files


@dataclass(frozen=True)
class TaskFiles:
    """Where the tasks of one micro-batch write; may be copied to them. ``token`` tells one try of
    the batch from another, ``sides`` are the folders of the side outputs by kind."""

    output: str
    states: str
    group: str
    batch: str
    token: str
    accounts: Mapping[str, Account]
    sides: Mapping[str, str]

    def task(self, computing: Computing, paths: tuple[str, ...]) -> Callable[[Any], Iterator[Any]]:
        """For ``mapInArrow``: one row of :data:`REPORT`."""

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            enter(paths)
            context = TaskContext.get()
            assert context is not None
            part = context.partitionId()
            writing = _Writing(self, part, context.taskAttemptId())
            with writing:
                for produced in computing.rows(batches, part):
                    writing.put(produced)
            text = writing.report.to_text()
            yield pa.RecordBatch.from_pydict({"report": pa.array([text], pa.string())})

        return run


class _Writing:
    """Of one attempt; leaving it by an exception leaves nothing behind."""

    def __init__(self, files: TaskFiles, part: int, attempt: int) -> None:
        self._files, self._part = files, part
        self._attempt = f"{files.token}-{attempt}"
        self._open: dict[str, tuple[Any, WrittenFile, int]] = {}
        self.report = TaskReport(part)

    def put(self, produced: Produced) -> None:
        if isinstance(produced, OutputRows):
            account = self._files.accounts[produced.output]
            tally = self.report.tallies.setdefault(produced.output, Tally())
            stamped = stamped_rows(produced.rows, account, tally)
            self._write(f"{produced.output}.parquet", self._files.batch, stamped)
        elif isinstance(produced, SideTuples):
            self.report.note_dropped(produced.rows)
            kinds = produced.rows.column(KIND)
            for kind, folder in self._files.sides.items():
                mine = produced.rows.filter(pc.equal(kinds, kind))
                if mine.num_rows:
                    rows = mine.select(SIDE_FILE.names).cast(SIDE_FILE)
                    self._write(folder, f"{self._files.group}-{self._files.batch}", rows)
        else:
            name = f"{self._files.batch}-{self._part:05d}.{self._attempt}{SUFFIX}"
            if produced.data is not None:
                write_segment(Path(self._files.states), name, produced.data)
            self.report.note_state(produced, name)

    def _write(self, folder: str, name: str, rows: Any) -> None:
        if folder not in self._open:
            stem = f"{name}-{self._part:05d}"
            one = WrittenFile(
                f"{folder}/.{stem}.{self._attempt}{PART}", f"{folder}/{stem}.parquet", 0, 0
            )
            path = Path(self._files.output) / one.hidden
            path.parent.mkdir(parents=True, exist_ok=True)
            self._open[folder] = pq.ParquetWriter(path, rows.schema), one, 0
        writer, one, count = self._open[folder]
        writer.write_table(rows)
        self._open[folder] = writer, one, count + rows.num_rows

    def __enter__(self) -> _Writing:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None:
            try:
                self._close()
            except BaseException:
                self._abandon()
                raise
        else:
            self._abandon()

    def _close(self) -> None:
        for writer, one, rows in self._open.values():
            writer.close()
            size = (Path(self._files.output) / one.hidden).stat().st_size
            self.report.files.append(WrittenFile(one.hidden, one.final, rows, size))

    def _abandon(self) -> None:
        for writer, one, _ in self._open.values():
            with contextlib.suppress(OSError, pa.ArrowException):
                writer.close()
            with contextlib.suppress(OSError):
                (Path(self._files.output) / one.hidden).unlink(missing_ok=True)


def stamped_rows(rows: Any, account: Account, tally: Tally) -> Any:
    """vehicle, timestamp, fields and how they stand to their deadlines, now."""
    completed = now()
    columns = account.schema.columns
    typed = [rows.column(field.name).cast(ARROW_TYPES[field.type]) for field in columns]
    sensed = np.asarray(typed[0].cast(pa.int64()))
    tally.add(sensed, completed, account.deadline, account.began)
    due = sensed + account.deadline
    added = {
        "deadline": pa.array(due).cast(TIME),
        "completed": pa.array(np.full(len(sensed), completed)).cast(TIME),
        "latency": pa.array((completed - sensed) * MICROSECOND),
        "missed": pa.array(completed > due),
        "replayed": pa.array(due < account.began),
    }
    names = [VEHICLE_COLUMN, *(field.name for field in columns)]
    names += added_names(account.schema).values()
    arrays = [rows.column(VEHICLE_COLUMN), *typed]
    return pa.table([*arrays, *(added[name] for name in added_names(account.schema))], names=names)
