"""The fusion operators of the collision-warning example, with the schemas it gives them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fusion.support import run

from headway.compiler.front_end import check_query
from headway.files.load_queries import load_query
from headway.fusion.operator import SensorFusion
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.surroundings import SurroundingsFusion
from headway.model.operators import Fusion
from headway.model.user_operator import OperatorContext

EXAMPLE = Path(__file__).parents[2] / "examples/collision_warning/query.yaml"
CLASSES: dict[str, type[SensorFusion[Any]]] = {
    "headway.fusion.own_vehicle:OwnVehicleFusion": OwnVehicleFusion,
    "headway.fusion.surroundings:SurroundingsFusion": SurroundingsFusion,
}

pytestmark = pytest.mark.skipif(not EXAMPLE.is_file(), reason=f"no example at {EXAMPLE}")


@pytest.fixture(scope="module")
def opened() -> dict[str, SensorFusion[Any]]:
    compilation = check_query(load_query(EXAMPLE).query)
    found: dict[str, SensorFusion[Any]] = {}
    for operator in compilation.graph.operators.values():
        if isinstance(operator, Fusion) and operator.implementation is not None:
            fusion = CLASSES[operator.implementation]()
            fusion.open(
                OperatorContext(
                    name=operator.name,
                    inputs={
                        port.port: compilation.schemas[port.stream] for port in operator.inputs
                    },
                    output=operator.schema,
                    parameters=dict(operator.parameters),
                    windows={
                        name: getattr(operator, name)
                        for name in ("front", "rear", "object_key", "sensor_key")
                    },
                )
            )
            found[operator.implementation.partition(":")[2]] = fusion
    return found


def test_what_type_1_gives_type_2_takes(opened: dict[str, SensorFusion[Any]]) -> None:
    first, second = opened["OwnVehicleFusion"], opened["SurroundingsFusion"]
    gps = dict.fromkeys(first.context.inputs["gps"].names, 0.0)
    (own,) = run(first, gps=[(0, *gps.values())])
    sent = (0, *own[1:])
    fused = run(second, board=[sent])
    places = second.context.output.names
    assert len(fused) == 1
    assert fused[0][1 + places.index("own")] is True
    assert second.unusable == first.unusable == 0
