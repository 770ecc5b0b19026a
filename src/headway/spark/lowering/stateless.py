"""Outputs of a stream that need no memory but functions of the user: the engine, tuple by tuple.

A function may fail, and the tuple is then listed; one pass over the tuples must give both. Nothing
here depends on the order of arrival.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame

from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.model.schema import Schema
from headway.model.time import MICROSECOND
from headway.spark.lowering.region import (
    arrivals,
    engine_of,
    listing_of,
    side_tables,
    tables,
)
from headway.spark.lowering.tagged import exit_schema, tagged_sources
from headway.spark.workers import enter


def run_stateless(
    part: Plan,
    sources: Mapping[str, DataFrame],
    names: list[str],
    leaving: Mapping[str, Schema],
    listed: frozenset[str],
) -> DataFrame:
    """``part`` over its sources; tagged by the places of its outputs in ``names``."""
    schemas = dict(part.schemas)
    given = [(schemas[source.name], sources[source.name]) for source in part.query.sources]
    places = [names.index(output.name) for output in part.query.outputs]
    run = _each(part, places, list(leaving.values()), listed)
    return tagged_sources(given).mapInArrow(run, exit_schema(list(leaving.values())))


def _each(
    part: Plan, places: list[int], leaving: Sequence[Schema], listed: frozenset[str]
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    text, paths = plan_to_json(part), tuple(sys.path)
    names = [source.name for source in part.query.sources]

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        enter(paths)
        engine, listing = engine_of(text), listing_of(text, listed)
        engine.restore(None)
        for batch in batches:
            rows = arrivals(batch, len(names))
            for vehicle, mine in groupby(rows, key=lambda one: one[0]):
                for _, source, arrived, row in mine:
                    engine.now = arrived * MICROSECOND
                    engine.arrive(names[source], row)
                results = [
                    result._replace(output=places[result.output])
                    for result in engine.take_results()
                ]
                yield from tables(vehicle, results, leaving)
                yield from side_tables(vehicle, listing.array(engine.take_dropped()), leaving)

    return run
