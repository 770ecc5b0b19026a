"""What a fusion takes, over the fusion number (AEDSMS section 6.2, figure 15).

Two views, both without a clock, so that every run gives the same numbers:

- *in the engine*: the application's own operators alone on a node, in virtual time. What is charged
  is the declared cost: 1.84 ms and 11.0 ms, copied from the paper's table 2, which is an input here
  and no result, and 1 ms for each further item of type 2, an assumption, because the paper prints
  no slope.
- *in the class*: how many filter steps (starts, predictions, updates) the real type 2 operator does
  in one execution. ``benchmarks/bench_fusion.py`` has its speed by the clock.

The fusion number is the number of tuples that one execution fuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean, linear_regression

from headway.compiler import compile_query
from headway.drive.collision_warning import load_collision_warning
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.fusion.state import FilterState
from headway.fusion.surroundings import Sighting, SurroundingsFusion
from headway.fusion.track import Key, Measurement
from headway.model.operators import Fusion, Gather
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, Schema
from headway.model.user_operator import OperatorContext
from headway.model.user_operator import Row as TupleRow
from headway.model.vehicle import Node, Vehicle
from headway.report.charts import LineChart, Point, Series
from headway_studies.provenance import assumed
from headway_studies.row_reading import number, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import Grid

# ----------------------------------------------------------------
# The straight line of least squares through points, and how far they lie from it.


@dataclass(frozen=True, kw_only=True)
class StraightLine:
    slope: float
    intercept: float
    mean_error: float
    """mean distance of the points from the line, along y"""

    def at(self, x: float) -> float:
        return self.intercept + self.slope * x


def fitted(xs: Sequence[float], ys: Sequence[float]) -> StraightLine:
    """Needs two different x."""
    slope, intercept = linear_regression(xs, ys)
    error = fmean(abs(y - intercept - slope * x) for x, y in zip(xs, ys, strict=True))
    return StraightLine(slope=slope, intercept=intercept, mean_error=error)


OPERATORS = {"type 1": "own.sdfo1", "type 2": "sdfo2"}
CYCLE = 100 * MILLISECOND
WARM_UP = 5
"""executions after which every vehicle is known"""


@cache
def _application() -> Plan:
    given = load_collision_warning()
    return compile_query(given.query, given.vehicle)


@cache
def operator(kind: str) -> Fusion:
    """The application's fusion operator of a type."""
    name = OPERATORS[kind]
    found = next(one for one in _application().query.operators if one.name == name)
    if not isinstance(found, Fusion):
        raise TypeError(f"{name} is no fusion operator")
    return found


def _inputs(kind: str) -> dict[str, Schema]:
    """Stream -> its schema, in the order of the ports."""
    schemas = dict(_application().schemas)
    return {stream: schemas[stream] for stream in operator(kind).streams}


def _source_name(stream: str) -> str:
    return stream.replace(".", "_")


@cache
def _alone(kind: str) -> Plan:
    """A query of this operator only, on one node without scheduling cost."""
    fusion = operator(kind)
    names = {stream: _source_name(stream) for stream in _inputs(kind)}
    step = replace(
        fusion,
        name="fusion",
        inputs=tuple(replace(port, stream=names[port.stream]) for port in fusion.inputs),
    )
    sources = tuple(
        Source(name=names[stream], schema=schema, rate=Rate(1, SECOND))
        for stream, schema in _inputs(kind).items()
    )
    output = Output(name="fused", stream="fusion", deadline=SECOND)
    vehicle = Vehicle(
        name="one",
        nodes=(Node(name="ecu"),),
        sensors=tuple((source.name, "ecu") for source in sources),
    )
    return compile_query(
        Query(name="alone", sources=sources, steps=(step,), outputs=(output,)), vehicle
    )


def latency(kind: str, tuples: int) -> int:
    """Nanoseconds from the moment an execution has its tuples to its output, in virtual time.

    The first tuple comes by the first port, all others by the last."""
    fusion, inputs = operator(kind), list(_inputs(kind).items())
    arrivals = []
    for place in range(tuples):
        stream, schema = inputs[0 if place == 0 else -1]
        arrivals.append(Arrival(0, _source_name(stream), _tuple_of(schema, 0, place)))
    result = Engine(plan=_alone(kind), keep_trace=False).run(arrivals)
    waits = fusion.gather is Gather.TIME or tuples < len(inputs)
    gathering = fusion.timeout or 0 if waits else 0
    return max(result.outputs["fused"].completed) - gathering


