"""A query over a whole recording on Spark: each output computed once, accounted and written."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from headway.errors import FileError
from headway.model.graph import Graph, graph_of
from headway.model.plan import Plan
from headway.model.query import Criticality, Output
from headway.spark.accounting import Account, now
from headway.spark.batches.batch_sinks import CONSOLE, FILES, OnRows, Sink
from headway.spark.batches.lower_batch import lower_batch, sources_in_order
from headway.spark.session.job_titles import titled
from headway.spark.session.spark_failures import translated
from headway.spark.side_files import write_side
from headway.spark.sources.checked_files import FOLDER, Quarantine, entry_of, notes
from headway.spark.sources.recorded_files import Inputs
from headway.spark.spark_results import OperatorRows, SparkOutput, SparkRun
from headway.spark.storage.output_folder import OutputFolder

OnOutput = Callable[[str], None]


@dataclass(frozen=True)
class Batch:
    """``on_output`` is called before each output is computed; ``on_rows`` gets the rows that the
    console shows."""

    spark: SparkSession
    plan: Plan
    inputs: Inputs
    folder: OutputFolder
    sink: Sink = field(default_factory=Sink)
    on_output: OnOutput = lambda name: None
    on_rows: OnRows = lambda name, rows: None
    counts: bool = False
    """also count what goes into and out of each operator"""

    def __post_init__(self) -> None:
        """InputError, before anything is computed, for what cannot be read or written."""
        self.sink.check(self.spark)
        self.inputs.check(self.plan.query, streaming=False, spark=self.spark)

    def run(self) -> SparkRun:
        clock = time.perf_counter()
        quarantine = Quarantine(self.folder.part(FOLDER), self.spark, self.folder.mark)
        run = self._without_damaged(quarantine)
        left_out = quarantine.entries()
        if not left_out:
            self.folder.drop(FOLDER)
        return replace(
            run,
            seconds=time.perf_counter() - clock,
            rows_in=None if left_out else run.rows_in,
            notes=notes(left_out),
        )

    def _without_damaged(self, quarantine: Quarantine) -> SparkRun:
        """Damage behind the sound footer of a file shows when Spark reads it: the file is left out
        and the batch begins again. Nothing is visible before all is complete."""
        damaged: set[str] = set()
        watch = self.sink.format in FILES
        while True:
            try:
                run = self._run(quarantine, damaged, watch=watch)
            except FileError as error:
                place = error.problems[0].place
                found = place and self.inputs.source_with(
                    place.file, self.plan.query.sources, self.spark
                )
                if not found or found[1] in damaged:
                    raise
                damaged.add(found[1])
                quarantine.add(entry_of(*found, error))
            else:
                if run is not None:
                    return run
                watch = False
            for name in self.folder.names:
                if name != FOLDER:
                    self.folder.drop(name)

    def _run(self, quarantine: Quarantine, damaged: set[str], *, watch: bool) -> SparkRun | None:
        """None: tuples were late that were only watched for, so the outputs are not right. Marking
        them needs every vehicle's tuples sorted, beside which beginning again is little."""
        began = now()
        schemas = dict(self.plan.schemas)
        done: dict[str, SparkOutput] = {}
        with translated(), ExitStack() as kept:
            given = self.plan.query.sources
            placed = sources_in_order(self.plan)
            sources = self.inputs.read_batch(self.spark, given, quarantine, damaged, placed)
            known, rows_in = sources.known, sources.rows
            for source in given:
                if self.inputs.read_by_python(source, self.spark):
                    sources[source.name] = _kept(sources[source.name], kept)
            accounts = [
                Account(output, schemas[output.stream], began)
                for output in sorted(self.plan.query.outputs, key=urgency)
            ]
            # Tables take the rows of many runs: their columns are always the same.
            since = {} if self.sink.is_table else {a.output.name: a.judged_since for a in accounts}
            with self._titled("looking at the input"):
                lowered = kept.enter_context(
                    lower_batch(self.plan, sources, judged_since=since, known=known, watch=watch)
                )
            for account in accounts:
                output = account.output
                self.on_output(output.name)
                account = replace(account, replay=not lowered.may_be_judged(output.name))
                with self._titled(f"output {output.name}"):
                    done[output.name] = self.sink.write(lowered[output.name], account, self.folder)
                    if not lowered.holds(output.name):
                        return None
                    if self.sink.format == CONSOLE:
                        self.on_rows(output.name, self.sink.shown(lowered[output.name], account))
            self.on_output("side outputs")
            with self._titled("side outputs"):
                side = write_side(lowered.left_out(), self.plan, self.folder)
            operators: tuple[OperatorRows, ...] = ()
            if self.counts:
                self.on_output("counts of operators")
                with self._titled("counts of operators"):
                    operators = operator_rows(graph_of(self.plan.query), lowered.rows())
        outputs = tuple(done[output.name] for output in self.plan.query.outputs)
        return SparkRun(
            outputs=outputs, seconds=0.0, side=side, rows_in=rows_in, operators=operators
        )

    def _titled(self, what: str) -> AbstractContextManager[None]:
        return titled(self.spark, f"headway {self.plan.query.name}: {what}")


def operator_rows(graph: Graph, rows: Mapping[str, int]) -> tuple[OperatorRows, ...]:
    """``rows`` are the tuples of the streams, where they are known."""
    found = [OperatorRows(name, rows.get(name), rows.get(name)) for name in graph.sources]
    for name in graph.order:
        taken = [rows.get(stream) for stream in graph.operators[name].streams]
        known = [one for one in taken if one is not None]
        whole = sum(known) if len(known) == len(taken) else None
        found.append(OperatorRows(name, whole, rows.get(name)))
    return tuple(found)


def _kept(data: DataFrame, until: ExitStack) -> DataFrame:
    """Read once: every output, and the search for late and rejected tuples, would read again."""
    kept = data.persist()
    until.callback(kept.unpersist)
    return kept


def urgency(output: Output) -> tuple[bool, int]:
    """Hard before soft, then the earliest deadline first."""
    return output.criticality is not Criticality.HARD, output.deadline or 0
