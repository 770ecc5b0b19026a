"""What a fusion takes, over the fusion number (AEDSMS section 6.2, table 2, figure 15).

Two views, both without a clock, so that every run gives the same numbers:

- *in the engine*: the application's own operators alone on a node, in virtual time. What is charged
  is the declared cost: the paper's 1.84 ms and 11.0 ms, and 1 ms for each further item of type 2,
  which is an assumption, because the paper prints no slope.
- *in the class*: how many filter steps (starts, predictions, updates) the real type 2 operator does
  in one execution. ``benchmarks/bench_fusion.py`` has its speed by the clock.

The fusion number is the number of tuples that one execution fuses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.experiments.collision.application import application
from headway.fusion.state import FilterState
from headway.fusion.surroundings import Sighting, SurroundingsFusion
from headway.fusion.track import Key, Measurement
from headway.model.operators import Fusion, Gather
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import DataType, Schema
from headway.model.user_operator import OperatorContext, Row
from headway.model.vehicle import Node, Vehicle

OPERATORS = {"type 1": "own.sdfo1", "type 2": "sdfo2"}
CYCLE = 100 * MILLISECOND
WARM_UP = 5
"""executions after which every vehicle is known"""


@cache
def _application() -> Plan:
    given = application()
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
        arrivals.append(Arrival(0, _source_name(stream), _row(schema, 0, place)))
    result = Engine(plan=_alone(kind), keep_trace=False).run(arrivals)
    waits = fusion.gather is Gather.TIME or tuples < len(inputs)
    gathering = fusion.timeout or 0 if waits else 0
    return max(result.outputs["fused"].completed) - gathering


def _row(schema: Schema, timestamp: int, vehicle: int) -> Row:
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
        given: dict[str, Sequence[Row]] = {
            on_board: [_row(schemas[on_board], time, 0)],
            radio: [_row(schemas[radio], time, vehicle) for vehicle in range(1, fusion_number)],
        }
        list(counting.process(given, time))
    return counting.steps - before