def _tuple_of(schema: Schema, timestamp: int, vehicle: int) -> TupleRow:
    """A tuple about a vehicle, ours first; microseconds."""
    known = {
        "id": vehicle,
        "own": vehicle == 0,
        "sensor": "own" if vehicle == 0 else "v2v",
        "x": 2.0 * timestamp / CYCLE + vehicle,
        "y": 10.0 * vehicle,
        "vx": 20.0,
        "v": 20.0,
    }
    defaults = {DataType.BOOLEAN: False, DataType.STRING: "", DataType.BIGINT: 0}
    unit = {name: 1.0 for name in schema.names if name.startswith("var")}
    values = {field.name: defaults.get(field.type, 0.0) for field in schema.fields} | unit
    return (timestamp // MICROSECOND, *(known.get(name, values[name]) for name in schema.names))


class CountingFusion(SurroundingsFusion):
    """Type 2 as it is, with a count of its filter steps."""

    steps = 0

    def first(self, object: Key, measurement: Measurement[Sighting]) -> FilterState:
        self.steps += 1
        return super().first(object, measurement)

    def predict(self, state: FilterState, to: int) -> FilterState:
        self.steps += 1
        return super().predict(state, to)

    def update(self, state: FilterState, measurement: Measurement[Sighting]) -> FilterState:
        self.steps += 1
        return super().update(state, measurement)


def filter_steps(fusion_number: int) -> int:
    """Filter steps of one execution of type 2 that fuses so many tuples, each of a vehicle that is
    known already; ours comes from on board, the others by radio."""
    fusion = operator("type 2")
    on_board, radio = (port.port for port in fusion.inputs)
    schemas = dict(zip((on_board, radio), _inputs("type 2").values(), strict=True))
    counting = CountingFusion()
    windows = {
        "front": fusion.front,
        "rear": fusion.rear,
        "object_key": fusion.object_key,
        "sensor_key": fusion.sensor_key,
    }
    counting.open(
        OperatorContext(
            name=fusion.name,
            inputs=schemas,
            output=fusion.schema,
            parameters=dict(fusion.parameters),
            windows=windows,
        )
    )
    before = 0
    for execution in range(WARM_UP + 1):
        before, time = counting.steps, execution * CYCLE
        given: dict[str, Sequence[TupleRow]] = {
            on_board: [_tuple_of(schemas[on_board], time, 0)],
            radio: [
                _tuple_of(schemas[radio], time, vehicle) for vehicle in range(1, fusion_number)
            ],
        }
        list(counting.process(given, time))
    return counting.steps - before


TABLE_2 = {"type 1": 1.84, "type 2": 11.0}
"""ms, at fusion number 1"""
FIGURE_15_ERROR = 1.64
"""ms, between measured and predicted, on the authors' processor"""
STEPS = assumed("filter steps of our own operator stand for the time that theirs took")
LINEAR = 0.05
"""of the mean: filter steps this near to the line are called linear"""
MOST = 60
TYPE_1_TUPLES = 2
"""a position and a speed make one fusion"""


def cells(quick: bool) -> list[Cell]:
    return [
        {"first": first, "last": first + 9, "step": 3 if quick else 1}
        for first in range(1, MOST + 1, 10)
    ]


def run(cell: Cell) -> list[Row]:
    fusion_numbers = range(whole(cell, "first"), whole(cell, "last") + 1, whole(cell, "step"))
    rows = [
        _row("type 2", count, latency("type 2", count)) | {"steps": filter_steps(count)}
        for count in fusion_numbers
    ]
    if 1 in fusion_numbers:
        rows.append(_row("type 1", 1, latency("type 1", TYPE_1_TUPLES)))
    return list(rows)


def _row(kind: str, count: int, nanoseconds: int) -> dict[str, float | str | None]:
    return {
        "kind": kind, "fusion_number": count, "latency_ms": nanoseconds / MILLISECOND,
        "steps": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_linear(rows),),
        pictures=(_chart(rows), _copied(rows)),
    )


def _linear(rows: Sequence[Row]) -> Claim:
    """Latencies here follow declared costs and show nothing; that the real operator does work in
    proportion to the fusion number is what these rest on."""
    fused = where(rows, kind="type 2")
    counts, steps = values(fused, "fusion_number"), values(fused, "steps")
    work = fitted(counts, steps)
    apart = work.mean_error / fmean(steps)
    return stated(
        "figure 15",
        "type 2 is linear in the fusion number, "
        f"{FIGURE_15_ERROR} ms from the fitted line in the mean",
        f"the real operator does {work.intercept:.1f} + {work.slope:.2f} filter steps an item, "
        f"{apart:.1%} from the line in the mean; milliseconds are not measured here",
        came=STEPS,
        holds=work.slope > 0 and apart < LINEAR,
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    fused = where(rows, kind="type 2")
    points = tuple(
        Point(x=number(row, "fusion_number"), y=number(row, "latency_ms")) for row in fused
    )
    line = fitted([point.x for point in points], [point.y for point in points])
    ends = (points[0].x, points[-1].x)
    return LineChart(
        title="Figure 15: latency of type 2 over the fusion number",
        x="fusion number",
        y="latency, ms",
        series=(
            Series(name="type 2 in the engine", points=points),
            Series(name="fitted line", points=tuple(Point(x=x, y=line.at(x)) for x in ends)),
            Series(
                name="table 2",
                points=(Point(x=1, y=TABLE_2["type 2"]),),
                published=True,
            ),
        ),
        note="Virtual time: declared costs. The paper prints no slope; 1 ms an item is assumed.",
    )


def _copied(rows: Sequence[Row]) -> Grid:
    """Table 2 comes out of the engine because it was put in."""
    return Grid(
        title="Inputs copied from table 2 (fusion number 1, 800 MHz): no result",
        headers=("fusion", "printed", "declared, in virtual time"),
        rows=tuple(
            (kind, f"{printed:g} ms", f"{number(row, 'latency_ms'):g} ms")
            for kind, printed in TABLE_2.items()
            for row in where(rows, kind=kind, fusion_number=1)
        ),
    )


STUDY = Study(
    name="fusion",
    paper=Paper.AEDSMS,
    figures=("figure 15",),
    title="What a fusion costs",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
