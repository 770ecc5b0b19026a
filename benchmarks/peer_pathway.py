"""The programs of ``stream_cases.py`` on Pathway: ``python peer_pathway.py CASE TUPLES REPEATS``.

As favourable to it as can be: all input is there at the start as one batch, every expression is one
of Pathway's own, neighbouring operators are one ``select``, and results are counted inside the
engine. Prints the CPU seconds of every run, and how many results came out. ``fusion`` is not there:
Pathway has no operator with a state of one's own that its engine runs.
"""

from __future__ import annotations

import json
import os
import sys
from time import process_time
from typing import Any

os.environ.setdefault("PATHWAY_LICENSE_KEY", "")

import pandas as pd
import pathway as pw
from stream_cases import BRANCHES, WINDOW, WITHIN, rows_of


def table_of(rows: list[tuple[Any, ...]]) -> Any:
    return pw.debug.table_from_pandas(pd.DataFrame(rows, columns=["t", "v", "k"]))


def chain(table: Any) -> list[Any]:
    once = table.select(pw.this.t, pw.this.k, v=pw.this.v + 1).filter(pw.this.v > -1)
    twice = once.select(pw.this.t, pw.this.k, v=pw.this.v + 1).filter(pw.this.v > -1)
    return [twice.select(pw.this.t, pw.this.k, v=pw.this.v + 1)]


def fan_out(table: Any) -> list[Any]:
    return [table.select(pw.this.t, pw.this.k, v=pw.this.v + b) for b in range(BRANCHES)]


def join(left: Any, right: Any) -> list[Any]:
    near = pw.temporal.interval(-WITHIN, WITHIN)
    pairs = left.interval_join(right, left.t, right.t, near, left.k == right.k)
    return [pairs.select(t=left.t, v=left.v + right.v, k=left.k)]


def aggregate(table: Any) -> list[Any]:
    windows = table.select(pw.this.k, pw.this.v, window=pw.this.t // WINDOW)
    return [
        windows.groupby(pw.this.window, pw.this.k).reduce(
            pw.this.window, pw.this.k, v=pw.reducers.sum(pw.this.v), n=pw.reducers.count()
        )
    ]


def run(case: str, tuples: int) -> tuple[float, int]:
    pw.internals.parse_graph.G.clear()
    given = rows_of(case, tuples)
    sources = dict.fromkeys(name for name, _ in given)
    tables = [table_of([row for name, row in given if name == source]) for source in sources]
    build = {"chain": chain, "fan_out": fan_out, "join": join, "aggregate": aggregate}[case]
    found: dict[int, int] = {}

    def counted(place: int) -> Any:
        def take(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
            if is_addition:
                found[place] = row["n"]

        return take

    for place, result in enumerate(build(*tables)):
        # The sum, so that no column is left out.
        summed = result.reduce(n=pw.reducers.count(), v=pw.reducers.sum(pw.this.v))
        pw.io.subscribe(summed, on_change=counted(place))
    start = process_time()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return process_time() - start, sum(found.values())


def main() -> None:
    case, tuples, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if case == "fusion":
        sys.exit("Pathway's engine runs no fusion")
    runs = [run(case, tuples) for _ in range(repeats)]
    print(json.dumps({"seconds": [seconds for seconds, _ in runs], "out": runs[0][1]}))


if __name__ == "__main__":
    main()
