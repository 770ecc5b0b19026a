"""The programs of ``stream_cases.py`` on Flink's streaming SQL, by PyFlink: ``python peer_flink.py
CASE TUPLES REPEATS``.

As favourable to it as can be: the tuples are made inside its Java machine, all expressions are SQL
that it compiles, results are counted there in mini-batches. After a first run, one of a quarter of
the tuples is taken off the whole one, so that the start of a job does not count (but never more
than half of it). Flink's event times are whole milliseconds, so all times are a thousand times as
long. Prints the CPU seconds of the Java machine for all tuples, and how many results came out.
``fusion`` is not there: it would be Python again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment
from stream_cases import BRANCHES, EVERY, KEYS, WINDOW, WITHIN

COUNTED = "SELECT COUNT(*), SUM(v) FROM ({})"
"""the sum, so that no column is left out"""


def source(name: str, tuples: int, every: int) -> list[str]:
    """A table of rows (t, v, k), made one by one inside Flink."""
    return [
        f"CREATE TABLE {name}_numbers (i BIGINT, t AS TO_TIMESTAMP_LTZ(i * {every}, 3),"
        f" v AS CAST(i AS DOUBLE), k AS CAST(MOD(i, {KEYS}) AS INT), WATERMARK FOR t AS t)"
        f" WITH ('connector' = 'datagen', 'number-of-rows' = '{tuples}',"
        f" 'fields.i.kind' = 'sequence', 'fields.i.start' = '0', 'fields.i.end' = '{tuples - 1}')",
    ]


def query_of(case: str) -> str:
    if case == "chain":
        once = "SELECT t, v + 1 AS v, k FROM s_numbers"
        twice = f"SELECT t, v + 1 AS v, k FROM ({once}) WHERE v > -1"
        return f"SELECT t, v + 1 AS v, k FROM ({twice}) WHERE v > -1"
    if case == "fan_out":
        parts = (f"SELECT t, v + {b} AS v, k FROM s_numbers" for b in range(BRANCHES))
        return " UNION ALL ".join(parts)
    if case == "join":
        near = f"INTERVAL '0.{WITHIN:03}' SECOND(1, 3)"
        return (
            "SELECT a.t, a.v + b.v AS v, a.k FROM s_numbers a JOIN t_numbers b ON a.k = b.k"
            f" AND a.t BETWEEN b.t - {near} AND b.t + {near}"
        )
    return (
        "SELECT window_start, k, SUM(v) AS v, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE s_numbers,"
        f" DESCRIPTOR(t), INTERVAL '{WINDOW // 1000}' SECOND)) GROUP BY window_start, window_end, k"
    )


def java_seconds() -> float:
    """CPU time of the Java machine so far."""
    pid = get_gateway().jvm.java.lang.ProcessHandle.current().pid()
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(case: str, tuples: int) -> tuple[float, int]:
    settings = EnvironmentSettings.in_streaming_mode()
    table: Any = TableEnvironment.create(settings)
    for name, value in {
        "parallelism.default": "1",
        "table.exec.mini-batch.enabled": "true",
        "table.exec.mini-batch.allow-latency": "1 s",
        "table.exec.mini-batch.size": "10000",
    }.items():
        table.get_config().set(name, value)
    each = tuples // 2 if case == "join" else tuples
    for name in ("s", "t"):
        for statement in source(name, each, 10 if case == "chain" else EVERY):
            table.execute_sql(statement)
    start = java_seconds()
    last = 0
    with table.execute_sql(COUNTED.format(query_of(case))).collect() as found:
        for row in found:
            last = int(row[0])
    return java_seconds() - start, last


def main() -> None:
    case, tuples, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if case == "fusion":
        sys.exit("Flink's SQL has no fusion")
    seconds, out = [], 0
    run(case, tuples // 4)
    for _ in range(repeats):
        short, _ = run(case, tuples // 4)
        whole, out = run(case, tuples)
        seconds.append(max((whole - short) / 0.75, whole / 2))
    print(json.dumps({"seconds": seconds, "out": out}))


if __name__ == "__main__":
    main()
