"""A stream of the query as a DataFrame, and the names of the columns that only Headway sees."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Frame:
    """``data`` has the columns vehicle, timestamp, the schema's and, if ``marked``, whether the
    tuple is late. Without marks no tuple is, or nobody asks."""

    data: DataFrame
    schema: Schema
    marked: bool = False

    def with_data(self, data: DataFrame) -> Frame:
        return replace(self, data=data)

    @property
    def hidden(self) -> list[Column]:
        """The columns beside the tuple's own that go with it."""
        return [F.col(VEHICLE_COLUMN), *([F.col(LATE)] if self.marked else [])]

    def select(self, columns: list[Column], schema: Schema) -> Frame:
        """The same tuples with these columns (timestamp first)."""
        return Frame(self.data.select(*self.hidden, *columns), schema, self.marked)

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
