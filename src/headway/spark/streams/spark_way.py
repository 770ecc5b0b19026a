"""Spark's own writers write what the tasks compute: any format and any file system it knows.

The rows of a step are computed once and kept until all of it is written. A file system that tasks
do not reach keeps the state in files of Spark, and brings it to the tasks as rows beside the
tuples. Everything else is as on the direct way: the same steps, the same state, the same records.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from math import ceil, log2
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from headway.model.quantities import MICROSECOND
from headway.model.schema import TIMESTAMP_COLUMN
from headway.spark.accounting import Account, added_names
from headway.spark.batches.batch_sinks import CONSOLE, FILES, SHOWN_ROWS, OnRows, Sink
from headway.spark.lowering.engine_region import EXIT, exits
from headway.spark.lowering.side_rows import SIDE, SIDE_EXIT
from headway.spark.state.batch_manifest import END, BatchRecord, WrittenFile
from headway.spark.state.step_task import BLOB, SEGMENT, NativeRows, VehicleRows
from headway.spark.state.task_files import PART, TaskReport, report_from
from headway.spark.state.task_rows import (
    REPORT_EXIT,
    STATE_EXIT,
    TOLD,
    TaskRows,
    output_column,
    rows_schema,
)
from headway.spark.state.vehicle_steps import KIND
from headway.spark.storage.file_stores import file_store
from headway.spark.streams.lower_stream import PART as PLACE
from headway.spark.streams.lower_stream import by_vehicle, vehicle_place
from headway.spark.streams.micro_batches import GroupWork, StreamStep
from headway.spark.streams.publishing import LoggedFiles, RenamedFiles
from headway.spark.tallies import BINS_PER_DOUBLING, Tally

STATES = ".states"
"""behind the name of a folder with the segments of a step"""


class SparkWay:
    """``run`` and the number of a step stand for themselves in the options of a format."""

    def __init__(
        self, session: SparkSession, work: GroupWork, sink: Sink, run: str, on_rows: OnRows
    ) -> None:
        self._session, self._work, self._sink = session, work, sink
        self._run, self._on_rows = run, on_rows
        self._store = file_store(work.output, session)
        self._renamed = RenamedFiles(work.output, self._store)
        self._logged = LoggedFiles(work.output, self._store)
        self._by_log = sink.format in FILES and not self._store.renames_whole
        local = work.checkpoint.is_local
        self.state_folder = str(work.states.path.absolute()) if local else None

    # ---------------------------------------------------------------- a step

    def reports(self, step: StreamStep) -> list[TaskReport]:
        return self._native(step) if step.native else self._by_tasks(step)

    def _by_tasks(self, step: StreamStep) -> list[TaskReport]:
        accounts = self._work.accounts
        rows = TaskRows(step.name, step.token, accounts, self.state_folder)
        task = rows.task(step.computing, tuple(sys.path))
        computed = self._dealt(step).mapInArrow(task, rows_schema(accounts))
        kept = computed.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            told = kept.where(F.col(EXIT) == REPORT_EXIT).select(TOLD).collect()
            reports = [report_from(row[TOLD]) for row in told]
            together = TaskReport(0)
            for place, name in enumerate(accounts):
                count = sum(one.tallies[name].tuples for one in reports if name in one.tallies)
                if count:
                    mine = kept.where(F.col(EXIT) == place).select(f"`{output_column(place)}`.*")
                    together.files += self._write(mine, name, step, count)
            for kind in sorted({kind for one in reports for kind, _ in one.side}):
                mine = kept.where(F.col(EXIT) == SIDE_EXIT).select(f"`{SIDE}`.*")
                together.files += self._write_side(mine, kind, step)
            if self.state_folder is None and any(one.state is not None for one in reports):
                self._write_states(kept, step, reports)
        finally:
            kept.unpersist()
        return [*reports, together]

    def _native(self, step: StreamStep) -> list[TaskReport]:
        assert isinstance(step.computing, NativeRows)
        schemas = step.computing.outputs
        if len(schemas) == 1:
            (name,) = schemas
            return [self._observed(step.data, name, step)]
        kept = step.data.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            return [
                self._observed(frame.output(), name, step)
                for name, frame in exits(kept, schemas).items()
            ]
        finally:
            kept.unpersist()

    def _observed(self, data: DataFrame, name: str, step: StreamStep) -> TaskReport:
        """Counts come with the rows that are written."""
        account, seen = self._work.accounts[name], Observation()
        stamped = account.stamped(data).observe(seen, *_measures(account))
        files = self._write(stamped, name, step, None)
        tally = _tally(seen.get)
        if not tally.tuples:
            files = self._nothing(files)
        return TaskReport(0, files, {name: tally} if tally.tuples else {})

    def _nothing(self, files: list[WrittenFile]) -> list[WrittenFile]:
        """Spark writes a file where there is no row, too."""
        for file in files:
            self._store.remove(self._work.output / file.hidden)
        return []

    # ---------------------------------------------------------------- outputs

    def _write(
        self, rows: DataFrame, name: str, step: StreamStep, count: int | None
    ) -> list[WrittenFile]:
        sink = self._sink
        if sink.format == CONSOLE:
            self._show(rows, name, step, count)
            return []
        # Tables that tell batches apart by a writer and a number that grows (Delta's txnAppId and
        # txnVersion): the end is a writer of its own, or the step after it would have its number.
        run = f"{self._run}-end" if step.name == END else self._run
        options = sink.options_for(output=name, batch=str(step.number), run=run)
        writer = rows.write.format(sink.format).options(**options)
        if sink.format not in FILES:
            writer.mode("append").save()
            return []
        folder = f"{name}.{sink.format}"
        if self._by_log:
            there = set(self._logged.names(folder))
            writer.mode("append").save((self._work.output / folder).hadoop_path)
            return [one for one in self._written(folder, None) if one.final not in there]
        hidden = f"{folder}/.{step.name}.{step.token}{PART}"
        writer.mode("overwrite").save((self._work.output / hidden).hadoop_path)
        return self._written(hidden, f"{folder}/{step.name}")

    def _written(self, hidden: str, named: str | None) -> list[WrittenFile]:
        """The files in a folder that a writer of Spark wrote, and what they will be called; without
        ``named`` they have their names."""
        found: list[WrittenFile] = []
        for entry in self._store.entries(self._work.output / hidden):
            if entry.is_folder or entry.name.startswith(("_", ".")):
                continue
            suffix = entry.name[entry.name.index(".") :] if "." in entry.name else ""
            at = f"{hidden}/{entry.name}"
            final = at if named is None else f"{named}-{len(found):05d}{suffix}"
            found.append(WrittenFile(at, final, 0, entry.size))
        return found

    def _show(self, rows: DataFrame, name: str, step: StreamStep, count: int | None) -> None:
        """The first rows for people; the others stay where they are."""
        if count is None:
            rows.write.format("noop").mode("overwrite").save()
        first = rows.limit(SHOWN_ROWS + 1).collect()
        if not first:
            return
        more = (count or len(first)) - SHOWN_ROWS
        told = "" if more <= 0 else f", and {more:,} rows more" if count else ", and more rows"
        shown = [row.asDict() for row in first[:SHOWN_ROWS]]
        self._on_rows(f"{name}, {step.name}{told}", shown)

    def _write_side(self, rows: DataFrame, kind: str, step: StreamStep) -> list[WrittenFile]:
        folder, name = self._work.sides[kind], f"{self._work.name}-{step.name}"
        hidden = f"{folder}/.{name}.{step.token}{PART}"
        mine = rows.where(F.col(KIND) == kind).drop(KIND)
        mine.write.mode("overwrite").parquet((self._work.output / hidden).hadoop_path)
        return self._written(hidden, f"{folder}/{name}")

    # ---------------------------------------------------------------- states in rows

    def _dealt(self, step: StreamStep) -> DataFrame:
        """The tuples of a partition's vehicles together, and its state where it comes in rows."""
        if step.partitions is None:
            return step.data
        computing = step.computing
        assert isinstance(computing, VehicleRows)
        pairs = [
            (segment.name, part)
            for part in range(step.partitions)
            for segment in computing.before.of(part)
        ]
        if self.state_folder is not None or not pairs:
            return by_vehicle(step.data, step.partitions)
        wanted = self._session.createDataFrame(pairs, f"`{SEGMENT}` string, `{PLACE}` int")
        folders = sorted({name.rpartition("/")[0] for name, _ in pairs})
        found: DataFrame | None = None
        for folder in folders:
            read = self._session.read.parquet((self._work.states / folder).spark_path)
            named = read.withColumn(SEGMENT, F.concat(F.lit(f"{folder}/"), F.col(SEGMENT)))
            found = named if found is None else found.union(named)
        assert found is not None
        states = found.join(F.broadcast(wanted), SEGMENT)
        nulls = [
            F.lit(None).cast(field.dataType).alias(field.name) for field in step.data.schema.fields
        ]
        nothing = (
            F.lit(None).cast("string").alias(SEGMENT),
            F.lit(None).cast("binary").alias(BLOB),
        )
        tuples = step.data.select("*", *nothing, F.expr(vehicle_place(step.partitions)))
        together = tuples.union(states.select(*nulls, SEGMENT, BLOB, PLACE))
        return together.repartitionById(step.partitions, F.col(PLACE)).drop(PLACE)

    def _write_states(self, kept: DataFrame, step: StreamStep, reports: list[TaskReport]) -> None:
        folder = f"{step.name}.{step.token}{STATES}"
        mine = kept.where(F.col(EXIT) == STATE_EXIT).select(SEGMENT, BLOB)
        mine.write.mode("overwrite").parquet((self._work.states / folder).hadoop_path)
        for one in reports:
            if one.state is not None:
                one.state = replace(one.state, name=f"{folder}/{one.state.name}")

    # ---------------------------------------------------------------- publishing

    def publish(self, record: BatchRecord) -> None:
        if not self._by_log:
            self._renamed.publish(record.files)
            return
        self._renamed.publish([one for one in record.files if one.hidden != one.final])
        for name in self._work.accounts:
            self._logged.publish(f"{name}.{self._sink.format}", record)

    def withdraw(self, record: BatchRecord) -> None:
        if self._by_log:
            for name in self._work.accounts:
                self._logged.withdraw(f"{name}.{self._sink.format}", record)
        self._renamed.withdraw(record.files)

    def sweep(self) -> None:
        outputs = [f"{name}.{self._sink.format}" for name in self._work.accounts]
        self._renamed.sweep(self._work.name, outputs, self._work.sides.values())
        if self._by_log:
            for folder in outputs:
                self._logged.sweep(folder)


