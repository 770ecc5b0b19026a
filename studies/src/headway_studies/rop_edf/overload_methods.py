"""ROP-EDF table 6: what each method can do, found by running it.

The columns of the ROP-EDF paper's table 6 as experiments: each is a family of random task sets,
and a method has the feature if no set of the family shows a miss.

- ``below``: all peaks together within one processor; does a hard job miss?
- ``overload``: peaks beyond it, what is requested (Σ ψ(hard) + Σ θ(soft)) within; a hard job?
- ``deadlines``: jobs of one task have a long or a short deadline, within one processor by density
  (C/D); does any job miss its own?
- ``requested``: 110 to 200 % requested, hard peaks within 80 %; does a hard job miss?

Periods are 10 to 100 ms, half of the tasks are sporadic. The same jobs for every method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.model.quantities import MILLISECOND
from headway.model.taskset import (
    FULL,
    Constant,
    Distribution,
    OverloadTask,
    Range,
    TaskKind,
    TaskSet,
)
from headway.schedule.online import overload_policy_named
from headway.schedule.online.reservation import ReservationPolicy
from headway.schedule.overload.one_processor import Release, draw_releases, in_order, simulate
from headway_studies.provenance import Provenance, assumed
from headway_studies.rop_edf.hard_tasks import ONE_SHARE
from headway_studies.rop_edf.task_set_rows import (
    HELD,
    HELD_POLICIES,
    OVERLOAD_POLICY_NAMES,
    POLICED,
    PRINTED_POLICIES,
    ChainOfPaths,
    NotedErEdf,
    OneShareErEdf,
    PolicedEdf2,
)
from headway_studies.row_reading import blocks, text, where, whole
from headway_studies.study import NO_REASON, Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import BarChart, Grid

QUESTIONS = {
    "below": "hard guarantee below overload",
    "overload": "hard guarantee in overload",
    "deadlines": "several deadlines a task",
    "requested": "over 100 % requested",
}
DURATION = 2_000 * MILLISECOND
SHORT = 0.5
"""of the period: the deadline of every other job of a task with several"""


@dataclass(frozen=True, kw_only=True)
class Load:
    """Shares of a processor that a set asks for: hard peaks, soft averages; soft peaks are
    ``swing`` times the average."""

    hard: float
    soft: float
    swing: float


def _load(question: str, random: np.random.Generator) -> Load:
    hard = random.uniform(0.3, 0.6)
    if question in ("below", "deadlines"):
        return Load(hard=hard, soft=random.uniform(0.85, 1.0) - hard, swing=1.0)
    if question == "overload":
        return Load(hard=hard, soft=random.uniform(0.9, 1.0) - hard, swing=2.0)
    return Load(hard=random.uniform(0.3, 0.8), soft=random.uniform(0.8, 1.2), swing=1.5)


def task_set(question: str, number: int, seed: int) -> TaskSet:
    """A random set of 2 to 4 hard and 3 to 6 soft tasks."""
    random = np.random.default_rng([seed, list(QUESTIONS).index(question), number])
    load = _load(question, random)
    tasks: list[OverloadTask] = []
    for kind, total, few, many in (
        (TaskKind.HARD, load.hard, 2, 4),
        (TaskKind.SOFT, load.soft, 3, 6),
    ):
        count = int(random.integers(few, many + 1))
        parts = random.dirichlet(np.full(count, 2.0)) * total * FULL
        for place, part in enumerate(parts, start=1):
            use = max(1, int(part))
            low, high = use - int(use * (load.swing - 1)), int(use * load.swing)
            tasks.append(
                OverloadTask(
                    name=f"{kind.value[0].upper()}{place}",
                    kind=kind,
                    period=(period := int(random.integers(10, 101)) * MILLISECOND),
                    deadline=period,
                    utilisation=Constant(use)
                    if kind is TaskKind.HARD or load.swing == 1
                    else Range(max(1, low), high, use, Distribution.UNIFORM),
                    sporadic=bool(random.random() < 0.5),
                )
            )
    return TaskSet(name=f"{question} {number}", tasks=tuple(tasks))


def releases_of(question: str, drawn: TaskSet, number: int, seed: int) -> list[Release]:
    """The jobs of a set; under ``deadlines`` every other job of a task must be done in half the
    time and asks for as much less."""
    random = np.random.default_rng([seed, len(QUESTIONS), number])
    releases = draw_releases(drawn, DURATION, random)
    if question != "deadlines":
        return releases
    seen = [0] * len(drawn.tasks)
    shorter: list[Release] = []
    for release, deadline, task, execution, use in releases:
        due, left = deadline, execution
        if seen[task] % 2:
            window = int((deadline - release) * SHORT)
            due, left = release + window, max(1, window * use // FULL)
        seen[task] += 1
        shorter.append((release, due, task, left, use))
    return in_order(drawn.tasks, shorter)


def misses(
    question: str, drawn: TaskSet, releases: Sequence[Release], policy: ReservationPolicy
) -> tuple[int, int]:
    """(missed, all) jobs that count for the question."""
    outcome = simulate(drawn, releases, policy, DURATION)
    counted = [task for task in outcome.tasks if task.hard or question == "deadlines"]
    return sum(task.misses for task in counted), sum(task.jobs for task in counted)


def counterexample() -> tuple[TaskSet, list[Release]]:
    """A hard task of 50 % that misses under ROP-EDF as printed: S1 completes early, its reservation
    is returned, and S2 takes its place before H has run."""
    half, unit = FULL // 2, MILLISECOND
    deadlines = {"H": 10 * unit, "S1": 9_900_000, "S2": 5 * unit}
    tasks = tuple(
        OverloadTask(
            name=name,
            kind=TaskKind.HARD if name == "H" else TaskKind.SOFT,
            period=20 * unit,
            deadline=deadline,
            utilisation=Constant(half),
        )
        for name, deadline in deadlines.items()
    )
    starts = (0, 0, 4_950_000)
    releases: list[Release] = [
        (start, start + deadline, place, deadline // 2, half)
        for place, (start, deadline) in enumerate(zip(starts, deadlines.values(), strict=True))
    ]
    return TaskSet(name="counterexample", tasks=tasks), in_order(tasks, releases)


SEED = 6
SETS, QUICK_SETS, BLOCK = 400, 40, 40
RIVALS = (
    ChainOfPaths.name, "rate-monotonic", "rtstream", "op-edf", "cbs", "er-edf", OneShareErEdf.name,
)  # fmt: skip
METHODS = (*RIVALS, *PRINTED_POLICIES, PolicedEdf2.name, *HELD_POLICIES)
DRAWN = assumed(
    "families of task sets drawn by us: the paper prints marks, not how they were found"
)
PREDICTED = assumed(
    "RTSTREAM lets in whole jobs, predicts the work of each task's next job from its last, and "
    "sheds from all tasks alike; the text says only that it cares for the miss ratio in overload"
)
ABSENT = ("semantic load shedding", "D_R EDF")
"""methods of the table that are not run here: the first drops tuples by value before a query, which
is a load shedder and no order of jobs; of the second the text does not say when it changes over"""
EXAMPLE = "example"
WHY_EARLY = (
    "The printed algorithm returns a reservation when its job completes. A soft job that completes "
    "early then makes room for another with a deadline before that of a waiting hard job, and both "
    "run ahead of it."
)
WHY_PRINTED = (
    f"{WHY_EARLY} And budgets hold only while the peaks of the jobs present exceed 1 − α. Held "
    "until the deadline, with budgets that hold whenever the peaks of all tasks do, no set shows "
    "a hard miss (last line)."
)
WHY_POLICED = f"{WHY_EARLY} That is so whenever budgets hold, too."
WHY_ER_EDF = (
    "A soft job that asks for more than its average can outlive its period and still hold its "
    "share when the next job of its task takes another; then a hard job finds too little. Every "
    "refused hard job came while some task held two shares. The paper does not say what becomes of "
    "such jobs."
)


def cells(quick: bool) -> list[Cell]:
    sets = QUICK_SETS if quick else SETS
    random: list[Cell] = [
        {"question": question, "first": first, "sets": count}
        for question in QUESTIONS
        for first, count in blocks(sets, BLOCK)
    ]
    return [*random, {"question": EXAMPLE, "first": 0, "sets": 1}]


def run(cell: Cell) -> list[Row]:
    question, first = text(cell, "question"), whole(cell, "first")
    if question == EXAMPLE:
        return _example()
    rows: list[Row] = []
    for number in range(first, first + whole(cell, "sets")):
        drawn = task_set(question, number, SEED)
        releases = releases_of(question, drawn, number, SEED)
        for method in METHODS:
            noted = NotedErEdf()
            own = {one.name: one for one in (noted, OneShareErEdf(), PolicedEdf2(), ChainOfPaths())}
            policy = own.get(method) or overload_policy_named(method)
            missed, jobs = misses(question, drawn, releases, policy)
            refused = [note for note in noted.notes if note.hard and not note.admitted]
            rows.append(
                _row(question, number, method, missed, jobs)
                | {"refused": len(refused), "doubled": sum(note.doubled for note in refused)}
            )
    return rows


def _example() -> list[Row]:
    drawn, releases = counterexample()
    found: list[Row] = []
    for policy in (
        *map(overload_policy_named, PRINTED_POLICIES),
        PolicedEdf2(),
        *map(overload_policy_named, HELD_POLICIES),
    ):
        until = 2 * drawn.tasks[0].period
        outcome = simulate(drawn, releases, policy, until)
        jobs = sum(task.jobs for task in outcome.tasks if task.hard)
        found.append(_row(EXAMPLE, 0, policy.name, outcome.hard_misses, jobs))
    return found


def _row(
    question: str, number: int, method: str, missed: int, jobs: int
) -> dict[str, int | str | None]:
    return {
        "question": question, "number": number, "method": method, "missed": missed, "jobs": jobs,
        "refused": None, "doubled": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    overload = {"overload": True, "requested": False}
    er_edf = (
        "ER-EDF guarantees hard deadlines in overload, but only while no more than 100 % is "
        "requested"
    )
    every = dict.fromkeys(QUESTIONS, True)
    four = "ROP-EDF has all four features"
    return Findings(
        claims=(
            _stated(rows, ("op-edf",), {"below": True, "overload": False},
                    "OP-EDF keeps hard deadlines while there is no overload, not in overload"),
            _stated(rows, (ChainOfPaths.name,), {"below": False},
                    "Chain does not consider hard real-time constraints"),
            _stated(rows, ("rtstream",), {"below": True, "overload": False},
                    "RTSTREAM handles hard tasks while there is no overload; in overload it cares "
                    "for the miss ratio alone", came=PREDICTED),
            _stated(rows, ("rtstream",), {"deadlines": False},
                    "RTSTREAM cannot handle a query with more than one deadline", came=PREDICTED),
            _stated(rows, ("cbs",), {"deadlines": False},
                    "CBS knows one deadline a task and cannot manage tasks with several"),
            _stated(rows, ("er-edf",), overload, er_edf, _why_er_edf(rows)),
            _stated(rows, (OneShareErEdf.name,), overload, er_edf, came=ONE_SHARE),
            _stated(rows, PRINTED_POLICIES, every, four, WHY_PRINTED),
            _stated(rows, HELD_POLICIES, every, four, came=HELD),
            _only(rows, PRINTED_POLICIES, DRAWN, "none of them has all four as it is printed"),
            _only(rows, HELD_POLICIES, HELD),
            _theorem(rows, PRINTED_POLICIES, DRAWN, WHY_PRINTED),
            _theorem(rows, (PolicedEdf2.name,), POLICED, WHY_POLICED),
            _theorem(rows, HELD_POLICIES, HELD, "hard tasks miss here, too"),
        ),
        pictures=(_table(rows), _chart(rows)),
    )  # fmt: skip


def _missed(rows: Sequence[Row], question: str, method: str) -> tuple[int, int, int, int]:
    """(missed jobs, jobs, sets with a miss, sets)"""
    chosen = where(rows, question=question, method=method)
    missed = [whole(row, "missed") for row in chosen]
    jobs = sum(whole(row, "jobs") for row in chosen)
    return sum(missed), jobs, sum(count > 0 for count in missed), len(chosen)


def _has(rows: Sequence[Row], question: str, method: str) -> bool:
    return _missed(rows, question, method)[0] == 0


def _told(rows: Sequence[Row], question: str, method: str) -> str:
    missed, jobs, bad, sets = _missed(rows, question, method)
    return f"none in {sets} sets" if not missed else f"{missed / jobs:.1%}, {bad} of {sets} sets"


def _stated(
    rows: Sequence[Row],
    methods: Sequence[str],
    wanted: dict[str, bool],
    published: str,
    why: str = NO_REASON,
    came: Provenance = DRAWN,
) -> Claim:
    """``came``: what the runs of these methods rest on, by default the sets alone."""
    told = f"{_named(methods)}: " + "; ".join(
        f"{QUESTIONS[question]}: misses "
        + ", ".join(dict.fromkeys(_told(rows, question, method) for method in methods))
        for question in wanted
    )
    holds = all(
        _has(rows, question, method) is yes
        for question, yes in wanted.items()
        for method in methods
    )
    return stated("table 6", published, told, came=came, holds=holds, why=why)


def _why_er_edf(rows: Sequence[Row]) -> str:
    """Told only if every refusal of a hard job was of this kind."""
    chosen = where(rows, question="overload", method="er-edf")
    refused = sum(whole(row, "refused") for row in chosen)
    doubled = sum(whole(row, "doubled") for row in chosen)
    return f"{WHY_ER_EDF} ({refused:,} refused)" if 0 < refused == doubled else NO_REASON


def _named(methods: Sequence[str]) -> str:
    return ", ".join(OVERLOAD_POLICY_NAMES[method] for method in methods)


def _only(
    rows: Sequence[Row], policies: tuple[str, ...], came: Provenance, why: str = NO_REASON
) -> Claim:
    asked = (*RIVALS, *policies)
    complete = tuple(m for m in asked if all(_has(rows, question, m) for question in QUESTIONS))
    return stated(
        "table 6",
        "ROP-EDF is the only method with all four",
        f"with all four: {_named(complete) or 'none'}, of {_named(asked)}; not run here: "
        f"{', '.join(ABSENT)}",
        came=came,
        holds=complete == policies,
        why=why,
    )


def _theorem(rows: Sequence[Row], policies: Sequence[str], came: Provenance, why: str) -> Claim:
    hard = [question for question in (*QUESTIONS, EXAMPLE) if question != "deadlines"]
    counts = {
        method: sum(_missed(rows, question, method)[0] for question in hard) for method in policies
    }
    sets = sum(_missed(rows, question, policies[0])[3] for question in hard)
    told = ", ".join(f"{OVERLOAD_POLICY_NAMES[name]} {count}" for name, count in counts.items())
    return stated(
        "theorem 1",
        "hard tasks are safe up to 1 − α under ROP-EDF, whatever the soft load",
        f"hard misses in {sets} sets, one of them made by hand: {told}",
        came=came,
        holds=not any(counts.values()),
        why=why,
    )


def _table(rows: Sequence[Row]) -> Grid:
    found = [
        (
            OVERLOAD_POLICY_NAMES[method],
            *(
                ("✓ " if _has(rows, question, method) else "✗ ") + _told(rows, question, method)
                for question in QUESTIONS
            ),
        )
        for method in METHODS
    ]
    absent = [(name, *(["not run here"] * len(QUESTIONS))) for name in ABSENT]
    return Grid(
        title="Table 6, by running the methods: a mark is ✓ where no job that counts was missed",
        headers=("method", *QUESTIONS.values()),
        rows=(*found, *absent),
    )


def _chart(rows: Sequence[Row]) -> BarChart:
    def ratio(question: str, method: str) -> float:
        missed, jobs, _, _ = _missed(rows, question, method)
        return 100 * missed / jobs

    return BarChart(
        title="Table 6 in numbers",
        y="missed jobs, %",
        groups=tuple(QUESTIONS.values()),
        bars=tuple(OVERLOAD_POLICY_NAMES[method] for method in METHODS),
        values=tuple(tuple(ratio(q, method) for method in METHODS) for q in QUESTIONS),
        note="Of hard jobs; for several deadlines a task of all jobs, each by its own deadline.",
    )


STUDY = Study(
    name="methods",
    paper=Paper.ROP_EDF,
    figures=("table 6",),
    title="What each method can do",
    seconds=10,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
