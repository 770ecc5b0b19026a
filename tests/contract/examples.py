"""The examples, and recordings of their sensors at the declared rates."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

from tests.contract.recordings import Recording, Tuple

from headway.files import load_query
from headway.model.quantities import MICROSECOND
from headway.model.query import Query, Source
from headway.model.schema import DataType, Field
from headway.model.user_operator import find_modules_beside

EXAMPLES = sorted(path.parent for path in Path("examples").glob("*/query.yaml"))


def example_query(folder: Path) -> Query:
    """The modules and headers that it names are found beside it."""
    find_modules_beside(folder / "query.yaml")
    return load_query(folder / "query.yaml").query


def recording_of(query: Query, draw: random.Random, *, steps: int) -> Recording:
    """Two cars; each source at its rate for a while, with delays, gaps and tuples that are late."""
    found = []
    for vehicle in ("north", "south"):
        start = 1_700_000_000_000_000
        for source in query.sources:
            assert source.rate is not None
            period = source.rate.period // MICROSECOND
            arrived = start
            for step in range(steps):
                if draw.random() < 0.1:
                    continue
                for number in range(min(source.rate.count, 4)):
                    delay = draw.randint(0, source.delay // MICROSECOND)
                    late = 5 * source.lateness // MICROSECOND if draw.random() < 0.03 else 0
                    sensed = start + step * period
                    arrived = max(arrived, sensed + delay + late)
                    row = (sensed, *(_value(draw, f, source, number) for f in source.schema.fields))
                    found.append(Tuple(vehicle, source.name, arrived, row))
    return Recording(tuple(found))


def _value(draw: random.Random, field: Field, source: Source, number: int) -> Any:
    if field.type in (DataType.INT, DataType.BIGINT):
        return number
    if field.type is DataType.BOOLEAN:
        return False
    if field.type is DataType.STRING:
        return source.name[: field.length]
    highest = {"bar": 3.0, "celsius": 120.0, "heading": math.pi}.get(field.name, 40.0)
    return float(draw.randint(1, 100)) * highest / 128  # a float holds it exactly
