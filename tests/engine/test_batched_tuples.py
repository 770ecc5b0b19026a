"""What batches do to tuples: nothing but when they run."""

from __future__ import annotations

import random

from tests.compiler.build import one_node
from tests.engine.batching import (
    MS,
    US,
    batches_in,
    burst,
    chains,
    dropped,
    misses,
    ran,
    run,
    sensor,
    tuples,
)
from tests.engine.support import compiled

from headway.engine.jobs import Arrival
from headway.model.expression import Column, PythonCall
from headway.model.operators import Input, Map
from headway.model.quantities import Cost
from headway.model.query import Output, Query
from headway.model.schema import DataType


def test_malformed_and_late_tuples_in_a_burst_fare_as_without_batches() -> None:
    source = sensor("s", 40, 10 * MS, delay=5 * MS, lateness=2 * MS)
    plan = chains((source, 3, 10 * US, 20 * MS))
    rows: list[object] = [(10_000 + number, number, float(number)) for number in range(40)]
    rows[3] = (10_003, "three", 3.0)
    rows[10] = (10_010, 1)
    rows[11] = None
    rows[20] = (6_000, 20, 20.0)  # late: 4 ms behind
    rows[25] = (9_500, 25, 25.0)  # behind, but not late
    arrivals = [Arrival(11 * MS, "s", row) for row in rows]  # type: ignore[arg-type]
    single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
    assert dropped(batched) == dropped(single)
    assert len(batched.side.dropped) == 3
    assert tuples(batched) == tuples(single)
    assert len(batched.outputs["out_s"]) == 37
    assert batched.kernel.arrived == 40
    assert ran(batched) == ran(single)
    assert sum(batches_in(batched)) >= 35
    assert misses(batched) == {}


def test_tuples_leave_in_the_order_of_single_scheduling() -> None:
    source = sensor("s", 30, 10 * MS, delay=5 * MS)
    plan = chains((source, 1, 10 * US, 20 * MS))
    draw = random.Random(5)
    arrivals = [
        Arrival(10 * MS, "s", (draw.randint(5_000, 10_000), number, 0.0)) for number in range(30)
    ]
    single, batched = run(plan, arrivals), run(plan, arrivals, batching=True)
    assert batched.outputs["out_s"].rows == single.outputs["out_s"].rows
    assert batches_in(batched) == [30]


def test_a_failing_function_costs_its_tuple_only() -> None:
    logarithm = PythonCall("math:log", ("v",), DataType.DOUBLE)  # of 0 it raises
    columns, only = (Column("v", logarithm),), (Input("input", "s"),)
    query = Query(
        name="fails",
        sources=(sensor("s", 20, 10 * MS),),
        steps=(Map(name="f", inputs=only, cost=Cost(10 * US), columns=columns, keep=True),),
        outputs=(Output(name="out", stream="f", deadline=9 * MS),),
    )
    plan = compiled(query, one_node(query))
    single, batched = run(plan, burst("s", 0, 20)), run(plan, burst("s", 0, 20), batching=True)
    assert dropped(batched) == dropped(single)
    assert tuples(batched) == tuples(single)
    assert [(one.where, one.kind) for _, one in batched.side.dropped] == [("f", "failed")]
    assert len(batched.outputs["out"]) == 19
