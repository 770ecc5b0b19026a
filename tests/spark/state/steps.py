"""A recording through the steps of a stream, cut anywhere; and what one uncut run gives of it."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from tests.contract.recordings import Recording, Tuple

from headway.engine.result_tables import SIDE_SCHEMA, SideRows
from headway.engine.stepwise import Stepwise
from headway.model.plan import Plan
from headway.model.query import Source
from headway.native.arrow_rows import column_kinds
from headway.spark.state.vehicle_states import merged_states
from headway.spark.state.vehicle_steps import StepInput, StepOutput, VehicleSteps

Answers = dict[tuple[str, str], list[str]]
"""(vehicle, output or the kind of a side output) -> its tuples in order"""


def table_of(source: Source, tuples: Sequence[Tuple], positions: Sequence[int | None]) -> Any:
    columns: dict[str, Any] = {
        "vehicle": pa.array([one.vehicle for one in tuples], pa.string()),
        "#at": pa.array([one.arrived_at for one in tuples], pa.int64()),
        "#position": pa.array(positions, pa.int64()),
    }
    fields = zip(source.schema.columns, column_kinds(source.schema), strict=True)
    for place, (field, kind) in enumerate(fields):
        columns[field.name] = pa.array([one.row[place] for one in tuples], kind)
    return pa.table(columns)


def uncut(plan: Plan, recording: Recording) -> Answers:
    """The engine over the whole recording, vehicle by vehicle."""
    found: Answers = defaultdict(list)
    rows = SideRows(plan)
    names = [output.name for output in plan.query.outputs]
    for vehicle in recording.vehicles:
        engine = Stepwise(plan)
        for arrival in recording.arrivals(plan, vehicle):
            engine.take(*arrival)
        engine.finish()
        for result in engine.take_results():
            found[vehicle, names[result.output]].append(repr(result.row))
        for at, one in engine.take_dropped():
            found[vehicle, one.kind.value].append(repr(rows.row(at, one)))
    return dict(found)


def pieces(
    plan: Plan, recording: Recording, cut: random.Random, *, most: int = 5
) -> Iterator[dict[str, Any]]:
    """Micro-batches: each source cut at places of its own, the tuples of each shuffled."""
    count = cut.randint(1, most)
    by_source: dict[str, list[Any]] = {}
    for source in plan.query.sources:
        tuples = recording.of_source(source.name)
        cuts = sorted(cut.randint(0, len(tuples)) for _ in range(count - 1))
        by_source[source.name] = []
        for start, end in zip([0, *cuts], [*cuts, len(tuples)], strict=True):
            places = list(range(start, end))
            cut.shuffle(places)
            piece = table_of(source, [tuples[place] for place in places], places)
            by_source[source.name].append(piece)
    for number in range(count):
        given = {name: tables[number] for name, tables in by_source.items()}
        yield {name: one for name, one in given.items() if one.num_rows or cut.random() < 0.5}


def add(answers: Answers, gave: StepOutput) -> None:
    for name, table in gave.outputs.items():
        for vehicle, *row in zip(*(c.to_pylist() for c in table.columns), strict=True):
            answers[vehicle, name].append(repr(tuple(row)))
    for kind, *row, vehicle in zip(*(plain(c) for c in gave.side.columns), strict=True):
        answers[vehicle, kind].append(repr(tuple(row)))
    assert gave.side.schema.names[1:-1] == SIDE_SCHEMA.names


def plain(column: Any) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    found: list[Any] = column.to_pylist()
    return found


def cut_up(
    steps: Sequence[VehicleSteps], plan: Plan, recording: Recording, cut: random.Random
) -> Answers:
    """Each micro-batch by one of the steps, from bytes: the whole state, or segments of it."""
    answers: Answers = defaultdict(list)
    segments: list[bytes] = []
    for tables in pieces(plan, recording, cut):
        gave = cut.choice(steps).step(StepInput(tables=tables, state=segments))
        add(answers, gave)
        choice = cut.random()
        if choice < 0.4:
            segments = [gave.state]
        elif choice < 0.6 and segments:
            segments = [merged_states([*segments, gave.delta]).to_bytes()]
        else:
            segments = [*segments, gave.delta]
    add(answers, cut.choice(steps).finish(segments))
    return dict(answers)
