"""The collision warning as three native processes: the tuples of the Python engine, all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.native.needed import needs_compiler
from tests.native.nodes.calm_drive import calm_arrivals, calm_plan, write_drive
from tests.waiting import PATIENCE_S

from headway.engine.engine import Engine
from headway.engine.nodes.launcher import Launcher
from headway.model.plan import Plan
from headway.native.native_build import build_car
from headway.native.toolchain import Target

pytestmark = needs_compiler
NODES = ("node1", "node2", "node3")
CALM = ("--heartbeat", "100 ms", "--missed", "6000")
SLOWLY = 0.1
"""the clock runs so that a busy machine has 0.4 s where the drive leaves 40 ms"""
ASSISTANT = Path(__file__).parents[3] / "examples" / "brake_assistant" / "brake_assistant.cpp"


@pytest.fixture(scope="module")
def car(tmp_path_factory: pytest.TempPathFactory) -> tuple[Plan, Path]:
    """With the brake assistant of the examples on the node that warns."""
    folder = tmp_path_factory.mktemp("collision_warning")
    plan = calm_plan(folder / "query")
    build_car(
        plan,
        folder / "build",
        targets=dict.fromkeys(NODES, Target.NATIVE),
        apps={"node3": [ASSISTANT]},
    )
    return plan, folder / "build"


def test_the_same_tuples_as_the_python_engine(car: tuple[Plan, Path], tmp_path: Path) -> None:
    """Every output, to the last bit of the filters' estimates."""
    plan, build = car
    arrivals = calm_arrivals(plan)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    write_drive(tmp_path / "drive", plan, arrivals)
    out = tmp_path / "out"
    with Launcher(
        build=build, outputs=out, inputs=tmp_path / "drive", speed=SLOWLY, options=CALM
    ) as launcher:
        launcher.start()
        ended = launcher.wait(PATIENCE_S)
    for output in plan.query.outputs:
        lines = (out / f"{output.name}.jsonl").read_text(encoding="utf-8").splitlines()
        found = sorted((tuple(json.loads(line)["row"].values()) for line in lines), key=repr)
        assert found
        assert found == sorted(meant.outputs[output.name].rows, key=repr)
    assert f"{len(meant.outputs['output2'].rows)} rows of output2" in ended["node3"].errors
    for one in ended.values():
        assert one.code in (0, 3), one.errors
        assert one.report is not None
        assert one.report["no_room"] == one.report["gaps"] == 0
