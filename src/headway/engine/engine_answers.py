"""What an engine answers to a recording, in a form that can be held against another engine's: the
tuples of each output as multisets.

The vehicle engine runs without costs, which is the meaning of the query. Numbers count as equal
when they agree to nine digits, because a sum of doubles depends on the order of its rows in the
last places.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from headway.compiler.node_queries import on_one_node
from headway.engine.engine import Engine, replay
from headway.engine.results import VehicleRun
from headway.model.plan import Plan
from headway.sources.recordings import scan_recording

DIGITS = 9
Answer = Counter[tuple[Any, ...]]
"""comparable tuples, the name of the vehicle before each"""


def vehicle_answers(plan: Plan, recording: Path) -> dict[str, Answer]:
    """By output."""
    plan = on_one_node(plan)
    contents = scan_recording(recording, plan.query.sources)

    def engine() -> Engine:
        return Engine(plan=plan, charged=False, keep_trace=False)

    return answers_of(plan, replay(plan, recording, contents, engine))


def answers_of(plan: Plan, runs: Iterable[VehicleRun]) -> dict[str, Answer]:
    answers: dict[str, Answer] = {output.name: Counter() for output in plan.query.outputs}
    for vehicle, result in runs:
        for name, record in result.outputs.items():
            answers[name].update(comparable((vehicle or "", *row)) for row in record.rows)
    return answers


def comparable(row: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_near(value) if isinstance(value, float) else value for value in row)


def _near(value: float) -> float | str:
    return "NaN" if math.isnan(value) else float(f"{value:.{DIGITS}g}") + 0.0
