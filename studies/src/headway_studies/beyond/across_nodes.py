"""ROP-EDF over several nodes (what the paper leaves open): random paths on three nodes.

Three hard paths need half of every node they pass; six soft paths ask for the rest of the level on
the nodes they pass, in windows of 30 to 100 % of their gaps and with messages of up to 7 ms. A job
is admitted on all its nodes or on none; to see what that is worth, the same jobs are also admitted
by their first node alone. Levels are what is asked of a node, in percent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet
from headway.report.charts import LineChart, Point, Series
from headway.schedule.online import overload_policy_named
from headway.schedule.overload.admission_over_nodes import (
    Admission,
    NodePath,
    Stage,
)
from headway.schedule.overload.one_processor import in_order, simulate
from headway_studies.provenance import assumed
from headway_studies.row_reading import Sample, blocks, grouped, number, sample, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond

NODES = ("n1", "n2", "n3")
LEVELS = (80, 100, 120, 150, 200, 300)
HARD_PERCENT = 50
HARD_PATHS, SOFT_PATHS = 3, 6
DURATION = 1_000 * MILLISECOND
ADMISSIONS = ("all nodes or none", "first node only")


class CountingAdmission(Admission):
    """All or nothing, with a count of jobs that were given some of their windows only."""

    partly = 0

    def admit(self, path: NodePath, release: int, uses: Sequence[int]) -> bool:
        for books in self.books.values():
            books.return_until(release)
        before = sum(len(books.reserved) for books in self.books.values())
        admitted = super().admit(path, release, uses)
        added = sum(len(books.reserved) for books in self.books.values()) - before
        self.partly += added not in ((0,) if path.hard or not admitted else (len(path.stages),))
        return admitted


class FirstNodeOnly(Admission):
    """What must not be done: the first node decides, the others are not asked."""

    partly = 0

    def admit(self, path: NodePath, release: int, uses: Sequence[int]) -> bool:
        stage, opens, closes = path.windows(release)[0]
        books = self.books[stage.node]
        books.return_until(release)
        if path.hard:
            return True
        if not books.fits(opens, closes, uses[0]):
            return False
        books.reserve(opens, closes, uses[0])
        self.partly += len(path.stages) > 1
        return True


@dataclass(frozen=True, kw_only=True)
class NodeRow:
    """What a node did in one trial: admitted stages that ended after their windows."""

    level: int
    trial: int
    admission: str
    node: str
    hard_stages: int
    hard_late: int
    soft_stages: int
    soft_late: int
    soft_jobs: int
    """of the whole trial, as are the next two"""
    soft_admitted: int
    partly: int


def random_paths(level: int, random: np.random.Generator) -> list[NodePath]:
    """Every path passes one to three nodes."""
    paths = []
    for kind, count, percent in (
        (TaskKind.HARD, HARD_PATHS, HARD_PERCENT),
        (TaskKind.SOFT, SOFT_PATHS, level - HARD_PERCENT),
    ):
        routes = [
            [str(node) for node in random.permutation(NODES)[: random.integers(1, 4)]]
            for _ in range(count)
        ]
        peaks = _peaks(routes, FULL * percent // 100, random)
        for place, route in enumerate(routes):
            gap = int(random.integers(10, 60)) * MILLISECOND
            stages = tuple(
                Stage(
                    node=node,
                    window=int(gap * random.uniform(0.3, 1)),
                    peak=peaks[place, node],
                    latency=int(random.integers(0, 8)) * MILLISECOND,
                )
                for node in route
            )
            paths.append(NodePath(name=f"{kind.value}{place}", kind=kind, gap=gap, stages=stages))
    return paths


def _peaks(
    routes: Sequence[Sequence[str]], total: int, random: np.random.Generator
) -> dict[tuple[int, str], int]:
    """(path, node) -> its share of ``total`` on that node."""
    found = {}
    for node in NODES:
        users = [place for place, route in enumerate(routes) if node in route]
        parts = random.dirichlet(np.full(max(1, len(users)), 2.0))
        for place, part in zip(users, parts, strict=False):
            found[place, node] = max(1, int(part * (total - len(users))))
    return found


def draw_jobs(
    paths: Sequence[NodePath], duration: int, random: np.random.Generator
) -> list[tuple[int, int, tuple[int, ...]]]:
    """(release, path, utilisation of each stage), in order of release; half to all of each peak."""
    found = []
    for index, path in enumerate(paths):
        time = int(random.integers(0, path.gap))
        while time < duration:
            uses = tuple(max(1, int(s.peak * random.uniform(0.5, 1))) for s in path.stages)
            found.append((time, index, uses))
            time += path.gap + int(random.exponential(path.gap / 4))
    return sorted(found)


def node_jobs(
    paths: Sequence[NodePath],
    jobs: Sequence[tuple[int, int, tuple[int, ...]]],
    admission: Admission,
) -> tuple[Mapping[str, list[tuple[int, int, int, int, int]]], int]:
    """The admitted stages as each node sees them, (opens, closes, path, execution, utilisation),
    and how many jobs were rejected."""
    seen: dict[str, list[tuple[int, int, int, int, int]]] = {n: [] for n in admission.books}
    rejected = 0
    for release, index, uses in jobs:
        path = paths[index]
        if not admission.admit(path, release, uses):
            rejected += 1
            continue
        for (stage, opens, closes), use in zip(path.windows(release), uses, strict=True):
            execution = max(1, stage.window * use // FULL)
            seen[stage.node].append((opens, closes, index, execution, use))
    return seen, rejected


def run_trial(level: int, trial: int, seed: int) -> list[NodeRow]:
    """The same jobs under both admissions."""
    random = np.random.default_rng([seed, level, trial])
    paths = random_paths(level, random)
    jobs = draw_jobs(paths, DURATION, random)
    whole, first = CountingAdmission(paths), FirstNodeOnly(paths)
    return [
        *_run(level, trial, ADMISSIONS[0], paths, jobs, whole),
        *_run(level, trial, ADMISSIONS[1], paths, jobs, first),
    ]


def _run(
    level: int,
    trial: int,
    name: str,
    paths: Sequence[NodePath],
    jobs: Sequence[tuple[int, int, tuple[int, ...]]],
    admission: CountingAdmission | FirstNodeOnly,
) -> list[NodeRow]:
    seen, rejected = node_jobs(paths, jobs, admission)
    soft_jobs = sum(not paths[index].hard for _, index, _ in jobs)
    tasks = tuple(
        OverloadTask(
            name=path.name,
            kind=path.kind,
            period=path.gap,
            deadline=path.gap,
            utilisation=Constant(1),
        )
        for path in paths
    )
    rows = []
    for node, stages in seen.items():
        on_node = TaskSet(name=node, tasks=tasks)
        releases = in_order(tasks, list(stages))
        outcome = simulate(on_node, releases, overload_policy_named("op-edf"), 2 * DURATION)
        hard = [task for task in outcome.tasks if task.hard]
        soft = [task for task in outcome.tasks if not task.hard]
        rows.append(
            NodeRow(
                level=level,
                trial=trial,
                admission=name,
                node=node,
                hard_stages=sum(task.jobs for task in hard),
                hard_late=sum(task.late for task in hard),
                soft_stages=sum(task.jobs for task in soft),
                soft_late=sum(task.late for task in soft),
                soft_jobs=soft_jobs,
                soft_admitted=soft_jobs - rejected,
                partly=admission.partly,
            )
        )
    return rows


FIGURE = "several nodes"
DRAWN = assumed("paths, deadlines and loads are drawn by us: the papers have one node")
SEED = 9
TRIALS, QUICK_TRIALS, BLOCK = 100, 20, 25
WHOLE, FIRST = ADMISSIONS


def cells(quick: bool) -> list[Cell]:
    return [
        {"level": level, "first": first, "trials": count}
        for level in LEVELS
        for first, count in blocks(QUICK_TRIALS if quick else TRIALS, BLOCK)
    ]


def run(cell: Cell) -> list[Row]:
    first = whole(cell, "first")
    return [
        asdict(row)
        for trial in range(first, first + whole(cell, "trials"))
        for row in run_trial(whole(cell, "level"), trial, SEED)
    ]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(_late(rows, WHOLE), _partly(rows), _late(rows, FIRST), _accepted(rows)),
        pictures=(_chart(rows),),
    )


def _late(rows: Sequence[Row], admission: str) -> Claim:
    chosen = where(rows, admission=admission)
    by_node = ", ".join(
        f"{node} {sum(whole(row, 'hard_late') for row in where(chosen, node=node))}"
        for node in NODES
    )
    stages = sum(whole(row, "hard_stages") for row in chosen)
    soft = sum(whole(row, "soft_late") for row in chosen)
    admitted = sum(whole(row, "soft_stages") for row in chosen)
    asked = (
        "do admitted jobs keep their deadlines on every node?"
        if admission == WHOLE
        else "and if only the first node were asked?"
    )
    return beyond(
        FIGURE,
        asked,
        f"late hard stages: {by_node}, of {stages:,} in all; late soft stages: {soft:,} of "
        f"{admitted:,} admitted",
        came=DRAWN,
    )


def _trials(rows: Sequence[Row], admission: str) -> list[Row]:
    """One row for each trial: what is counted for the whole trial stands in every node's row."""
    chosen = grouped(where(rows, admission=admission), "level", "trial")
    return [group[0] for group in chosen.values()]


