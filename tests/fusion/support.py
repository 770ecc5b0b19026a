"""Operators and rows for the tests of fusion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headway.fusion.operator import SensorFusion
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.surroundings import SurroundingsFusion
from headway.model.operators import AssociationGate, Parameter
from headway.model.quantities import SECOND
from headway.model.schema import Schema, schema
from headway.model.user_operator import OperatorContext, Row

GPS = schema(x="double [m]", y="double [m]", var_pos="double", bearing="double [deg]")
SPEED = schema(v="double [m/s]", var_v="double")
OWN = schema(at="timestamp", x="double [m]", y="double [m]", vx="double [m/s]", vy="double [m/s]")
SEEN = schema(
    id="bigint",
    sensor="string(5)",
    own="boolean",
    x="double [m]",
    y="double [m]",
    vx="double [m/s]",
    vy="double [m/s]",
    var_x="double",
    var_y="double",
    var_vx="double",
    var_vy="double",
)
AROUND = schema(
    id="bigint", own="boolean", at="timestamp", x="double [m]", y="double [m]", conf="double [m]"
)


def context(
    inputs: Mapping[str, Schema],
    output: Schema,
    *,
    front: int = SECOND,
    rear: int = SECOND,
    object_key: str | None = None,
    sensor_key: str | None = None,
    parameters: Mapping[str, Parameter] | None = None,
    gate: AssociationGate | None = None,
    correlated: bool = False,
) -> OperatorContext:
    return OperatorContext(
        name="sdfo",
        inputs=inputs,
        output=output,
        parameters=parameters or {},
        windows={
            "front": front,
            "rear": rear,
            "object_key": object_key,
            "sensor_key": sensor_key,
            "gate": gate,
            "correlated": correlated,
        },
    )


def own_vehicle(
    front: int = SECOND,
    rear: int = SECOND,
    gate: AssociationGate | None = None,
    correlated: bool = False,
    **parameters: Parameter,
) -> OwnVehicleFusion:
    fusion = OwnVehicleFusion()
    inputs = {"gps": GPS, "speed": SPEED}
    fusion.open(
        context(
            inputs,
            OWN,
            front=front,
            rear=rear,
            parameters=parameters,
            gate=gate,
            correlated=correlated,
        )
    )
    return fusion


def surroundings(
    front: int = SECOND,
    rear: int = SECOND,
    gate: AssociationGate | None = None,
    correlated: bool = False,
    **parameters: Parameter,
) -> SurroundingsFusion:
    fusion = SurroundingsFusion()
    fusion.open(
        context(
            {"board": SEEN, "v2v": SEEN},
            AROUND,
            front=front,
            rear=rear,
            object_key="id",
            sensor_key="sensor",
            parameters=parameters,
            gate=gate,
            correlated=correlated,
        )
    )
    return fusion


def fix(at: int, x: float | None, y: float | None = 0.0, bearing: float | None = None) -> Row:
    return (at, x, y, 4.0, bearing)


def seen(
    at: int, id: int, x: float | None, y: float = 0.0, *, sensor: str = "radar", own: bool = False
) -> Row:
    return (at, id, sensor, own, x, y, None, None, 4.0, 4.0, None, None)


def run(fusion: SensorFusion[Any], **inputs: Sequence[Row]) -> list[Row]:
    return list(fusion.process(inputs, 0))


def memory(fusion: SensorFusion[Any]) -> list[tuple[Any, ...]]:
    """The windows of all objects, without the running numbers of arrival.

    The one estimate kept from before a rear window is left out: whether an object that was away for
    long still has it depends on when it was forgotten, and nothing in time can build on it.
    """
    kept = []
    for track in fusion.snapshot()["tracks"]:
        oldest = track["times"][-1] - fusion._rear
        states = zip(track["times"], track["states"], strict=True)
        kept.append(
            (
                track["object"],
                [(time, state) for time, state in states if time >= oldest],
                [(sensor, port, row) for sensor, _, port, row in track["measurements"]],
            )
        )
    return kept


def feed(fusion: SensorFusion[Any], executions: Iterable[Sequence[tuple[str, Row]]]) -> list[Row]:
    """Runs executions of (port, row) pairs."""
    rows: list[Row] = []
    for execution in executions:
        inputs: dict[str, list[Row]] = {}
        for port, row in execution:
            inputs.setdefault(port, []).append(row)
        rows += fusion.process(inputs, 0)
    return rows
