"""What the cars of a fleet broadcast: each car's engine in a task, before any of them is heard.

A car's output1 comes from its own sensors, so one pass over all cars says what is on the air
(:mod:`headway.drive.car_broadcasts`). What came out is brought back in the order of the cars, and
goes to the tasks of the second pass with the fleet.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from headway.drive.driven_fleet import DrivenFleet
from headway.world.broadcasts import Told
from headway.world.cam import CamReports

_REPORT = [field.name for field in fields(CamReports)]
_WHOLE = ("sender", "place", "ready_at", "id", "timestamp")
_COLUMNS = ", ".join(
    f"`{name}` {'bigint' if name in _WHOLE else 'double'}"
    for name in ("sender", "place", "ready_at", *_REPORT)
)


def heard_on_spark(spark: SparkSession, fleet: DrivenFleet, tasks: int) -> DrivenFleet:
    """The fleet that hears what its cars say; the same as without Spark, to the last bit."""
    count = len(fleet.speakers)
    if not count:
        return fleet
    rows = spark.range(0, count, 1, min(tasks, count)).mapInArrow(_speaking(fleet), _COLUMNS)
    table = rows.toArrow().sort_by([("sender", "ascending"), ("place", "ascending")])
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    senders, starts = np.unique(columns["sender"], return_index=True)
    parts = zip(senders.tolist(), starts, [*starts[1:], table.num_rows], strict=True)
    return fleet.hearing(
        [
            Told(
                sender,
                columns["ready_at"][start:end],
                CamReports(*(columns[name][start:end] for name in _REPORT)),
            )
            for sender, start, end in parts
        ]
    )


def _speaking(fleet: DrivenFleet) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Takes the numbers of cars (a column ``id``)."""
    paths = tuple(sys.path)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        sys.path.extend(path for path in paths if path not in sys.path)
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield _batch(fleet.told(number))

    return run


def _batch(told: Told) -> Any:
    size = len(told.ready_at)
    return pa.RecordBatch.from_pydict(
        {
            "sender": np.full(size, told.sender),
            "place": np.arange(size),
            "ready_at": told.ready_at,
            **{name: getattr(told.reports, name) for name in _REPORT},
        }
    )
