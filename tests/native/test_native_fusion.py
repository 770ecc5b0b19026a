"""The fusions of the native engine give the numbers of their Python twins, to the last bit."""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.compiled import behaving
from tests.native.cpp_compiler import SANITIZED
from tests.native.operator_driver import GROWS, Twins, built, cpp_row

from headway.engine.operators.user_defined import CustomOperator
from headway.errors import InputError, QueryError
from headway.model.graph import Graph
from headway.model.operators import AssociationGate, Fusion, Input
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.schema import Schema, schema
from headway.model.user_operator import Row
from headway.native.buffer_sizes import OperatorSizes
from headway.native.cpp_fusion import OWN_VEHICLE, SURROUNDINGS, write_fusion
from headway.native.cpp_names import Names
from headway.native.cpp_streams import Streams
from headway.native.cpp_types import row_struct
from headway.native.operator_code import WriteContext

ABSURD = [None, 0.0, -0.0, 1e9, -1e9, 1.1e9, float("nan"), float("inf"), -float("inf"), 1e-300]


def fusion_source(
    operator: Fusion, inputs: Mapping[str, Schema], capacity: int = 16, items: int = 16
) -> str:
    """The program of a fusion: rows as the generator lays them out, and its Spec."""
    names = {port: f"{port.title()}Row" for port in inputs}
    rows = {port: row_struct(names[port], one) for port, one in inputs.items()}
    output = row_struct("Estimate", operator.schema)
    streams = Streams(
        Graph({}, {}, {}, {}, {}),
        {port.stream: inputs[port.port] for port in operator.inputs},
        {},
        {},
    )
    context = WriteContext(
        streams=streams,
        inputs=rows,
        output=output,
        schema=operator.schema,
        sizes=OperatorSizes(
            objects=capacity, measurements=capacity, estimates=capacity, batch=items
        ),
        names=Names(["Estimate", *names.values()]),
        function="fused",
        type_name="Fused",
    )
    code = write_fusion(operator, context)
    headers = "\n".join(f'#include "{header}"' for header in sorted(code.headers))
    structs = [cpp_row(names[port], one) for port, one in inputs.items()]
    sizes = ", ".join(f"sizeof({name})" for name in names.values())
    return "\n".join(
        [
            '#include "operator_driver.hpp"',
            headers,
            *structs,
            cpp_row("Estimate", operator.schema),
            *code.text,
            f"int main() {{ return driver::run<decltype(fused)>({{{sizes}}}, sizeof(Estimate)); }}",
        ]
    )


# -------------------------------------------------------------------- cases

MOTION = schema(
    id="string(8)",
    sensor="string(5)",
    own="boolean",
    at="timestamp",
    x="double",
    y="double",
    vx="double",
    vy="double",
    var_x="double",
    var_y="double",
    var_vx="double",
    var_vy="double",
    speed="double",
    heading="double",
    conf="double",
)


def _ports(*names: str) -> tuple[Input, ...]:
    return tuple(Input(name, name) for name in names)


def own_plain() -> tuple[Fusion, dict[str, Schema]]:
    """All that a GPS can tell, in doubles."""
    gps = schema(
        x="double", y="double", var_pos="double", vx="double", vy="double", bearing="double [deg]"
    )
    fusion = Fusion(
        name="own",
        inputs=_ports("gps", "speed"),
        implementation=OWN_VEHICLE,
        schema=MOTION,
        front=300 * MICROSECOND,
        rear=900 * MICROSECOND,
        parameters=(("id", "car"), ("acceleration_variance", 2)),
        most_outputs=1,
    )
    return fusion, {"gps": gps, "speed": schema(v="double", var_v="double")}


def own_keyed() -> tuple[Fusion, dict[str, Schema]]:
    """Several objects by name, other types and units, the ports the other way round."""
    gps = schema(
        name="string(3)",
        x="int",
        y="float",
        var_x="float",
        var_y="bigint",
        vx="float",
        vy="double",
        var_v="float",
        heading="float [rad]",
    )
    output = schema(name="string(2)", x="float", y="double", speed="float", at="timestamp")
    fusion = Fusion(
        name="own",
        inputs=_ports("speed", "gps"),
        implementation=OWN_VEHICLE,
        schema=output,
        front=2000 * MICROSECOND,
        rear=500 * MICROSECOND,
        object_key="name",
        parameters=(("id", "me"), ("speed_variance", 0.5), ("least_speed", 0.001)),
    )
    return fusion, {"speed": schema(name="string(3)", v="float"), "gps": gps}


