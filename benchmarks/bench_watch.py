"""What watching costs a run: the same wall-clock engine with and without somebody who watches.

    python benchmarks/bench_watch.py

Time is a manual clock's, so a run takes only what the engine itself takes. Rounds alternate; the
ratio is that of the least processor times. Goal: at most 1.02.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import headway as hw
from headway.engine.clock import ManualClock
from headway.engine.jobs import Arrival
from headway.engine.live_run import LiveRun
from headway.engine.wall_engine import WallEngine

ROUNDS, TUPLES, STEP = 7, 100_000, 1_000_000
HELLO = Path(__file__).parents[1] / "examples" / "hello"


def main() -> None:
    plan = hw.compile(HELLO / "query.yaml", HELLO / "vehicle.yaml").plan
    arrivals = [Arrival(n * STEP, "speed", (n * STEP // 1000, 31.0)) for n in range(TUPLES)]

    def seconds(live: LiveRun | None) -> float:
        engine = WallEngine(plan=plan, clock=ManualClock(), watch=live, keep_trace=False)
        began = time.process_time()
        result = engine.run(arrivals)
        assert len(result.outputs["alarm"]) == TUPLES
        return time.process_time() - began

    alone, watched = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            alone.append(seconds(None))
            with LiveRun(plan, Path(folder)) as live:
                watched.append(seconds(live))
            if sys.stderr.isatty():
                print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    ratio = min(watched) / min(alone)
    print(f"alone {min(alone):.3f} s, watched {min(watched):.3f} s for {TUPLES:,} tuples")
    print(f"ratio {ratio:.3f} (goal: at most 1.02)")


if __name__ == "__main__":
    main()
