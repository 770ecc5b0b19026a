"""How near adversarial runs come to the compiler's bounds, on random plans.

    python benchmarks/bench_bounds.py [--plans 200] [--tries 120] [--seed 0] [--json FILE]

Each plan of ``bounds_suite.py`` is attacked (``headway attack``); an output counts with its latest
tuple over its bound. Printed: the median and the greatest of these, by what lies before the output
(``plain``: nothing else in the whole plan), and the share of outputs with a bound. A share above 1
would be a defect. The truth lies between: a low share says that the bound is loose or that the
search is weak.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from statistics import median

from bounds_suite import suite_plan

from headway.engine.adversary.search import attack

ROWS = ("plain", "gather", "fusion", "gathering", "join", "aggregate", "nodes", "cores", "all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--tries", type=int, default=120)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, object]] = []
    shares: dict[str, list[float]] = defaultdict(list)
    bounded: dict[str, list[bool]] = defaultdict(list)
    runs = 0
    for seed in range(given.seed, given.seed + given.plans):
        one = suite_plan(seed)
        result = attack(one.plan, tries=given.tries, seed=seed)
        runs += result.tries - result.discarded
        for output, promise in result.promises.items():
            tags = {*one.tags[output], "all", *(["plain"] if one.plain else [])}
            if tags & {"gather", "fusion"}:
                tags.add("gathering")
            share = result.share(output)
            for tag in tags:
                bounded[tag].append(promise.bound is not None)
                if share is not None:
                    shares[tag].append(share)
            latest = result.found.get(output)
            rows.append(
                {
                    "seed": seed,
                    "output": output,
                    "tags": sorted(one.tags[output]),
                    "bound": promise.bound,
                    "latest": None if latest is None else latest.latency,
                    "share": share,
                    "reason": promise.reason,
                }
            )
    print(f"{given.plans} plans, {len(rows)} outputs, {runs:,} runs that counted")
    print(f"{'':12} {'outputs':>8} {'bounded':>8} {'median':>7} {'tenth':>7} {'greatest':>9}")
    for tag in ROWS:
        if bounded[tag]:
            ordered = sorted(shares[tag]) or [0.0]
            print(
                f"{tag:12} {len(bounded[tag]):8} "
                f"{sum(bounded[tag]) / len(bounded[tag]):8.1%} {median(ordered):7.3f} "
                f"{ordered[len(ordered) // 10]:7.3f} {ordered[-1]:9.4f}"
            )
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
