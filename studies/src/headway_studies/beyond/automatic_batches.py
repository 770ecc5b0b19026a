"""Beyond S-EDF: batches chosen by the compiler, as long as every promise is still kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.compiler.latency.verdict import batch_budget
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Rate
from headway.model.vehicle import Node
from headway.report.charts import LineChart, Point, Series
from headway_studies.beyond.random_trains import Train, plan_of
from headway_studies.provenance import assumed
from headway_studies.row_reading import Sample, sample, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond

FIGURE = "automatic batches"
DRAWN = assumed("plans, bursts and a decision of 20 µs are ours: no paper makes batches by itself")
SEED = 15
NODE = Node(name="ecu", decision_cost=20 * MICROSECOND, preemption_cost=2_600)
PLANS, QUICK_PLANS, BLOCK = 40, 8, 4
FACTORS = (50, 100, 150, 200, 250, 300)
"""tuples that come, in percent of the declared rate: beyond 100 nothing is promised"""
DURATION = 200 * MILLISECOND
ATTEMPTS = 200
MOST_LOAD = 0.95


def cells(quick: bool) -> list[Cell]:
    total = QUICK_PLANS if quick else PLANS
    return [{"first": first, "plans": BLOCK} for first in range(0, total, BLOCK)]


def run(cell: Cell) -> list[Row]:
    """The same bursts with single tuples and with batches."""
    rows: list[Row] = []
    first = whole(cell, "first")
    for number in range(first, first + whole(cell, "plans")):
        plan, trains = promised(number)
        budget = batch_budget(plan)
        for percent in FACTORS:
            given = _bursts(trains, percent)
            for batches in (False, True):
                found = Engine(plan=plan, batching=batches, keep_trace=False).run(given).summary()
                tuples = sum(output.tuples for output in found.outputs)
                misses = sum(output.misses for output in found.outputs)
                rows.append(
                    {
                        "plan": number, "percent": percent, "batches": batches, "tuples": tuples,
                        "misses": misses, "miss_ratio": misses / tuples,
                        "decisions": found.decisions / tuples, "budget_us": budget / MICROSECOND,
                    }
                )  # fmt: skip
    return rows


def promised(number: int) -> tuple[Plan, list[Train]]:
    """A random plan all of whose deadlines can be promised: drawn again until they can."""
    random = np.random.default_rng([SEED, number])
    for _ in range(ATTEMPTS):
        trains = [_train(random) for _ in range(int(random.integers(2, 5)))]
        if sum(_load(one) for one in trains) > MOST_LOAD:
            continue
        plan = plan_of(trains, NODE)
        if plan.verdict is not None and plan.verdict.safe and batch_budget(plan) > 0:
            return plan, trains
    raise RuntimeError(f"plan {number}: no draw of {ATTEMPTS} can be promised")


def _load(train: Train) -> float:
    """Of the node at the declared rate, with a decision and a preemption for every operator."""
    scheduling = train.operators * (NODE.decision_cost + NODE.preemption_cost)
    return (train.work + scheduling) * train.rate.count / train.rate.period


def _train(random: np.random.Generator) -> Train:
    return Train(
        operators=int(random.integers(1, 4)),
        cost=int(random.choice([5, 10, 20, 40])) * MICROSECOND,
        deadline=int(random.integers(8, 31)) * MILLISECOND,
        rate=Rate(int(random.choice([5, 10, 20, 40])), int(random.integers(5, 21)) * MILLISECOND),
    )


def _bursts(trains: Sequence[Train], percent: int) -> list[Arrival]:
    """All tuples of a period at once."""
    found = []
    for index, train in enumerate(trains):
        count = round(train.rate.count * percent / 100)
        for time in range(0, DURATION, train.rate.period):
            at = time // MICROSECOND
            found += [Arrival(time, f"s{index}", (at, 0.0)) for _ in range(count)]
    return sorted(found, key=lambda arrival: (arrival.time, arrival.source))


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_kept(rows), _decisions(rows), *(_beyond_declared(rows, p) for p in (200, 300))),
        pictures=(_chart(rows, "miss_ratio"), _chart(rows, "decisions")),
    )


def _found(rows: Sequence[Row], percent: int, column: str, *, batches: bool) -> Sample:
    return sample(values(where(rows, percent=percent, batches=batches), column))


def _kept(rows: Sequence[Row]) -> Claim:
    within = [row for row in rows if whole(row, "percent") <= 100]
    missed = [
        sum(whole(row, "misses") for row in where(within, batches=batches))
        for batches in (False, True)
    ]
    tuples = sum(whole(row, "tuples") for row in where(within, batches=True))
    return beyond(
        FIGURE,
        "are all promises kept within the declared rates?",
        f"misses among {tuples:,} tuples: {missed[0]} one by one, {missed[1]} in batches",
        came=DRAWN,
    )


def _decisions(rows: Sequence[Row]) -> Claim:
    single = _found(rows, 100, "decisions", batches=False)
    batched = _found(rows, 100, "decisions", batches=True)
    return beyond(
        FIGURE,
        "how many scheduling decisions does a tuple take at the declared rate?",
        f"{single.mean:.2f} ± {single.deviation:.2f} one by one, {batched.mean:.2f} ± "
        f"{batched.deviation:.2f} in batches",
        came=DRAWN,
    )


def _beyond_declared(rows: Sequence[Row], percent: int) -> Claim:
    single = _found(rows, percent, "miss_ratio", batches=False)
    batched = _found(rows, percent, "miss_ratio", batches=True)
    return beyond(
        FIGURE,
        f"missed tuples at {percent} % of the declared rate, where nothing is promised",
        f"{single.percent()} one by one, {batched.percent()} in batches",
        came=DRAWN,
    )


def _chart(rows: Sequence[Row], column: str) -> LineChart:
    words, factor = {
        "miss_ratio": ("missed, %", 100.0), "decisions": ("decisions a tuple", 1.0),
    }[column]  # fmt: skip
    series = []
    for batches, name in ((False, "one by one"), (True, "in batches")):
        points = []
        for percent in FACTORS:
            one = _found(rows, percent, column, batches=batches)
            points.append(
                Point(
                    x=percent,
                    y=factor * one.mean,
                    low=factor * one.least,
                    high=factor * one.most,
                )
            )
        series.append(Series(name=name, points=tuple(points)))
    return LineChart(
        title=f"Batches: {words.removesuffix(', %')}",
        x="tuples that come, % of the declared rate",
        y=words,
        series=tuple(series),
        note="Mean over random plans, bursts; a decision costs 20 µs; from least to greatest.",
    )


STUDY = Study(
    name="batches",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="Batches that keep every promise",
    seconds=3,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
