"""ROP-EDF table 6: what each method can do, found by running it."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.findings import NO_REASON, BarChart, Claim, Findings, Grid, stated
from headway.experiments.overload import questions as asked
from headway.experiments.overload.er_edf_noted import NotedErEdf
from headway.experiments.overload.rows import POLICY_NAMES
from headway.experiments.rows import blocks, text, where, whole
from headway.experiments.study import Cell, Paper, Row, Study
from headway.schedule.online import overload_policy_named
from headway.schedule.overload import simulate

SEED = 6
SETS, QUICK_SETS, BLOCK = 400, 40, 40
METHODS = ("rate-monotonic", "op-edf", "cbs", "er-edf", "rop-edf-1", "rop-edf-2")
RESERVING = ("rop-edf-1", "rop-edf-2")
AS_PRINTED = {"rop-edf-1": "rop-edf-1-paper", "rop-edf-2": "rop-edf-2-paper"}
ABSENT = ("Chain", "RTSTREAM", "semantic load shedding", "D_R EDF")
"""methods of the table that are not implemented here"""
EXAMPLE = "example"
WHY_PRINTED = (
    "The printed algorithm returns a reservation when its job completes. A soft job that completes "
    "early then makes room for another with a deadline before that of a waiting hard job, and both "
    "run ahead of it. Here a reservation ends at the completion and not before the deadline, and "
    "no set shows a hard miss."
)
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
        for question in asked.QUESTIONS
        for first, count in blocks(sets, BLOCK)
    ]
    return [*random, {"question": EXAMPLE, "first": 0, "sets": 1}]


def run(cell: Cell) -> list[Row]:
    question, first = text(cell, "question"), whole(cell, "first")
    if question == EXAMPLE:
        return _example()
    rows: list[Row] = []
    for number in range(first, first + whole(cell, "sets")):
        drawn = asked.task_set(question, number, SEED)
        releases = asked.releases_of(question, drawn, number, SEED)
        for method in (*METHODS, *AS_PRINTED.values()):
            noted = NotedErEdf()
            policy = noted if method == noted.name else overload_policy_named(method)
            missed, jobs = asked.misses(question, drawn, releases, policy)
            refused = [note for note in noted.notes if note.hard and not note.admitted]
            rows.append(
                _row(question, number, method, missed, jobs)
                | {"refused": len(refused), "doubled": sum(note.doubled for note in refused)}
            )
    return rows


def _example() -> list[Row]:
    drawn, releases = asked.counterexample()
    found: list[Row] = []
    for method in (*RESERVING, *AS_PRINTED.values()):
        policy, until = overload_policy_named(method), 2 * drawn.tasks[0].period
        outcome = simulate(drawn, releases, policy, until)
        jobs = sum(task.jobs for task in outcome.tasks if task.hard)
        found.append(_row(EXAMPLE, 0, method, outcome.hard_misses, jobs))
    return found


def _row(
    question: str, number: int, method: str, missed: int, jobs: int
) -> dict[str, int | str | None]:
    return {
        "question": question, "number": number, "method": method, "missed": missed, "jobs": jobs,
        "refused": None, "doubled": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(
            _stated(rows, ("op-edf",), {"below": True, "overload": False},
                    "OP-EDF keeps hard deadlines while there is no overload, not in overload"),
            _stated(rows, ("cbs",), {"deadlines": False},
                    "CBS knows one deadline a task and cannot manage tasks with several"),
            _stated(rows, ("er-edf",), {"overload": True, "requested": False},
                    "ER-EDF guarantees hard deadlines in overload, but only while no more than "
                    "100 % is requested", _why_er_edf(rows)),
            _stated(rows, RESERVING, dict.fromkeys(asked.QUESTIONS, True),
                    "ROP-EDF has all four features"),
            _only(rows),
            _printed(rows),
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
) -> Claim:
    told = "; ".join(
        f"{asked.QUESTIONS[question]}: misses "
        + ", ".join(dict.fromkeys(_told(rows, question, method) for method in methods))
        for question in wanted
    )
    holds = all(
        _has(rows, question, method) is yes
        for question, yes in wanted.items()
        for method in methods
    )
    return stated("table 6", published, told, holds=holds, why=why)


def _why_er_edf(rows: Sequence[Row]) -> str:
    """Told only if every refusal of a hard job was of this kind."""
    chosen = where(rows, question="overload", method="er-edf")
    refused = sum(whole(row, "refused") for row in chosen)
    doubled = sum(whole(row, "doubled") for row in chosen)
    return f"{WHY_ER_EDF} ({refused:,} refused)" if 0 < refused == doubled else NO_REASON


def _only(rows: Sequence[Row]) -> Claim:
    complete = [m for m in METHODS if all(_has(rows, question, m) for question in asked.QUESTIONS)]
    return stated(
        "table 6",
        "ROP-EDF is the only method with all four",
        f"with all four: {', '.join(POLICY_NAMES[method] for method in complete) or 'none'}, of "
        f"{', '.join(POLICY_NAMES[method] for method in METHODS)}; not implemented here: "
        f"{', '.join(ABSENT)}",
        holds=tuple(complete) == RESERVING,
    )


def _printed(rows: Sequence[Row]) -> Claim:
    questions = (*asked.QUESTIONS, EXAMPLE)
    hard = [question for question in questions if question != "deadlines"]
    counts = {
        method: sum(_missed(rows, question, method)[0] for question in hard)
        for method in (*AS_PRINTED.values(), *RESERVING)
    }
    sets = sum(_missed(rows, question, RESERVING[0])[3] for question in hard)
    printed = [counts[name] for name in AS_PRINTED.values()]
    held = [counts[name] for name in RESERVING]
    return stated(
        "theorem 1",
        "hard tasks are safe up to 1 − α under ROP-EDF, whatever the soft load",
        f"as printed {printed[0]} (policy 1) and {printed[1]} (policy 2) hard misses in {sets} "
        f"sets, one of them made by hand; with reservations held until the deadline {held[0]} and "
        f"{held[1]}",
        holds=not any(printed),
        why=WHY_PRINTED if not any(held) else "hard tasks miss here, too",
    )


def _table(rows: Sequence[Row]) -> Grid:
    found = [
        (
            POLICY_NAMES[method],
            *(
                ("✓ " if _has(rows, question, method) else "✗ ") + _told(rows, question, method)
                for question in asked.QUESTIONS
            ),
        )
        for method in METHODS
    ]
    absent = [(name, *(["not implemented here"] * len(asked.QUESTIONS))) for name in ABSENT]
    return Grid(
        title="Table 6, by running the methods: a mark is ✓ where no job that counts was missed",
        headers=("method", *asked.QUESTIONS.values()),
        rows=(*found, *absent),
    )


def _chart(rows: Sequence[Row]) -> BarChart:
    def ratio(question: str, method: str) -> float:
        missed, jobs, _, _ = _missed(rows, question, method)
        return 100 * missed / jobs

    return BarChart(
        title="Table 6 in numbers",
        y="missed jobs, %",
        groups=tuple(asked.QUESTIONS.values()),
        bars=tuple(POLICY_NAMES[method] for method in METHODS),
        values=tuple(tuple(ratio(q, method) for method in METHODS) for q in asked.QUESTIONS),
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
