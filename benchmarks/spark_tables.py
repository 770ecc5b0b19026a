"""Puts the numbers of ``run_spark_benchmarks.sh`` into the tables of ``docs/spark-benchmarks.md``.

Between ``<!-- numbers: NAME -->`` and ``<!-- end -->`` stands what the last run gave.

    python benchmarks/spark_tables.py FOLDER [docs/spark-benchmarks.md]
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[1] / "docs" / "spark-benchmarks.md"
Data = list[dict[str, Any]]


def table(headers: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    headers = list(headers)
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _thousand(rate: float) -> str:
    return f"{rate / 1e3:,.1f} k" if rate < 1e5 else f"{rate / 1e3:,.0f} k"


def speed(stream: Data, _: Data) -> str:
    """Rows a second, steady; every program of a case in one cell."""
    rows = []
    for one in stream:
        if one["case"] == "small":
            continue
        programs = one["programs"]
        others = "; ".join(
            f"{name} {_thousand(p['steady'])}" for name, p in programs.items() if name != "Headway"
        )
        ratio = f"{one['ratio_steady']:.2f}×" if "ratio_steady" in one else ""
        if "by_todays_fusion" in one:
            ratio += f", {one['by_todays_fusion']:.1f}× of 21.7 k"
        ours = programs["Headway"]
        rows.append(
            [one["case"], f"{one['vehicles']:,}", _thousand(ours["steady"]), others, ratio,
             f"{one.get('ratio_whole', 0):.2f}×", f"{ours['cpu_us']:.2f} µs"]
        )  # fmt: skip
    headers = ("query", "vehicles", "Headway, rows/s", "by hand, rows/s", "ratio",
               "with start and end", "processor time of a row")  # fmt: skip
    return table(headers, rows)


def small(stream: Data, _: Data) -> str:
    rows = [
        [name, f"{p['batch_ms']:,.0f} ms"]
        for one in stream
        if one["case"] == "small"
        for name, p in one["programs"].items()
    ]
    return table(("program", "a micro-batch of 2,000 rows"), rows)


def rows_out(_: Data, growth: Data) -> str:
    rows = [
        [f"{one['rows_out']:,}", f"{one['batch_ms']:,.0f} ms", f"{one['cpu_ms']:,.0f} ms",
         f"{one['python_mb']:,.0f} MB", f"{one['heap_peak_mb']:,.0f} MB",
         f"{one['heap_kept_mb']:,.0f} MB"]
        for one in growth if one["kind"] == "rows"
    ]  # fmt: skip
    headers = ("rows out", "micro-batch", "driver's processor time", "its Python at most",
               "its Java's heap at most", "kept")  # fmt: skip
    return table(headers, rows)


def partitions(_: Data, growth: Data) -> str:
    rows = [
        [str(one["partitions"]), f"{one['batch_ms']:,.0f} ms", f"{one['cpu_ms']:,.0f} ms"]
        for one in growth
        if one["kind"] == "tasks"
    ]
    return table(("partitions", "micro-batch", "driver's processor time"), rows)


def state(_: Data, growth: Data) -> str:
    runs = [one for one in growth if one["kind"] == "state"]
    names = list(runs[0]["programs"]) if runs else []
    rows = [
        [f"{one['vehicles']:,}", *(
            f"{p['batch_ms']:,.0f} ms, {p['bytes'] / 2**20:,.1f} MB"
            for p in one["programs"].values()
        )]
        for one in runs
    ]  # fmt: skip
    return table(("vehicles with state", *names), rows)


def slots(_: Data, growth: Data) -> str:
    runs = [one for one in growth if one["kind"] == "slots"]
    names = list(runs[0]["programs"]) if runs else []
    rows = [
        [f"`{one['master']}`", *(_thousand(p["steady"]) for p in one["programs"].values()),
         f"{one['ratio_steady']:.2f}×"]
        for one in runs
    ]  # fmt: skip
    return table(("master", *names, "ratio"), rows)


TABLES: dict[str, Callable[[Data, Data], str]] = {
    "speed": speed,
    "small": small,
    "rows": rows_out,
    "tasks": partitions,
    "state": state,
    "slots": slots,
}
LOGS = {"memory": "memory.log", "kills": "kills.log", "projection": "projection.log"}
"""shown as they are"""


def filled(text: str, folder: Path) -> str:
    """The document with the numbers of a run; what was not run stays as it is."""
    data = [
        json.loads(path.read_text()) if (path := folder / f"{name}.json").exists() else []
        for name in ("stream", "growth")
    ]

    def put(found: re.Match[str]) -> str:
        name = found[1]
        if name in LOGS:
            log = folder / LOGS[name]
            lines = log.read_text().splitlines() if log.exists() else []
            new = "\n".join(f"    {line}" for line in lines)
        else:
            new = TABLES[name](*data)
        if (new.count("\n") < 2 and name not in LOGS) or not new:
            return found[0]
        return f"<!-- numbers: {name} -->\n{new}\n<!-- end -->"

    return re.sub(r"<!-- numbers: (\w+) -->\n.*?<!-- end -->", put, text, flags=re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("document", type=Path, nargs="?", default=DOCUMENT)
    options = parser.parse_args()
    text = options.document.read_text(encoding="utf-8")
    options.document.write_text(filled(text, options.folder), encoding="utf-8")


if __name__ == "__main__":
    main()
