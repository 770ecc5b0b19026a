"""The native engine gives what the vehicle engine gives, whichever way its tuples come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.compiler.build import one_node
from tests.engine.support import compiled
from tests.native.needed import needs_compiler
from tests.native.row_layouts import layout_of
from tests.native.same_runs import assert_same, seen, table_of

from headway.compiler.passes import recompile
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.operators.operator_base import DropKind
from headway.errors import EnvironmentMissing, InputError
from headway.front_door.compiling import compile
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Map
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import schema
from headway.native import arriving_rows
from headway.native.compiled_program import vehicle_program
from headway.native.library import Keeps, NativeLibrary
from headway.native.native_engine import NativeEngine

pytestmark = needs_compiler
EXAMPLES = Path(__file__).parents[2] / "examples"


def hello() -> Plan:
    return compile(EXAMPLES / "hello/query.yaml", EXAMPLES / "hello/vehicle.yaml").plan


def speeds(count: int) -> list[Arrival]:
    return [
        Arrival((10 * i + 1) * MILLISECOND, "speed", (10_000 * i, 20.0 + i % 20))
        for i in range(count)
    ]


ALL_TYPES = schema(
    b="boolean", i="int", l="bigint", f="float", d="double", t="timestamp",
    s="string(5)", u="string",
)  # fmt: skip


def all_types() -> Plan:
    """Columns of every type pass a filter and a map that changes nothing."""
    query = Query(
        name="all_types",
        sources=(
            Source(name="first", schema=ALL_TYPES, rate=Rate(2, MILLISECOND)),
            Source(name="second", schema=ALL_TYPES, rate=Rate(2, MILLISECOND)),
        ),
        steps=(
            Filter(name="most", inputs=(Input("input", "first"),), where=Sql("i IS NULL OR i < 9"),
                   cost=Cost(20 * MICROSECOND)),
            Map(name="copy", inputs=(Input("input", "second"),), keep=True,
                columns=(Column("twice", Sql("d * 2")),), cost=Cost(30 * MICROSECOND)),
        ),
        outputs=(
            Output(name="one", stream="most", deadline=MILLISECOND),
            Output(name="two", stream="copy", deadline=MILLISECOND),
        ),
    )  # fmt: skip
    return compiled(query, one_node(query))


VALUES: list[tuple[Any, ...]] = [
    (True, 1, 1 << 40, 0.5, 0.1, 5, "abc", "x" * 128),
    (False, -(1 << 31), -(1 << 63), -0.0, math.nan, -7, "", ""),
    (None, None, None, None, None, None, None, None),
    (True, (1 << 31) - 1, (1 << 63) - 1, math.inf, -math.inf, 0, "äöé"[:2], "日本語"),
    (False, 0, 0, math.nan, 1e308, 1 << 52, "a\0b", "\x7f"),
]


def mixed() -> list[Arrival]:
    """Also some that do not have their form."""
    found = []
    for i in range(40):
        row: tuple[Any, ...] = (1000 * i, *VALUES[i % len(VALUES)])
        if i % 11 == 3:
            row = (*row[:7], "longer than five", "u")
        if i % 13 == 5:
            row = (*row[:8], "y" * 200)
        if i % 17 == 7:
            row = (None, *row[1:])
        if i % 19 == 8:
            row = row[:3]
        found.append(Arrival(i // 2 * MILLISECOND, ("first", "second")[i % 2], row))
    return found


def test_hello() -> None:
    result = assert_same(hello(), speeds(200))
    assert len(result.outputs["alarm"]) == 90
    assert result.summary().decisions == 200


@pytest.mark.parametrize("policy", ["s-edf-primitive", "fifo+", "mc+", "rate-monotonic", "static"])
def test_policies(policy: str) -> None:
    assert_same(hello(), speeds(50), policy)


def test_no_costs() -> None:
    assert_same(hello(), speeds(50), charged=False)


def test_nothing_arrives() -> None:
    assert_same(hello(), [])


def test_every_type_and_what_does_not_fit() -> None:
    plan, arrivals = all_types(), mixed()
    python = Engine(plan=plan).run(arrivals)
    native = NativeEngine(plan=plan).run(arrivals)
    rejected = [one for _, one in native.side.dropped]
    too_long = [one for one in rejected if "compiled program" in one.reason]
    assert len(too_long) == 3
    assert all(one.kind is DropKind.REJECTED and "string(200)" in one.reason for one in too_long)
    # Python has room for a text of any length; else both say the same.
    assert len(rejected) == len(python.side.dropped) + len(too_long)
    fits = [one for one in arrivals if len(one.row) < 9 or one.row[8] != "y" * 200]
    assert_same(plan, fits)


def test_who_does_not_keep_its_offset_is_named() -> None:
    plan = hello()
    (speed,) = plan.query.sources
    plan = recompile(plan, replace(plan.query, sources=(replace(speed, offset=MILLISECOND),)))
    given = [
        Arrival((10 * i + (1 if i % 4 else 2)) * MILLISECOND, "speed", (10_000 * i, 20.0))
        for i in range(100)
    ]
    (beyond,) = NativeEngine(plan=plan).run(given).summary().exceeded
    assert (beyond.declared, beyond.count) == ("rate: 1 per 10 ms, offset: 1 ms", 25)
    assert Engine(plan=plan).run(given).summary().exceeded == (beyond,)


def test_tuples_beyond_a_rate_are_counted_even_if_rejected() -> None:
    burst = [Arrival(0, "speed", (0, "no number"))] * 3 + [Arrival(0, "speed", (0, 50.0))]
    result = assert_same(hello(), burst)
    (beyond,) = result.summary().exceeded
    assert (beyond.where, beyond.count) == ("speed", 3)


def test_a_run_in_many_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving_rows, "CHUNK", 3)
    assert_same(hello(), speeds(100))


def test_an_engine_runs_again_from_the_beginning() -> None:
    engine = NativeEngine(plan=hello())
    first = seen(engine.run(speeds(30)))
    assert seen(engine.run(speeds(30))) == first


def test_outputs_are_told_in_order_as_the_run_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving_rows, "CHUNK", 4)
    told: list[tuple[str, Any, int]] = []
    when: list[int] = []

    def arriving() -> Iterator[Arrival]:
        for arrival in mixed():
            when.append(len(told))
            yield arrival

    plan = all_types()
    engine = NativeEngine(
        plan=plan,
        keep_outputs=False,
        on_output=lambda name, row, completed: told.append((name, row, completed)),
    )
    result = engine.run(arriving())
    assert not any(map(len, result.outputs.values()))
    wanted: list[tuple[str, Any, int]] = []
    Engine(
        plan=plan, on_output=lambda name, row, completed: wanted.append((name, row, completed))
    ).run([one for one in mixed() if len(one.row) < 9 or one.row[8] != "y" * 200])
    assert [repr(one) for one in told] == [repr(one) for one in wanted]
    assert when[-1] > 0


def test_what_the_arrivals_raise_is_raised() -> None:
    def broken() -> Iterator[Arrival]:
        yield from speeds(10)
        raise LookupError("the recording ends here")

    with pytest.raises(LookupError, match="ends here"):
        NativeEngine(plan=hello()).run(broken())


# ---------------------------------------------------------------- tables


def test_tables_give_what_tuples_give() -> None:
    plan = all_types()
    arrivals = [one for one in mixed() if len(one.row) == 9]
    engine = NativeEngine(plan=plan)
    tables = {name: table_of(plan, name, arrivals) for name in ("first", "second")}
    wanted = engine.run(arrivals)
    assert wanted.side.dropped
    assert seen(engine.run_tables(tables)) == seen(wanted)


# ---------------------------------------------------------------- the library


def test_the_library_tells_how_rows_lie_in_memory() -> None:
    plan = all_types()
    with vehicle_program(plan).load() as library:
        for stream, found in library.layouts.items():
            made = dict(plan.schemas)[stream]
            assert found == layout_of(made), stream
        assert [name for name, _ in library.sources] == ["first", "second"]
        assert library.outputs == (("one", "most"), ("two", "copy"))


def test_libraries_of_one_program_share_nothing() -> None:
    program = vehicle_program(hello())
    with program.load() as one, program.load() as two:
        for library in (one, two):
            library.start(Keeps.OUTPUTS)
        entrances = arriving_rows.Entrances(program.graph.sources.values(), one.layouts)
        one.run(entrances.chunks(speeds(100)))
        two.run(iter(()))
        assert one.counts().arrived == 100
        assert two.counts().arrived == 0
        assert len(two.output_rows(0).rows) == 0
        assert np.all(one.output_rows(0).completed > 0)


STATUS = Path("/proc/self/status")


def resident() -> int:
    """KiB in real memory."""
    lines = STATUS.read_text().splitlines()
    return int(next(line for line in lines if "VmRSS" in line).split()[1])


@pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells how much memory is used")
def test_a_run_leaves_no_memory_behind() -> None:
    """Buffers grow as thousands of tuples wait; all goes when the library does."""
    burst = [Arrival(MILLISECOND, "speed", (i, 50.0)) for i in range(5_000)]
    program = vehicle_program(hello())
    with program.load() as library:
        entrances = arriving_rows.Entrances(program.graph.sources.values(), library.layouts)
        given = entrances.laid_out(burst)
    used = []
    for _ in range(60):
        with program.load() as library:
            library.start(Keeps.OUTPUTS | Keeps.TRACE)
            library.run(iter([given]))
            assert library.counts().results == 5_000
        used.append(resident())
    assert used[-1] - used[9] < 20 * 1024, used  # a run takes some MiB


def test_a_library_of_another_plan_is_refused() -> None:
    program = vehicle_program(hello())
    other = {name: schema(v="float") for name in program.layout.schemas}
    with pytest.raises(EnvironmentMissing, match="other columns than its plan: timestamp, v"):
        NativeLibrary(program.path, other)


def test_what_no_compiled_program_can_do_is_named() -> None:
    with pytest.raises(InputError, match="unknown policy 'nonsense'"):
        NativeEngine(plan=hello(), policy="nonsense")
    with pytest.raises(InputError, match="'least-laxity' cannot be compiled"):
        NativeEngine(plan=hello(), policy="least-laxity")