def around_plain() -> tuple[Fusion, dict[str, Schema]]:
    seen = schema(
        id="bigint",
        sensor="string(5)",
        own="boolean",
        x="double",
        y="double",
        vx="double",
        vy="double",
        var_x="double",
        var_y="double",
        var_vx="double",
        var_vy="double",
    )
    heard = schema(id="int", sensor="string(9)", x="double", y="double", var_pos="double")
    output = schema(
        id="bigint", own="boolean", at="timestamp", x="double", y="double", conf="float"
    )
    fusion = Fusion(
        name="around",
        inputs=_ports("board", "v2v"),
        implementation=SURROUNDINGS,
        schema=output,
        front=400 * MICROSECOND,
        rear=800 * MICROSECOND,
        object_key="id",
        sensor_key="sensor",
        most_outputs=1,
    )
    return fusion, {"board": seen, "v2v": heard}


def around_named() -> tuple[Fusion, dict[str, Schema]]:
    """Objects by number that the output cannot always hold; our own is named by the query."""
    seen = schema(id="bigint", x="float", y="int", var_pos="double", vx="float", vy="float")
    fusion = Fusion(
        name="around",
        inputs=_ports("zeta", "alpha"),
        implementation=SURROUNDINGS,
        schema=schema(id="int", own="boolean", sensor="string", x="double", vy="double"),
        front=100 * MICROSECOND,
        rear=100 * MICROSECOND,
        object_key="id",
        parameters=(("own_id", 1),),
    )
    return fusion, {"zeta": seen, "alpha": seen}


def around_texts() -> tuple[Fusion, dict[str, Schema]]:
    seen = schema(who="string(3)", x="double", y="double", var_x="double", var_y="double")
    more = schema(who="string(7)", own="boolean", x="double", y="double", var_pos="double")
    fusion = Fusion(
        name="around",
        inputs=_ports("b", "a"),
        implementation=SURROUNDINGS,
        schema=schema(who="string(7)", own="boolean", speed="double", heading="double"),
        front=50 * MICROSECOND,
        rear=SECOND,
        object_key="who",
    )
    return fusion, {"b": seen, "a": more}


def own_gated() -> tuple[Fusion, dict[str, Schema]]:
    """A fix may be another vehicle's; all fixes share an error."""
    fusion, inputs = own_plain()
    parameters = (*fusion.parameters, ("shared_variance", 2.5))
    return replace(fusion, gate=AssociationGate(0.95, 2), parameters=parameters), inputs


def around_gated() -> tuple[Fusion, dict[str, Schema]]:
    fusion, inputs = around_plain()
    return replace(fusion, gate=AssociationGate(0.9, 2)), inputs


def around_both() -> tuple[Fusion, dict[str, Schema]]:
    """Another object takes over at once."""
    fusion, inputs = around_texts()
    return replace(fusion, correlated=True, gate=AssociationGate(0.999, 1)), inputs


CASES = {
    one.__name__: one
    for one in (
        own_plain,
        own_keyed,
        own_gated,
        around_plain,
        around_named,
        around_texts,
        around_gated,
        around_both,
    )
}


def twins_of(case: str) -> tuple[Twins, str]:
    fusion, inputs = CASES[case]()
    operator = CustomOperator(*behaving(fusion, inputs))
    return Twins(operator, inputs, fusion.schema), fusion_source(fusion, inputs)


# -------------------------------------------------------------------- measurements


def measured(rng: random.Random, given: Schema, time: int, wild: float) -> Row:
    """A row of something that moves; sometimes a value is absurd or missing."""
    row: list[Any] = [time]
    for field in given.fields:
        name, kind = field.name, field.type.value
        if rng.random() < wild:
            value: Any = rng.choice(ABSURD)
        elif name.startswith("var"):
            value = rng.choice([0.01, 1.0, 25.0, rng.random()])
        elif name in ("bearing", "heading"):
            value = rng.uniform(-7.0, 370.0)
        else:
            value = time * 0.01 + rng.gauss(0.0, 3.0)
        if kind in ("int", "bigint"):
            value = rng.choice([1, 2, 3, -4, 5, None, 1 << 31]) if name == "id" else value
            if isinstance(value, float):
                value = int(value) if abs(value) < 2e9 else None
            value = None if kind == "int" and value == 1 << 31 else value
        elif kind == "string":
            value = rng.choice(["", "a", "b", "äx", None, "abc"])
        elif kind == "boolean":
            value = rng.choice([None, True, False, False, False])
        elif kind == "float" and value is not None:
            value = struct.unpack("f", struct.pack("f", value))[0]
        row.append(value)
    return tuple(row)


