"""Beyond HVLB_CC: how far list schedules are from the proven optimum, for graphs of 10 tasks on 3
processors.

OR-Tools CP-SAT finds the shortest schedule and proves it, or says how much shorter one could be at
most. The gap of a heuristic is makespan / optimum - 1, over the graphs whose optimum is proven.

Every CCR and order of rates in turn; graphs as TGFF grows them. How long the solver takes,
``benchmarks/bench_static.py`` tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance, violations
from headway.schedule.static.optimal import Effort, Optimal
from headway_studies.hvlb_cc.random_graphs import RANDOM_GRAPHS, RATE_ORDERS, figure_2
from headway_studies.hvlb_cc.schedule_trials import NAMES, RATIOS, ScheduleTrial, graph_of
from headway_studies.row_reading import blocks, flag, number, number_or_none, sample, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import BarChart, Grid

GRAPHS = 300
SEED = 20164
HEURISTICS = ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b", "hvlb-cc-c", "heft", "cpop")


def grid(graphs: int) -> list[ScheduleTrial]:
    return [
        ScheduleTrial(
            tasks=10,
            ccr=RATIOS[number % len(RATIOS)],
            rates=RATE_ORDERS[number % len(RATE_ORDERS)],
            number=number,
            seed=SEED,
            falling=False,
        )
        for number in range(graphs)
    ]


def run_trial(trial: ScheduleTrial, effort: Effort) -> Row:
    """``sound``: the validator finds nothing wrong; makespans are None where a heuristic failed."""
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    found = Optimal(effort).run(instance, ExactAlpha()).optimum
    makespans = [ALGORITHMS[name].run(instance, ExactAlpha()).makespan for name in HEURISTICS]
    return {
        "number": trial.number,
        "ccr": trial.ccr,
        "optimum": float(found.makespan),
        "bound": float(found.bound),
        "proven": found.proven,
        "sound": not violations(instance.graph, instance.network, found.schedule),
        **{
            name: None if length is None else float(length)
            for name, length in zip(HEURISTICS, makespans, strict=True)
        },
    }


FIGURE = "optimality gap"
BLOCK, QUICK_GRAPHS = 10, 20
EFFORT = Effort(seconds=600, workers=1, seed=0, work=2.0)
"""One worker and a limit in the solver's own measure: the same rows on every machine. The seconds
are far beyond what that much work takes."""
EXACT = 1e-9


def cells(quick: bool) -> list[Cell]:
    total = QUICK_GRAPHS if quick else GRAPHS
    return [{"first": first, "graphs": count} for first, count in blocks(total, BLOCK)]


def run(cell: Cell) -> list[Row]:
    first, count = whole(cell, "first"), whole(cell, "graphs")
    return [run_trial(trial, EFFORT) for trial in grid(first + count)[first:]]


def analyse(rows: Sequence[Row]) -> Findings:
    proven = [row for row in rows if flag(row, "proven")]
    gaps = {
        (name, ccr): _gaps(where(proven, ccr=ccr), name) for name in HEURISTICS for ccr in RATIOS
    }
    return Findings(
        claims=(_proven(rows), *(_nearest(gaps, ccr) for ccr in RATIOS)),
        pictures=(_chart(gaps), _table(proven, gaps)),
    )


def _gaps(rows: Sequence[Row], name: str) -> list[float]:
    """Makespan / optimum - 1 where the heuristic did not fail."""
    return [
        length / number(row, "optimum") - 1
        for row in rows
        if (length := number_or_none(row, name)) is not None
    ]


def _proven(rows: Sequence[Row]) -> Claim:
    open_gaps = [
        1 - number(row, "bound") / number(row, "optimum") for row in rows if not row["proven"]
    ]
    left = f", at most {max(open_gaps):.1%} left on the others" if open_gaps else ""
    return beyond(
        FIGURE,
        "can the optimum of 10 tasks on 3 processors be proven?",
        f"on {sum(flag(row, 'proven') for row in rows)} of {len(rows)} graphs{left}; the validator "
        f"finds {sum(not flag(row, 'sound') for row in rows)} wrong schedules",
        came=RANDOM_GRAPHS,
    )


def _nearest(gaps: Mapping[tuple[str, float], Sequence[float]], ccr: float) -> Claim:
    means = {name: fmean(gaps[name, ccr]) for name in HEURISTICS if gaps[name, ccr]}
    told = ", ".join(
        f"{NAMES[name]} {sample(gaps[name, ccr]).percent()}"
        for name in sorted(means, key=lambda name: means[name])
    )
    return beyond(FIGURE, f"how far above the optimum at CCR {ccr:g}?", told, came=RANDOM_GRAPHS)


def _chart(gaps: Mapping[tuple[str, float], Sequence[float]]) -> BarChart:
    names = HEURISTICS
    return BarChart(
        title="Mean gap to the optimum",
        y="above the optimum, %",
        groups=tuple(f"CCR {ccr:g}" for ccr in RATIOS),
        bars=tuple(NAMES[name] for name in names),
        values=tuple(
            tuple(100 * fmean(gaps[name, ccr]) if gaps[name, ccr] else None for name in names)
            for ccr in RATIOS
        ),
        note="Graphs of 10 tasks whose optimum is proven; each bar over those it did not fail on.",
    )


def _table(proven: Sequence[Row], gaps: Mapping[tuple[str, float], Sequence[float]]) -> Grid:
    lines = []
    for name in HEURISTICS:
        found = [gap for ccr in RATIOS for gap in gaps[name, ccr]]
        lines.append(
            (
                NAMES[name],
                str(len(proven) - len(found)),
                f"{fmean(found):.1%}" if found else "–",
                f"{max(found):.1%}" if found else "–",
                f"{sum(gap < EXACT for gap in found) / len(found):.0%}" if found else "–",
            )
        )
    return Grid(
        title="All graphs with a proven optimum",
        headers=("algorithm", "failed", "mean gap", "greatest", "optimal"),
        rows=tuple(lines),
    )


STUDY = Study(
    name="optimum",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="How far from the optimum",
    seconds=22,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
