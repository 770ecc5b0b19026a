"""Many seeds of the simulated nodes, and how fast they go:
python benchmarks/simulation_seeds.py [--seeds N] [--first S] [--minutes M] [--out FILE.json]

The campaigns are those of the tests (tests/simulation/cases.py), in turn: seed 0 of each, seed 1 of
each, and so on, until N runs are done or M minutes are over. Time is that of the processor, so a
busy machine does not make the simulation look slow.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.simulation.cases import campaigns

from headway.simulation.campaign import CampaignTotals

EVERY = 500
"""runs between two lines of progress"""


def main() -> int:
    parser = argparse.ArgumentParser(description="Many seeds of the simulated nodes.")
    parser.add_argument("--seeds", type=int, default=20_000, help="runs in all (%(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed (%(default)s)")
    parser.add_argument("--minutes", type=float, default=60.0, help="at most (%(default)s)")
    parser.add_argument("--out", type=Path, help="a file for the numbers, as JSON")
    given = parser.parse_args()
    made = list(campaigns().items())
    totals, failures = CampaignTotals(), []
    exits: Counter[str] = Counter()
    began, until = time.process_time(), time.monotonic() + 60 * given.minutes
    while totals.seeds < given.seeds and time.monotonic() < until:
        seed = given.first + totals.seeds // len(made)
        name, campaign = made[totals.seeds % len(made)]
        result = campaign.run(seed)
        totals.add(result)
        exits.update(str(one.code) for one in result.run.processes)
        for violation in result.judgement.violations:
            failures.append(f"{name} {seed}: {violation}")
            print(f"  {failures[-1]}", flush=True)
        if totals.seeds % EVERY == 0:
            minutes = (time.process_time() - began) / 60
            print(f"{totals.seeds:,} runs, {totals.seeds / minutes:,.0f} a minute", flush=True)
    minutes = (time.process_time() - began) / 60
    numbers = {
        "runs": totals.seeds,
        "failed": len(totals.failed),
        "failures": failures,
        "runs_per_processor_minute": round(totals.seeds / minutes),
        "simulated_hours": round(totals.simulated / 3.6e12, 2),
        "faults": dict(sorted(totals.struck.items())),
        "tuples": totals.tuples,
        "missing_with_a_reason": totals.missing.total(),
        "exit_codes": dict(sorted(exits.items())),
        "hash": totals.hash,
    }
    print(json.dumps(numbers, indent=1))
    if given.out is not None:
        given.out.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
