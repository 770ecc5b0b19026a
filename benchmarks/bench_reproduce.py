"""What Spark costs a study: the same cells in one plain process and on one Spark slot, in turns.

    python benchmarks/bench_reproduce.py [--study NAME] [--cells 6] [--turns 2]

The session is started once and its start is told apart: a study of minutes pays it once. One slot,
so that both have one core; the goal is below 25 % for cells of a second or more.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from headway.spark.session.spark_session import local_session
from headway_studies.cell_store import CellStore
from headway_studies.independent_work import run_pieces
from headway_studies.registry import STUDIES, study_named
from headway_studies.run_studies import CellDone, run_here, run_on_spark
from headway_studies.study import CellWork, works_of

WARM_UP = "sedf-example"


def once(works: list[CellWork], spark: SparkSession | None) -> tuple[float, list[CellDone]]:
    with tempfile.TemporaryDirectory() as folder:
        store = CellStore(Path(folder))
        store.open()
        start = time.perf_counter()
        if spark is None:
            done = run_here(store, works, lambda _: None)
        else:
            done = run_on_spark(partial(run_pieces, spark), store, works, lambda _: None)
        return time.perf_counter() - start, done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", choices=STUDIES, default="crashes")
    parser.add_argument("--cells", type=int, default=6)
    parser.add_argument("--turns", type=int, default=2)
    arguments = parser.parse_args()
    works = works_of(study_named(arguments.study), quick=False)[: arguments.cells]
    start = time.perf_counter()
    spark = local_session(cores=1, app_name="bench_reproduce")
    # Another study's cells: a drive that a worker has kept would be free in the first turn.
    once(works_of(study_named(WARM_UP), quick=True), spark)
    print(f"session and first cell: {time.perf_counter() - start:.1f} s")
    plain, sparked = [], []
    for _ in range(arguments.turns):
        seconds, done = once(works, None)
        plain.append(seconds)
        cell = median(one.seconds for one in done)
        seconds, _ = once(works, spark)
        sparked.append(seconds)
        print(f"plain {plain[-1]:.2f} s, Spark {sparked[-1]:.2f} s, a cell {cell:.2f} s")
    spark.stop()
    overhead = min(sparked) / min(plain) - 1
    print(f"{arguments.study}, {len(works)} cells: Spark takes {overhead:+.1%} of the plain time")


if __name__ == "__main__":
    main()