def _partly(rows: Sequence[Row]) -> Claim:
    found = _trials(rows, WHOLE)
    admitted = sum(whole(row, "soft_admitted") for row in found)
    refused = sum(whole(row, "soft_jobs") for row in found) - admitted
    return beyond(
        FIGURE,
        "is a job ever admitted on some of its nodes only?",
        f"{sum(whole(row, 'partly') for row in found)} of {admitted:,} admitted and {refused:,} "
        "refused soft jobs held a part of their windows",
        came=DRAWN,
    )


def _share(rows: Sequence[Row], admission: str, level: int) -> Sample:
    chosen = where(_trials(rows, admission), level=level)
    return sample([number(row, "soft_admitted") / number(row, "soft_jobs") for row in chosen])


def _accepted(rows: Sequence[Row]) -> Claim:
    return beyond(
        FIGURE,
        "how many soft jobs are admitted, by what is asked of each node?",
        ", ".join(f"{level} %: {_share(rows, WHOLE, level).percent()}" for level in LEVELS),
        came=DRAWN,
    )


def _chart(rows: Sequence[Row]) -> LineChart:
    series = []
    for admission in ADMISSIONS:
        points = []
        for level in LEVELS:
            one = _share(rows, admission, level)
            points.append(
                Point(x=level, y=100 * one.mean, low=100 * one.least, high=100 * one.most)
            )
        series.append(Series(name=f"admitted: {admission}", points=tuple(points)))
    late = tuple(
        Point(x=level, y=100 * _late_share(where(rows, admission=FIRST, level=level)))
        for level in LEVELS
    )
    return LineChart(
        title="Soft jobs admitted across three nodes",
        x="asked of each node, %",
        y="%",
        series=(*series, Series(name=f"late hard stages: {FIRST}", points=late)),
        note="Hard paths need half of every node; mean, and from the least to the greatest.",
    )


def _late_share(rows: Sequence[Row]) -> float:
    stages = sum(whole(row, "hard_stages") for row in rows)
    return sum(whole(row, "hard_late") for row in rows) / stages if stages else 0.0


STUDY = Study(
    name="nodes",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="ROP-EDF across nodes",
    seconds=3,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
