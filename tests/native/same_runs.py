"""Both engines over the same arrivals: what each gives, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.native.arriving_rows import ArrivingTable, arriving_table
from headway.native.arrow_rows import column_kinds
from headway.native.native_engine import NativeEngine


def seen(result: RunResult) -> dict[str, Any]:
    """All that a run tells; rows as text, in which NaN is like NaN and -0.0 unlike 0.0."""
    summary = result.summary()
    return {
        "outputs": {
            name: [(repr(row), time) for row, time in zip(one.rows, one.completed, strict=True)]
            for name, one in result.outputs.items()
        },
        "side": [(time, repr(dropped)) for time, dropped in result.side.dropped],
        "events": result.trace.events,
        "summary": summary,
        "exceeded": summary.exceeded,
    }


def assert_same(
    plan: Plan,
    arrivals: Sequence[Arrival],
    policy: str = "s-edf",
    *,
    charged: bool = True,
    partitioned: bool = False,
) -> RunResult:
    """Runs both; gives the native engine's result."""
    python = Engine(plan=plan, policy=policy, charged=charged, partitioned=partitioned)
    native = NativeEngine(plan=plan, policy=policy, charged=charged, partitioned=partitioned)
    wanted = seen(python.run(arrivals))
    result = native.run(arrivals)
    found = seen(result)
    for part, value in wanted.items():
        assert found[part] == value, part
    return result


def table_of(plan: Plan, source: str, arrivals: Sequence[Arrival]) -> ArrivingTable:
    """The tuples of a source as Arrow columns."""
    rows = [one.row for one in arrivals if one.source == source]
    times = [one.time // MICROSECOND for one in arrivals if one.source == source]
    kinds = column_kinds(dict(plan.schemas)[source])
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
    return arriving_table(columns, pa.array(times, pa.int64()))
