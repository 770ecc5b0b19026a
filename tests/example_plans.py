"""Plans of the examples, each compiled once in a process: looking for a placement that keeps more
promises takes a second on the collision warning's own vehicle."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from headway.compiler import compile_query
from headway.files import load_query, load_vehicle
from headway.model.plan import Plan

EXAMPLES = Path(__file__).parents[1] / "examples"


@cache
def example_plan(name: str, vehicle: str | None = "vehicle.yaml") -> Plan:
    """``vehicle`` is a file beside the query; None for its meaning, where nothing takes time."""
    folder = EXAMPLES / name
    query = load_query(folder / "query.yaml").query
    return compile_query(query, load_vehicle(folder / vehicle).vehicle if vehicle else None)
