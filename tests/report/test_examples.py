"""The examples of the repository, compiled for real, can be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.example_plans import example_plan
from tests.report.drawn import Drawn

from headway.report.plan.plan_page import plan_html
from headway.report.plan.plan_picture import plan_svg

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["collision_warning", "hello", "tyre_watch"])
@pytest.mark.parametrize("timed", [True, False], ids=["on a vehicle", "without a vehicle"])
def test_an_example_is_drawn(name: str, timed: bool) -> None:
    plan = example_plan(name, "vehicle.yaml" if timed else None)
    drawn = Drawn(plan_svg(plan))
    for step in plan.query.operators:
        assert f"stream:{step.name}" in drawn.items
    assert set(drawn.ecus) == {node.name for node in plan.vehicle.nodes}
    assert plan_html(plan).count("<svg") >= 1
