"""Item by item, as on a wall clock, a batch gives what one execution gives."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from tests.engine.random_runs import PATTERNS, Shape, random_arrivals, random_query
from tests.native.needed import needs_compiler
from tests.native.trace_runs import Case, outputs_of, told_by

from headway.compiler import compile_query
from headway.engine.stepwise import Stepwise
from headway.model.operators import UserDefined
from headway.model.query import Query
from headway.native.program_layout import meaning_layout

KINDS = ("gather", "gather", "filter", "map", "aggregate")


def between_items(query: Query) -> Query:
    """Every operator that gathers may be left between two items."""
    steps = tuple(
        replace(step, cost=replace(step.cost, between_items=True))
        if isinstance(step, UserDefined) and step.timeout is not None and step.cost is not None
        else step
        for step in query.steps
    )
    return replace(query, steps=steps)


@needs_compiler
def test_items_one_by_one_are_an_execution(tmp_path: Path) -> None:
    draw, cases = random.Random(3), list[Case]()
    while len(cases) < 10:
        query = between_items(random_query(draw, Shape(kinds=KINDS, shedders=False)))
        if any(isinstance(step, UserDefined) for step in query.steps):
            arrivals = random_arrivals(draw, query, draw.choice(PATTERNS))
            cases.append(Case(plan=compile_query(query), arrivals=arrivals, charged=False))
    told = told_by(
        cases,
        tmp_path,
        definitions=["HEADWAY_GROWS"],
        layout_of_case=lambda case: meaning_layout(case.plan),
        header="item_driver.hpp",
        call="driver::run_items",
    )
    gathered = 0
    for case, lines in zip(cases, told, strict=True):
        python = Stepwise(case.plan)
        for time, source, row in case.arrivals:
            python.take(time, source, row)
        python.finish()
        names = [output.name for output in case.plan.query.outputs]
        wanted = [(names[one.output], one.at, one.late, one.row) for one in python.take_results()]
        assert list(outputs_of(case, lines)) == wanted
        gathered += len(wanted)
    assert gathered > 100