def drive(twins: Twins, rng: random.Random, steps: int, wild: float = 0.02) -> None:
    time = rng.choice([0, -5000, 10**15])
    for _ in range(steps):
        time += rng.choice([0, 1, 30, 30, 30, 100, rng.randrange(400), rng.randrange(4000)])
        choice = rng.random()
        if choice < 0.1:
            twins.save_and_load()
        elif choice < 0.5:
            port = rng.choice(twins.ports)
            moment = time - rng.choice([0, 0, rng.randrange(200), rng.randrange(2000)])
            twins.accept(port, measured(rng, twins.inputs[port], moment, wild))
        else:
            batch = {
                port: [
                    measured(rng, given, time - rng.randrange(rng.choice([1, 60, 600])), wild)
                    for _ in range(rng.choice([0, 1, 1, 2, 6]))
                ]
                for port, given in twins.inputs.items()
            }
            twins.execute(batch, by_item=rng.random() < 0.5, timed_out=rng.random() < 0.3)
    twins.beyond()
    twins.save_and_load()


# -------------------------------------------------------------------- tests


@pytest.mark.parametrize("case", CASES)
def test_fusions_are_the_same(case: str) -> None:
    rows = 0
    for seed in range(12):
        twins, source = twins_of(case)
        drive(twins, random.Random(seed), 120, wild=0.02 if seed % 2 else 0.0)
        rows += sum(answer[0] == "e" for one in twins.expected for answer in one)
        twins.check(built(source))
    assert rows > 200


@pytest.mark.parametrize("case", CASES)
def test_memory_is_used_as_it_should(case: str) -> None:
    """Under the sanitizers of the compiler: growing, in memory that is large enough, and in memory
    that is far too small, where all that finds no room is shed."""
    fusion, inputs = CASES[case]()
    twins, source = twins_of(case)
    drive(twins, random.Random(77), 250, wild=0.1)
    twins.check(built(source, (*GROWS, *SANITIZED)))
    twins.check(built(fusion_source(fusion, inputs, capacity=800, items=800), SANITIZED))
    answers = twins.answers(built(fusion_source(fusion, inputs, capacity=3, items=4), SANITIZED))
    shed = [
        answer for one in answers for answer in one if answer[0] == "d" and answer[2] == "no room"
    ]
    assert len(shed) > 100
    assert all(("l", False) not in one for one in answers)


def test_what_is_outside_a_gate_is_told_alike() -> None:
    told = 0
    for case in ("own_gated", "around_gated"):
        twins, source = twins_of(case)
        drive(twins, random.Random(4), 200, wild=0.0)
        told += sum(
            answer[0] == "d" and answer[2] == "outside" for one in twins.expected for answer in one
        )
        twins.check(built(source))
    assert told > 150


@pytest.mark.parametrize("case", ["own_keyed", "around_plain", "around_gated"])
def test_garbage_is_no_state(case: str) -> None:
    fusion, inputs = CASES[case]()
    twins, source = twins_of(case)
    drive(twins, random.Random(3), 40)
    twins.answers(built(source))
    rng = random.Random(9)
    garbage = [b"", b"\x01" * 40]
    for state in twins.saved[-3:]:
        for _ in range(60):
            broken = bytearray(state)
            for _ in range(rng.randrange(1, 4)):
                broken[rng.randrange(len(broken))] = rng.randrange(256)
            garbage.append(bytes(broken))
        garbage += [state[: rng.randrange(len(state))] for _ in range(10)]
    for number, state in enumerate(garbage):
        twins.load(state)
        port = rng.choice(twins.ports)
        twins.accept(port, measured(rng, twins.inputs[port], 10 * number, 0.1))
    fixed = fusion_source(fusion, inputs, capacity=60)
    for program in (built(source, (*GROWS, *SANITIZED)), built(fixed, SANITIZED)):
        answers = twins.answers(program)
        assert len(answers) == len(twins.expected)
        loaded = [answer[1] for one in answers for answer in one if answer[0] == "n"]
        assert 0 in loaded[2:]


def test_what_python_refuses_is_refused() -> None:
    fusion, inputs = around_named()
    with pytest.raises(QueryError, match="var_pos"):
        fusion_source(fusion, {**inputs, "alpha": schema(id="bigint", x="double", y="double")})


def test_keys_of_two_kinds_are_refused() -> None:
    fusion, inputs = around_named()
    other = schema(id="boolean", x="double", y="double", var_pos="double", own="boolean")
    with pytest.raises(InputError, match="boolean in some inputs"):
        fusion_source(fusion, {**inputs, "alpha": other})
