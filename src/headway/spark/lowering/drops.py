"""What leaves its way on Spark: late tuples, side outputs, listed as the vehicle engine does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from headway.engine.ingest import Ingest
from headway.engine.operators.fused import Fused, StatelessOperator
from headway.engine.operators.operator_base import MARKED_LATE, DropKind, Dropped
from headway.engine.result_tables import SideRows
from headway.errors import DataError
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.graph import graph_of
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Source
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, Schema
from headway.model.user_operator import Row
from headway.spark.lowering.engine_region import EXIT
from headway.spark.lowering.frames import ARRIVED, LATE, StreamFrame, to_plain
from headway.spark.lowering.given_sources import fits
from headway.spark.lowering.side_rows import LISTED_TYPE, SIDE, SIDE_EXIT, Listing, unpacked
from headway.spark.lowering.source_questions import SourceQuestions
from headway.spark.session.python_workers import enter

# ------------------------------------------------------------
# Which tuples are late: decided per vehicle and source, in the order of arrival.
#
# A tuple is late if its timestamp lies more than the source's lateness behind the newest that
# arrived before it (:mod:`headway.engine.ingest` says the same for one vehicle).


def with_marks(data: DataFrame, source: Source, order: list[str]) -> DataFrame:
    """``data`` and its marks; ``order`` are the columns that order a vehicle's tuples."""
    before = (
        Window.partitionBy(VEHICLE_COLUMN)
        .orderBy(*order)
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    time = F.unix_micros(TIMESTAMP_COLUMN)
    behind = F.max(time).over(before) - time
    late = F.coalesce(behind > F.lit(source.lateness // MICROSECOND), F.lit(False))
    return data.withColumn(LATE, late)


def maybe_late(source: Source) -> Column:
    """Says of two columns alone whether a tuple could be late, or make others late.

    If nothing is sensed after it arrived, the newest timestamp seen so far is never ahead of the
    clock; a tuple no older on arrival than the lateness is then on time. Where that holds for all
    tuples of a source, as in most recordings, they need not be sorted to be marked.
    """
    age = F.col(ARRIVED) - F.unix_micros(TIMESTAMP_COLUMN)
    return ~age.between(F.lit(0), F.lit(source.lateness // MICROSECOND))


# ------------------------------------------------------------
# What native operators and sources leave out, listed as the vehicle engine would list it.
#
# Spark finds the tuples with native columns: those that do not fit their schema, late ones in
# front of joins and windows, those for which a user's function failed. Why each left is then said
# by the vehicle engine's own classes, inside the tasks, for these few tuples only.


_ROW = "#row"
_MISFIT = "misfit"
Explain = Callable[[Row], Dropped]
"""why a tuple left its way"""


class Drops:
    """Collects the side outputs of a plan while it is lowered. ``keep`` makes a DataFrame that is
    used twice be computed once."""

    def __init__(
        self,
        plan: Plan,
        keep: Callable[[DataFrame], DataFrame],
        questions: SourceQuestions,
    ) -> None:
        self._plan = plan
        self._keep = keep
        self._questions = questions
        self._found: list[DataFrame] = []
        self._looked = False
        for source in plan.query.sources:
            known = questions.known_of(source.name).misfits(source)
            questions.ask(source.name, _MISFIT, ~F.expr(fits(source)), known)

    def late(self, operator: str, port: str, frame: StreamFrame) -> None:
        """What goes into a port of a join or a window: late tuples stay outside."""
        if frame.marked:
            late = frame.data.where(F.col(LATE))
            self._add(late, frame.schema, DropKind.LATE, operator, port)

    def failed(self, operator: str, frame: StreamFrame, data: DataFrame, fine: Column) -> DataFrame:
        """``data`` are the tuples of ``frame`` with what functions made of them; gives the same,
        to be computed once."""
        kept = self._keep(data)
        self._add(kept.where(~fine), frame.schema, DropKind.FAILED, operator)
        return kept

    def by_engine(self, tagged: DataFrame) -> None:
        """What the engine in the tasks dropped."""
        mine = tagged.where(F.col(EXIT) == SIDE_EXIT)
        self._found.append(mine.select(VEHICLE_COLUMN, SIDE))

    def table(self) -> DataFrame | None:
        """All of them: kind, the columns of the vehicle engine's side files, vehicle; None where it
        is known that there are none. Looks first which sources have misfits at all: nearly always
        none has, and Python is not needed."""
        if not self._looked:
            self._looked = True
            for source in self._plan.query.sources:
                if self._questions.any(source.name, _MISFIT):
                    misfits = self._questions.data[source.name].where(~F.expr(fits(source)))
                    self._add(misfits, source.schema, DropKind.REJECTED, source.name)
        if not self._found:
            return None
        return unpacked(reduce(lambda one, other: one.union(other), self._found))

    def _add(
        self, data: DataFrame, schema: Schema, kind: DropKind, name: str, port: str | None = None
    ) -> None:
        rows = data.select(VEHICLE_COLUMN, ARRIVED, to_plain(schema).alias(_ROW))
        listed = rows.mapInArrow(_explained(self._plan, kind, name, port), LISTED_TYPE)
        self._found.append(listed)


def _explained(
    plan: Plan, kind: DropKind, name: str, port: str | None
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    text, paths = plan_to_json(plan), tuple(sys.path)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        explain: Explain | None = None
        for batch in batches:
            if not batch.num_rows:
                continue
            if explain is None:
                enter(paths)
                plan = plan_from_json(text)
                explain, listing = _explain(plan, kind, name, port), Listing(SideRows(plan))
            cells = (column.to_pylist() for column in batch.column(_ROW).flatten())
            times = batch.column(ARRIVED).to_pylist()
            if None in times:
                raise DataError("a tuple has no time of arrival", at=f"sources.{name}")
            drops = [
                (at * MICROSECOND, explain(row))
                for at, row in zip(times, zip(*cells, strict=True), strict=True)
            ]
            yield pa.RecordBatch.from_arrays(
                [batch.column(VEHICLE_COLUMN), listing.array(drops)], [VEHICLE_COLUMN, SIDE]
            )

    return run


def _explain(plan: Plan, kind: DropKind, name: str, port: str | None) -> Explain:
    graph = graph_of(plan.query)
    if kind is DropKind.LATE:
        return lambda row: Dropped(name, kind, row, MARKED_LATE, port)
    if kind is DropKind.REJECTED:
        ingest = Ingest(graph.sources[name])

        def refuse(row: Row) -> Dropped:
            ingest.offer(row, 0)
            (dropped,) = ingest.take_side()
            return dropped

        return refuse
    operator = graph.operators[name]
    assert isinstance(operator, StatelessOperator)
    alone = Fused([operator], dict(plan.schemas))

    def fail(row: Row) -> Dropped:
        alone.run(row)
        found = alone.take_side()
        return found[0] if found else Dropped(name, kind, row, "failed, and not when asked again")

    return fail
