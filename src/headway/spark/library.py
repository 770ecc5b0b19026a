"""For users of Spark: a query over their own DataFrames, in their own session.

from headway.spark.library import stream

outputs = stream("query.yaml", {"speed": spark.readStream.…})
outputs["alarm"]                        # a streaming DataFrame, where no state is needed
running = outputs.start(output="out", checkpoint="checkpoint")   # all outputs
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from headway.spark.given_plan import GivenQuery, plan_of
from headway.spark.stream.asked_stream import AskedStream


def stream(query: GivenQuery, data: Mapping[str, DataFrame]) -> AskedStream:
    """A query over streaming DataFrames, one for each source: ``timestamp``, the source's columns
    (narrower types will do), and if there are any ``vehicle``, ``arrived_at`` and ``position`` (a
    number that breaks ties of arrival). Each must come in order of arrival, vehicle by vehicle.

    Gives the outputs that need no state as streaming DataFrames, by name, and ``start`` for all of
    them. Works through Spark Connect for the former. InputError for a query or data that do not
    fit."""
    return AskedStream(plan_of(query), data)
