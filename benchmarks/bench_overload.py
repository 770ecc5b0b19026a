"""Overload: jobs a second against SimSo, growth with the number of jobs, and a crowded crossing.

    python benchmarks/bench_overload.py [--crossing] [--repeats 3]

SimSo runs the same five periodic tasks under ``EDF_mono`` and every job must end at the same
millisecond. Both sides are measured without building the model and drawing the jobs.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import crowded_crossing
from peers import PeerMissing, ask, one_core, python_of

from headway.files import load_query, load_vehicle
from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet
from headway.schedule.online import OVERLOAD_POLICIES, overload_policy_named
from headway.schedule.overload.one_processor import (
    Happening,
    Release,
    TrialRecord,
    in_order,
    simulate,
)

LENGTH = 20_000
"""ms"""
TASKS = (("a", 10, 1, 0), ("b", 20, 3, 1), ("c", 25, 4, 2), ("d", 40, 6, 3), ("e", 50, 8, 4))
"""name, period, execution time, phase (ms): 71 % of a processor"""


def task_set() -> TaskSet:
    return TaskSet(
        name="edf",
        tasks=tuple(
            OverloadTask(
                name=name,
                kind=TaskKind.HARD if index < 2 else TaskKind.SOFT,
                period=period * MILLISECOND,
                deadline=period * MILLISECOND,
                utilisation=Constant(wcet * FULL // period),
            )
            for index, (name, period, wcet, _) in enumerate(TASKS)
        ),
    )


def releases(length: int, factor: int = 1) -> list[Release]:
    """``factor`` times the execution times: 2 is an overload of 142 %."""
    found = []
    for index, (_, period, wcet, phase) in enumerate(TASKS):
        for time in range(phase, length, period):
            begin, end = time * MILLISECOND, (time + period) * MILLISECOND
            found.append((begin, end, index, factor * wcet * MILLISECOND, wcet * FULL // period))
    return in_order(task_set().tasks, found)


def speed(
    policy: str, jobs: list[Release], length: int, repeats: int, *, traced: bool = False
) -> float:
    """Jobs per CPU second of the fastest run."""
    best = 0.0
    for _ in range(repeats):
        record = TrialRecord() if traced else None
        start = process_time()
        simulate(task_set(), jobs, overload_policy_named(policy), length * MILLISECOND, record)
        best = max(best, len(jobs) / (process_time() - start))
    return best


def against_simso(repeats: int) -> None:
    jobs = releases(LENGTH)
    ours = speed("op-edf", jobs, LENGTH, repeats)
    traced = speed("op-edf", jobs, LENGTH, repeats, traced=True)
    print(f"{len(jobs):,} jobs under EDF: {ours:,.0f} jobs/s, with a record {traced:,.0f}")
    try:
        arguments = [":".join(map(str, (n, p, w, o))) for n, p, w, o in TASKS]
        found = ask(python_of("simso"), "peer_simso.py", LENGTH, repeats, *arguments)
    except PeerMissing as error:
        print(error)
        return
    theirs = len(jobs) / found["seconds"]
    record = TrialRecord()
    simulate(task_set(), jobs, overload_policy_named("op-edf"), LENGTH * MILLISECOND, record)
    ends: dict[str, list[float]] = {name: [] for name, *_ in TASKS}
    for what, time, task, _ in record.events:
        if what is Happening.COMPLETED:
            ends[TASKS[task][0]].append(time / MILLISECOND)
    same = all(ends[name][: len(of)] == of for name, of in found["ends"].items())
    print(f"SimSo: {theirs:,.0f} jobs/s; {ours / theirs:.1f} times as fast, with a record "
          f"{traced / theirs:.1f} times; same ends of all jobs: {same}")  # fmt: skip


def growth(repeats: int) -> None:
    lengths = (20_000, 200_000, 800_000)
    print(f"\n{'jobs/s at 142 %':<16}" + "".join(f"{n:>12,} ms" for n in lengths))
    for policy in OVERLOAD_POLICIES:
        cells = [speed(policy, releases(n, 2), n, repeats) for n in lengths]
        print(f"{policy:<16}" + "".join(f"{cell:>15,.0f}" for cell in cells))


def crossing() -> None:
    """The collision warning at a crowded crossing, in the vehicle engine."""
    study = Path(__file__).parents[1] / "examples" / "collision_warning"
    query = load_query(study / "query.yaml").query
    vehicle = load_vehicle(study / "vehicle_modern.yaml").vehicle
    start = process_time()
    found = crowded_crossing.run(query, vehicle, study / "recording")
    print("\n| V2V load | policy | output1 | output2 | output3 | traffic | hard rejected "
          "| soft rejected | beyond the rate |\n|" + "---|" * 9)  # fmt: skip
    for one in found:
        shown = " | ".join(
            f"{100 * one.misses[name] / max(1, count):.1f} % of {count:,}"
            for name, count in one.tuples.items()
        )
        print(f"| {one.load} % | {one.policy} | {shown} | {one.hard_rejected:,} "
              f"| {one.soft_rejected:,} | {one.turned_away:,} |")  # fmt: skip
    print(f"\n{process_time() - start:.1f} CPU s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crossing", action="store_true", help="a query in the vehicle engine")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    print(one_core())
    if given.crossing:
        crossing()
    else:
        against_simso(given.repeats)
        growth(given.repeats)


if __name__ == "__main__":
    main()
