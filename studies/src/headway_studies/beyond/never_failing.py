"""Beyond HVLB_CC: a queue by priority (B) that cannot fail, against (B), HEFT and CPOP.

Always the best priority (B) among the tasks whose predecessors are scheduled (``hvlb-cc-c``). Where
(B) does not fail the two queues are the same, so makespans are compared with those of (B) where it
works, and with HEFT and CPOP (under the same contention) everywhere.

Graphs as TGFF grows them, 10 to 50 tasks, every CCR and order of rates in turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance
from headway_studies.beyond.exact_alpha import grid
from headway_studies.hvlb_cc.random_graphs import RANDOM_GRAPHS, figure_2
from headway_studies.hvlb_cc.schedule_trials import ScheduleTrial, graph_of
from headway_studies.row_reading import Sample, blocks, distinct, number, sample, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import BarChart

GRAPHS = 1000
SEED = 20163
COMPARED = ("hvlb-cc-b", "hvlb-cc-c", "heft", "cpop")


def run_trial(trial: ScheduleTrial) -> Row:
    """Makespans; None where (B) failed."""
    instance = Instance(graph_of(trial), figure_2(trial.rates))
    found = [ALGORITHMS[name].run(instance, ExactAlpha()).makespan for name in COMPARED]
    b, *others = (None if makespan is None else float(makespan) for makespan in found)
    c, heft, cpop = (float(makespan or 0) for makespan in others)
    return {
        "number": trial.number,
        "tasks": trial.tasks,
        "b": b,
        "c": c,
        "heft": heft,
        "cpop": cpop,
    }


FIGURE = "the queue that cannot fail"
BLOCK, QUICK_GRAPHS = 50, 100
RIVALS = {"heft": "HEFT", "cpop": "CPOP"}


def cells(quick: bool) -> list[Cell]:
    total = QUICK_GRAPHS if quick else GRAPHS
    return [{"first": first, "graphs": count} for first, count in blocks(total, BLOCK)]


def run(cell: Cell) -> list[Row]:
    first, count = whole(cell, "first"), whole(cell, "graphs")
    return [run_trial(trial) for trial in grid(first + count, SEED)[first:]]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(claims=(_failures(rows), _rivals(rows)), pictures=(_chart(rows),))


def _failures(rows: Sequence[Row]) -> Claim:
    worked = [row for row in rows if row["b"] is not None]
    same = sum(row["b"] == row["c"] for row in worked)
    scheduled = sum(number(row, "c") > 0 for row in rows)
    return beyond(
        FIGURE,
        "what does (B) lose if only tasks whose predecessors are scheduled may come to the head?",
        f"(B) failed on {len(rows) - len(worked)} of {len(rows):,} graphs, this queue on "
        f"{len(rows) - scheduled}; same makespan on {same} of the {len(worked)} others",
        came=RANDOM_GRAPHS,
    )


def _ratio(rows: Sequence[Row], rival: str) -> Sample:
    return sample([number(row, rival) / number(row, "c") for row in rows])


def _rivals(rows: Sequence[Row]) -> Claim:
    failed = [row for row in rows if row["b"] is None]
    told = ", ".join(
        f"{name}'s makespan {_longer(_ratio(rows, rival))}"
        + (f" ({_longer(_ratio(failed, rival))} where (B) failed)" if failed else "")
        for rival, name in RIVALS.items()
    )
    return beyond(
        FIGURE, "and against HEFT and CPOP under the same contention?", told, came=RANDOM_GRAPHS
    )


def _longer(ratio: Sample) -> str:
    return f"{100 * (ratio.mean - 1):+.1f} ± {100 * ratio.deviation:.1f} %"


def _chart(rows: Sequence[Row]) -> BarChart:
    sizes = sorted(int(str(size)) for size in distinct(rows, "tasks"))
    shares = []
    for size in sizes:
        chosen = where(rows, tasks=size)
        failed = [sum(not row[queue] for row in chosen) for queue in ("b", "c")]
        shares.append(tuple(100 * count / len(chosen) for count in failed))
    return BarChart(
        title="Failed queues by number of tasks",
        y="failed, %",
        groups=tuple(f"{size} tasks" for size in sizes),
        bars=("(B)", "the queue that cannot fail"),
        values=tuple(shares),
    )


STUDY = Study(
    name="order",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="A queue that cannot fail",
    seconds=5,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
