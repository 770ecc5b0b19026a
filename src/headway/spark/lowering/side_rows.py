"""Side outputs on Spark: tuples that left their way, as rows of the vehicle engine's side files.

The engine inside the tasks hands them out beside its results: a row of exit :data:`SIDE_EXIT`
with all there is to say in the struct :data:`SIDE`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from headway.engine.operators.operator_base import Dropped
from headway.engine.result_tables import SIDE_SCHEMA, SideRows
from headway.model.schema import VEHICLE_COLUMN

SIDE = "#side"
SIDE_EXIT = -1
KIND = "kind"
_TIMES = [field.name for field in SIDE_SCHEMA if pa.types.is_timestamp(field.type)]
SIDE_TYPE = StructType(
    [
        StructField(KIND, StringType()),
        *(
            StructField(name, LongType() if name in _TIMES else StringType())
            for name in SIDE_SCHEMA.names
        ),
    ]
)
SIDE_ARROW = pa.struct(
    [(field.name, pa.int64() if field.dataType == LongType() else pa.string())
     for field in SIDE_TYPE.fields]
)  # fmt: skip
LISTED_TYPE = StructType([StructField(VEHICLE_COLUMN, StringType()), StructField(SIDE, SIDE_TYPE)])
"""vehicle and struct: what is dropped, still packed"""

ListedDrops = Iterable[tuple[int, Dropped]]
"""(when, in nanoseconds; what)"""


class Listing:
    """Turns what an engine dropped into values of the struct. ``of``: the sources and operators to
    list (all, if None); where two queries compute the same operator, one of them lists it."""

    def __init__(self, rows: SideRows, of: Collection[str] | None = None) -> None:
        self._rows = rows
        self._of = of

    def values(self, drops: ListedDrops) -> Iterator[tuple[Any, ...]]:
        for time, one in drops:
            if self._of is None or one.where in self._of:
                yield (one.kind.value, *self._rows.row(time, one))

    def array(self, drops: ListedDrops) -> Any:
        """An Arrow array of the struct."""
        values = [dict(zip(SIDE_TYPE.names, one, strict=True)) for one in self.values(drops)]
        return pa.array(values, SIDE_ARROW)


def unpacked(data: DataFrame) -> DataFrame:
    """Rows with a struct -> kind, the columns of the vehicle engine's side files, vehicle."""
    columns = [
        (F.timestamp_micros(F.col(f"`{SIDE}`.`{name}`")) if name in _TIMES
         else F.col(f"`{SIDE}`.`{name}`")).alias(name)
        for name in SIDE_TYPE.names
    ]  # fmt: skip
    return data.select(*columns, VEHICLE_COLUMN)
