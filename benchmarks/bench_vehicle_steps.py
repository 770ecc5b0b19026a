"""What a task of a stream does with a micro-batch, without Spark: many vehicles' tuples and states
in, results and new states out; compiled, and by the Python engine.

Both take turns over the same tuples, and the answers are compared. Times are the processor's, of
this process alone, so that other programs on the machine matter little. Medians over the rounds;
``B`` is the state of a vehicle.

    python benchmarks/bench_vehicle_steps.py [window join fusion] [--rows 75000]
        [--vehicles 200,2000,10000] [--rounds 7] [--python-rows 4000]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from stream_plans import GPS, SPEED, VEHICLE

from headway.compiler import compile_query
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Fusion, Input, Join, Operator
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import Output, Query, Source
from headway.model.schema import Schema, schema
from headway.native.arrow_rows import column_kinds
from headway.spark.state.step_programs import step_program
from headway.spark.state.vehicle_steps import StepInput, VehicleSteps, vehicle_steps

START_US = 1_700_000_000_000_000
EVERY_US = 10_000
"""of each vehicle and source"""
LATENESS = 100 * MILLISECOND
READING = schema(v="double", k="int")


def window() -> Plan:
    step = Aggregate(
        name="x",
        inputs=(Input("input", "s"),),
        window=SECOND,
        every=SECOND,
        columns=(Column("mean", Sql("avg(v)")), Column("n", Sql("count(*)"))),
    )
    return _plan(step, s=READING)


def join() -> Plan:
    step = Join(
        name="x",
        inputs=(Input("a", "s"), Input("b", "t")),
        within=5 * MILLISECOND,
        keys=(("k", "k"),),
        columns=(Column("v", Sql("a.v + b.v")),),
    )
    return _plan(step, s=READING, t=READING)


def fusion() -> Plan:
    step = Fusion(
        name="x",
        inputs=(Input("gps", "gps"), Input("speed", "speed")),
        implementation="headway.fusion.own_vehicle:OwnVehicleFusion",
        schema=VEHICLE,
        front=SECOND,
        rear=SECOND,
        timeout=50 * MILLISECOND,
        most_outputs=1,
    )
    return _plan(step, gps=GPS, speed=SPEED)


def _plan(step: Operator, **sources: Schema) -> Plan:
    return compile_query(
        Query(
            name=step.kind,
            sources=tuple(
                Source(name=name, schema=columns, lateness=LATENESS)
                for name, columns in sources.items()
            ),
            steps=(step,),
            outputs=(Output(name="out", stream="x", deadline=SECOND),),
        )
    )


CASES: dict[str, Callable[[], Plan]] = {"window": window, "join": join, "fusion": fusion}


def tables(plan: Plan, vehicles: int, rows: int, first: int) -> tuple[dict[str, Any], int, int]:
    """A micro-batch as the vehicles drive side by side, from their ``first`` tuple on; how many
    tuples it has, and how many of each vehicle and source."""
    each = max(1, rows // vehicles // len(plan.query.sources))
    names = pa.array(np.tile([f"vehicle-{number:05}" for number in range(vehicles)], each))
    times = np.repeat(START_US + (first + np.arange(each)) * EVERY_US, vehicles)
    draw = np.random.default_rng(first)
    found = {}
    for place, source in enumerate(plan.query.sources):
        columns = {
            "vehicle": names,
            "#at": pa.array(times + 1000 * place),
            "#position": pa.array(np.arange(len(times))),
            "timestamp": pa.array(times + 1000 * place),
        }
        kinds = column_kinds(source.schema)[1:]
        for field, kind in zip(source.schema.fields, kinds, strict=True):
            columns[field.name] = pa.array(draw.integers(0, 3, len(times))).cast(kind)
        found[source.name] = pa.table(columns)
    return found, len(times) * len(found), each


def measured(
    steps: VehicleSteps, plan: Plan, vehicles: int, rows: int, rounds: int
) -> tuple[float, float, list[Any]]:
    """Tuples a second, bytes of a vehicle's state, and all results."""
    state: bytes | None = None
    taken, outputs, first, count = [], [], 0, 0
    for _ in range(rounds + 2):
        given, count, each = tables(plan, vehicles, rows, first)
        first += each
        start = time.process_time()
        gave = steps.step(StepInput(given, state))
        state = gave.state
        taken.append(time.process_time() - start)
        outputs.append(gave.outputs["out"])
    assert state is not None
    return count / statistics.median(taken[2:]), len(state) / vehicles, outputs


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    asked.add_argument("cases", nargs="*", default=list(CASES))
    asked.add_argument("--rows", type=int, default=75_000)
    asked.add_argument("--vehicles", default="200,2000,10000")
    asked.add_argument("--rounds", type=int, default=7)
    asked.add_argument("--python-rows", type=int, default=4_000)
    given = asked.parse_args()
    for case in given.cases:
        plan = CASES[case]()
        program = step_program(plan)
        if program.library is None:
            raise SystemExit(f"{case} cannot be compiled: {program.reason}")
        compiled = vehicle_steps(plan, program=program.library)
        python = vehicle_steps(plan)
        few = max(1, given.python_rows // 100)
        slow, _, theirs = measured(python, plan, few, given.python_rows, 3)
        quick, _, ours = measured(compiled, plan, few, given.python_rows, 3)
        same = all(one.equals(other) for one, other in zip(ours, theirs, strict=True))
        print(f"{case}: Python {slow:,.0f} rows/s, {few} vehicles; compiled {quick / slow:.0f}x of "
              f"it; {'the same results' if same else 'OTHER RESULTS'}")  # fmt: skip
        for vehicles in map(int, given.vehicles.split(",")):
            rate, size, _ = measured(compiled, plan, vehicles, given.rows, given.rounds)
            print(f"  {vehicles:6,} vehicles: {rate / 1e6:6.2f} M rows/s, {size:6,.0f} B")


if __name__ == "__main__":
    main()
