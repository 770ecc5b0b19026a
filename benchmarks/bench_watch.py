"""What watching costs a run: the same wall-clock engine with and without somebody who watches.

    python benchmarks/bench_watch.py

Time is a manual clock's, so a run takes only what the engine itself takes. Two things are measured
in processor time, so that other work on the machine counts for little: what the run's own thread
takes more (rounds alternate; of the least times), and what it takes to write down how the run
stands, which is done twice a second, and of which the run's thread waits for the most part. Goal:
together at most 2 %.
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
from headway.engine.live_state import EVERY_S, write_live
from headway.engine.wall_engine import WallEngine

ROUNDS, TUPLES, STEP = 7, 100_000, 1_000_000
WRITES = 20
HELLO = Path(__file__).parents[1] / "examples" / "hello"


def main() -> None:
    plan = hw.compile(HELLO / "query.yaml", HELLO / "vehicle.yaml").plan
    arrivals = [Arrival(n * STEP, "speed", (n * STEP // 1000, 31.0)) for n in range(TUPLES)]

    def seconds(live: LiveRun | None) -> float:
        engine = WallEngine(plan=plan, clock=ManualClock(), watch=live, keep_trace=False)
        began = time.thread_time()
        result = engine.run(arrivals)
        taken = time.thread_time() - began
        assert len(result.outputs["alarm"]) == TUPLES
        return taken

    alone, watched, written = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(ROUNDS):
            alone.append(seconds(None))
            with LiveRun(plan, Path(folder), every=3600.0) as live:
                watched.append(seconds(live))
                began = time.thread_time()
                for _ in range(WRITES):
                    write_live(Path(folder), live.state())
                written.append((time.thread_time() - began) / WRITES)
            if sys.stderr.isatty():
                print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    more = min(watched) / min(alone) - 1
    share = min(written) / EVERY_S
    print(
        f"alone {min(alone):.3f} s, watched {min(watched):.3f} s for {TUPLES:,} tuples: {more:.2%}"
    )
    print(f"written down in {min(written) * 1e3:.2f} ms every {EVERY_S} s: {share:.2%}")
    print(f"together {more + share:.2%} (goal: at most 2 %)")


if __name__ == "__main__":
    main()
