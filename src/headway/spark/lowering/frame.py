"""A stream of the query as a DataFrame, and the names of the columns that only Headway sees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, Schema

# No column of a query can bear these names: '#' is not allowed in one.
LATE = "#late"
ARRIVED = "#at"
POSITION = "#position"
SOURCE = "#source"

POSITION_COLUMN = "position"
"""where a source has this column and its schema does not, it breaks ties of arrival"""


OnFailed = Callable[[DataFrame, Column], DataFrame]


@dataclass(frozen=True, slots=True)
class Frame:
    """``data`` has the columns vehicle, timestamp, the schema's; if ``marked``, whether the tuple
    is late (without marks no tuple is, or nobody asks); if ``timed``, when it came to be there.
    ``on_failed`` takes the tuples of an operator with what its functions made of them, and whether
    that is fine, and gives them back."""

    data: DataFrame
    schema: Schema
    marked: bool = False
    timed: bool = False
    on_failed: OnFailed | None = None

    def with_data(self, data: DataFrame) -> Frame:
        return replace(self, data=data)

    @property
    def hidden(self) -> list[Column]:
        """The columns beside the tuple's own that go with it."""
        marks = [F.col(LATE)] if self.marked else []
        times = [F.col(ARRIVED)] if self.timed else []
        return [F.col(VEHICLE_COLUMN), *marks, *times]

    def select(self, columns: list[Column], schema: Schema) -> Frame:
        """The same tuples with these columns (timestamp first)."""
        return Frame(self.data.select(*self.hidden, *columns), schema, self.marked, self.timed)

    def on_time(self) -> DataFrame:
        """The tuples that joins and windows look at, without their marks."""
        data = self.data.where(~F.col(LATE)) if self.marked else self.data
        return data.select(VEHICLE_COLUMN, *self.names)

    @property
    def names(self) -> list[str]:
        return [TIMESTAMP_COLUMN, *self.schema.names]

    def output(self) -> DataFrame:
        """What a user sees: vehicle, timestamp, fields."""
        return self.data.select(VEHICLE_COLUMN, *self.names)
