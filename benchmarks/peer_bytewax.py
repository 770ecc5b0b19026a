"""The chain of ``engine_chain.py`` on bytewax: ``python peer_bytewax.py TUPLES BATCH REPEATS``.

Prints the CPU seconds of the fastest of some runs, and how many tuples came out.
"""

from __future__ import annotations

import json
import sys
from time import process_time

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

Row = tuple[int, float, int]


def add_one(row: Row) -> Row:
    return (row[0], row[1] + 1, row[2])


def above(row: Row) -> bool:
    return row[1] > -1


def run(rows: list[Row], batch: int) -> tuple[float, int]:
    out: list[Row] = []
    flow = Dataflow("chain")
    stream = op.input("in", flow, TestingSource(rows, batch_size=batch))
    stream = op.map("o0", stream, add_one)
    stream = op.filter("o1", stream, above)
    stream = op.map("o2", stream, add_one)
    stream = op.filter("o3", stream, above)
    stream = op.map("o4", stream, add_one)
    op.output("out", stream, TestingSink(out))
    start = process_time()
    run_main(flow)
    return process_time() - start, len(out)


def main() -> None:
    tuples, batch, repeats = map(int, sys.argv[1:])
    rows = [(i * 10, float(i), i % 7) for i in range(tuples)]
    seconds, count = min(run(rows, batch) for _ in range(repeats))
    print(json.dumps({"seconds": seconds, "out": count}))


if __name__ == "__main__":
    main()