# ---------------------------------------------------------------- counts by observation


_EDGES = [round(1000 * 2 ** (place / 2)) for place in range(40)]
"""of bins of latencies, microseconds: from a millisecond to some minutes"""


def _measures(account: Account) -> list[Column]:
    names = added_names(account.schema)
    replayed, latency = F.col(names["replayed"]), F.col(names["latency"])
    live = F.when(~replayed, latency)
    return [
        F.count(F.lit(1)).alias("tuples"),
        F.count_if(replayed).alias("replayed"),
        F.count_if(F.col(names["missed"]) & ~replayed).alias("misses"),
        F.max(live).alias("worst"),
        F.max(F.unix_micros(TIMESTAMP_COLUMN)).alias("newest"),
        *(
            F.count_if(live <= F.lit(edge * MICROSECOND)).alias(f"until{place}")
            for place, edge in enumerate(_EDGES)
        ),
    ]


def _tally(seen: Mapping[str, Any]) -> Tally:
    """Each bin's tuples are counted at its upper edge."""
    bins: dict[int, int] = {}
    before = 0
    for place, edge in enumerate(_EDGES):
        if more := seen[f"until{place}"] - before:
            bins[_bin(edge)] = more
        before = seen[f"until{place}"]
    worst = (seen["worst"] or 0) // MICROSECOND
    if rest := seen["tuples"] - seen["replayed"] - before:
        bins[_bin(worst)] = bins.get(_bin(worst), 0) + rest
    return Tally(seen["tuples"], seen["replayed"], seen["misses"], worst, seen["newest"] or 0, bins)


def _bin(latency: int) -> int:
    return ceil(log2(max(latency, 1)) * BINS_PER_DOUBLING)
