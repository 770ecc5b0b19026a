"""Beyond S-EDF: several cores, with one queue for all or a core for every train."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.engine.engine import Engine
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Rate
from headway.model.vehicle import Node
from headway.report.charts import LineChart, Point, Series
from headway_studies.beyond.random_trains import Train, arrivals_at_load, plan_of
from headway_studies.provenance import assumed
from headway_studies.row_reading import Sample, number, sample, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import BarChart

FIGURE = "several cores"
DRAWN = assumed("trains, loads and numbers of cores are drawn by us: the papers have one core")
SEED = 14
CORES = (1, 2, 3, 4)
LOADS = (0.5, 0.7, 0.8, 0.9, 1.0, 1.1)
"""of each core"""
TRAINS = 12
DECISION_COST, PREEMPTION_COST = 2 * MICROSECOND, 2_600
TRIALS, DURATION_MS = 20, 400
QUICK_LOADS, QUICK_TRIALS, QUICK_DURATION_MS = (0.7, 0.9, 1.1), 2, 200
WAYS = {
    "global": ("s-edf", False, "S-EDF, one queue"),
    "partitioned": ("s-edf", True, "S-EDF, a core for each train"),
    "fifo": ("fifo+", False, "FIFO+, one queue"),
}
SHOWN_LOAD = 0.9


def cells(quick: bool) -> list[Cell]:
    loads = QUICK_LOADS if quick else LOADS
    trials, duration = (QUICK_TRIALS, QUICK_DURATION_MS) if quick else (TRIALS, DURATION_MS)
    return [
        {"cores": cores, "load": load, "trials": trials, "duration_ms": duration}
        for cores in CORES
        for load in loads
    ]


def run(cell: Cell) -> list[Row]:
    """The same trains and tuples in each way."""
    cores, load = whole(cell, "cores"), number(cell, "load")
    node = Node(
        name="ecu", cores=cores, decision_cost=DECISION_COST, preemption_cost=PREEMPTION_COST
    )
    duration = whole(cell, "duration_ms") * MILLISECOND
    rows: list[Row] = []
    for trial in range(whole(cell, "trials")):
        random = np.random.default_rng([SEED, trial])
        trains = [_train(random) for _ in range(TRAINS)]
        plan = plan_of(trains, node)
        given = arrivals_at_load(trains, load * cores, duration, random)
        for way, (policy, partitioned, _) in WAYS.items():
            engine = Engine(plan=plan, policy=policy, partitioned=partitioned, keep_trace=False)
            found = engine.run(given).summary()
            tuples = sum(output.tuples for output in found.outputs)
            misses = sum(output.misses for output in found.outputs)
            rows.append(
                {
                    "cores": cores, "load": load, "trial": trial, "way": way, "tuples": tuples,
                    "miss_ratio": misses / tuples, "preemptions": found.preemptions / tuples,
                }
            )  # fmt: skip
    return rows


def _train(random: np.random.Generator) -> Train:
    """Tuples come as often to every train, so that a train's cost is its share of the load: by
    cost the engine shares out cores."""
    return Train(
        operators=int(random.integers(1, 4)),
        cost=int(random.integers(1, 6)) * 100 * MICROSECOND,
        deadline=int(random.integers(3, 31)) * MILLISECOND,
        rate=Rate(1, SECOND),
    )


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(*(_at_load(rows, cores) for cores in CORES), _preemptions(rows)),
        pictures=(_chart(rows), _bars(rows)),
    )


def _found(rows: Sequence[Row], cores: int, load: float, way: str) -> Sample:
    return sample(values(where(rows, cores=cores, load=load, way=way), "miss_ratio"))


def _at_load(rows: Sequence[Row], cores: int) -> Claim:
    told = ", ".join(
        f"{name} {_found(rows, cores, SHOWN_LOAD, way).percent()}"
        for way, (_, _, name) in WAYS.items()
    )
    many = f"{cores} cores" if cores > 1 else "one core"
    return beyond(FIGURE, f"missed tuples on {many}, {SHOWN_LOAD:.0%} load each", told, came=DRAWN)


def _preemptions(rows: Sequence[Row]) -> Claim:
    told = ", ".join(
        f"{cores}: "
        + " and ".join(
            f"{sample(values(where(rows, cores=cores, load=SHOWN_LOAD, way=way), column)).mean:.3f}"
            for way, column in (("global", "preemptions"), ("partitioned", "preemptions"))
        )
        for cores in CORES
    )
    return beyond(
        FIGURE,
        f"preemptions a tuple by number of cores, one queue and a core for each train, "
        f"{SHOWN_LOAD:.0%} load",
        told,
        came=DRAWN,
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    return LineChart(
        title="Missed tuples over the load of each core",
        x="load of each core, %",
        y="missed, %",
        series=tuple(
            Series(
                name=f"{cores} core{'s' if cores > 1 else ''}",
                points=tuple(
                    Point(x=100 * load, y=100 * _found(rows, cores, load, "global").mean)
                    for load in sorted(set(values(rows, "load")))
                ),
            )
            for cores in CORES
        ),
        note="S-EDF with one queue for all cores; mean over random sets of 12 trains.",
    )


def _bars(rows: Sequence[Row]) -> BarChart:
    found = [[_found(rows, cores, SHOWN_LOAD, way) for way in WAYS] for cores in CORES]
    return BarChart(
        title=f"Missed tuples at {SHOWN_LOAD:.0%} load of each core",
        y="missed, %",
        groups=tuple(f"{cores} core{'s' if cores > 1 else ''}" for cores in CORES),
        bars=tuple(name for _, _, name in WAYS.values()),
        values=tuple(tuple(100 * one.mean for one in group) for group in found),
        spread=tuple(tuple((100 * one.least, 100 * one.most) for one in group) for group in found),
        note="Mean over random sets of trains; the line is from the least to the greatest.",
    )


STUDY = Study(
    name="cores",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="S-EDF on one to four cores",
    seconds=27,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
