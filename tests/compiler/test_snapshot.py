"""The study's plan as a reviewed file: a change in any pass shows up as a difference in it.

After a change that is meant, renew the file and read the difference before it is committed:

    HEADWAY_RENEW_SNAPSHOTS=1 python -m pytest tests/compiler/test_snapshot.py
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.compiler.golden import EXAMPLE

from headway.compiler.passes import compile_query
from headway.files import load_query, load_vehicle
from headway.model.codec import plan_from_json, plan_to_json

SNAPSHOT = Path(__file__).parent / "snapshots" / "collision_warning.plan.json"
RENEW = "HEADWAY_RENEW_SNAPSHOTS"


def test_the_plan_of_the_study() -> None:
    query = load_query(EXAMPLE / "query.yaml").query
    text = plan_to_json(compile_query(query, load_vehicle(EXAMPLE / "vehicle.yaml").vehicle))
    if os.environ.get(RENEW):
        SNAPSHOT.write_text(text, encoding="utf-8")
    expected = SNAPSHOT.read_text(encoding="utf-8")
    # Part by part first: pytest then shows what differs and not two long texts.
    assert plan_from_json(text) == plan_from_json(expected)
    assert text == expected
