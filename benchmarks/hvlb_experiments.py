"""HVLB_CC experiments 1 to 5 at full size, and the exact α against the grid.

    python benchmarks/hvlb_experiments.py [1 2 3 4 5 alpha order] [--graphs 100] [--processes 2]
        [--out DIR]

Prints tables; with ``--out`` the rows go to DIR/<experiment>.jsonl too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from headway.experiments.hvlb import alpha as hvlb_alpha
from headway.experiments.hvlb import failures as hvlb_failures
from headway.experiments.hvlb import lengths as hvlb_lengths
from headway.experiments.hvlb import order as hvlb_order
from headway.experiments.hvlb import precision as hvlb_precision

NAMES = ("1", "2", "3", "4", "5", "alpha", "order")


class Runner:
    """Runs trials in several processes and keeps their rows."""

    def __init__(self, processes: int, out: Path | None) -> None:
        self.processes, self.out = processes, out

    def rows(self, name: str, run: Callable[[Any], Any], trials: Iterable[Any]) -> list[Any]:
        with Pool(self.processes) as pool:
            results = pool.map(run, list(trials), chunksize=4)
        rows = [row for found in results for row in (found if isinstance(found, list) else [found])]
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            lines = (json.dumps(asdict(row)) + "\n" for row in rows)
            (self.out / f"{name}.jsonl").write_text("".join(lines))
        return rows


def lengths(runner: Runner, graphs: int, experiment: str) -> None:
    three = experiment == "3"
    trials = hvlb_lengths.grid_3(graphs) if three else hvlb_lengths.grid_1(graphs)
    rows = runner.rows("3" if three else "1", hvlb_lengths.run_trial, trials)
    for metric in {"1": ("slr", "speedup"), "2": ("load_balance",), "3": ("slr",)}[experiment]:
        print(f"\n{metric}: mean [least, greatest] over {graphs} graphs")
        names = hvlb_lengths.COMPARED
        print(f"{'rates':>18} {'CCR':>5} {'tasks':>5}", *(f"{name:>20}" for name in names))
        cells: dict[Any, dict[str, hvlb_lengths.Summary]] = {}
        for summary in hvlb_lengths.analyse(rows, metric):
            key = summary.rates, summary.ccr, summary.tasks
            cells.setdefault(key, {})[summary.algorithm] = summary
        for (rates, ccr, tasks), found in sorted(cells.items()):
            texts = [
                f"{s.mean:.3f} [{s.lowest:.2f}, {s.highest:.2f}]"
                for s in map(found.get, names)
                if s
            ]
            print(f"{rates!s:>18} {ccr:>5} {tasks:>5}", *(f"{text:>20}" for text in texts))
        wins = sum(
            (f["hvlb-cc-b"].mean - f["hsv-cc"].mean) * (-1 if metric == "speedup" else 1) <= 0
            for f in cells.values()
        )
        print(f"(B) at least as good as HSV_CC in the mean: {wins} of {len(cells)} cells")


def failures(runner: Runner, graphs: int, _: str) -> None:
    rows = runner.rows("4", hvlb_failures.run_trial, hvlb_failures.grid(10 * graphs))
    print(
        f"\n{'family':>8} {'group':>10} {'graphs':>6} {'HSV_CC':>8} {'1/depth':>8} {'1/depth²':>8}"
    )
    for one in hvlb_failures.analyse(rows):
        shares = (one.hsv_cc, one.b_depth, one.b_depth2)
        print(f"{one.family:>8} {one.group:>10} {one.graphs:>6}", *(f"{s:>8.1%}" for s in shares))
    print("published:                    78.0%    29.0%     0.0%")


def precision(runner: Runner, _: int, __: str) -> None:
    rows = runner.rows("5", hvlb_precision.run_trial, hvlb_precision.grid())
    print(f"\n{'algorithm':>12} {'task':>5} {'hole':>5}  precision at arrival rates 1.0 to 2.0")
    keys = dict.fromkeys((row.algorithm, row.task, row.hole) for row in rows)
    for key in keys:
        found = [row for row in rows if (row.algorithm, row.task, row.hole) == key]
        values = " ".join(f"{row.precise:6.1%}" for row in found)
        print(f"{key[0]:>12} {key[1]:>5} {key[2]:>5g}  {values}")


def alpha(runner: Runner, graphs: int, _: str) -> None:
    single = Runner(1, runner.out)  # times are compared
    rows = single.rows("alpha", hvlb_alpha.run_trial, hvlb_alpha.grid(2 * graphs))
    print(f"\n{hvlb_alpha.analyse(rows)}")


def order(runner: Runner, graphs: int, _: str) -> None:
    rows = runner.rows("order", hvlb_order.run_trial, hvlb_order.grid(10 * graphs))
    print(f"\n{hvlb_order.analyse(rows)}")


EXPERIMENTS = {
    "1": lengths,
    "2": lengths,
    "3": lengths,
    "4": failures,
    "5": precision,
    "alpha": alpha,
    "order": order,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("experiments", nargs="*", default=NAMES)
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if unknown := set(arguments.experiments) - set(NAMES):
        sys.exit(f"no experiment {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    runner = Runner(arguments.processes, arguments.out)
    for name in arguments.experiments:
        print(f"\n== experiment {name}", flush=True)
        EXPERIMENTS[name](runner, arguments.graphs, name)


if __name__ == "__main__":
    main()
