"""The vehicle engine: throughput, cost of a decision, simulated jobs and memory.

    python benchmarks/bench_engine.py [--no-fail] [chain] [decisions] [edf] [memory]

Ratios are to a peer in the same run on the same core (bytewax and SimSo, installed by ``peers.py``
into ``build/peers``), in CPU time, the fastest of some runs each, so that other load on the machine
matters little. Ends with 1 if a target is missed, unless ``--no-fail`` is given. Targets for speed
are those of compiled code (``bench_native.py``); here the lines are what Python takes.
See ``docs/engine-benchmarks.md``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from math import log
from typing import NamedTuple

import engine_chain
import engine_decisions
import engine_edf
from engine_memory import CASES
from peers import PeerMissing, ask, one_core

LONG_RUN = 10_000_000
SHORTER_RUN = 1_000_000
MOST_GROWTH = 2 * 1024
"""KiB by which resident memory may grow after the first tenth of a run"""


class Line(NamedTuple):
    """A measured number, and whether it meets its target (None: it has none)."""

    what: str
    value: str
    target: str = ""
    met: bool | None = None


def chain() -> Iterator[Line]:
    """Five filters and maps."""
    found = engine_chain.measure()
    for what, speed in found.items():
        yield Line(what, f"{speed:,.0f} tuples/s")
    single = found["engine, each tuple scheduled"] / found["bytewax, batch 1"]
    traced = found["engine, each tuple scheduled, trace kept"] / found["bytewax, batch 1"]
    yield Line("each tuple scheduled / bytewax batch 1", f"{single:.2f}x")
    yield Line("the same with the trace kept", f"{traced:.2f}x")


def decisions() -> Iterator[Line]:
    """Queueing a train and choosing the next."""
    found = {queued: engine_decisions.measure(queued) for queued in engine_decisions.QUEUED}
    for queued, one in found.items():
        parts = f"{one.queue / 1e3:.2f} + {one.choose / 1e3:.2f} = {one.whole / 1e3:.2f} µs"
        yield Line(f"queue + choose, {queued:,} queued", parts)
    first, last = min(found), max(found)
    growth = found[last].whole / found[first].whole
    allowed = log(last) / log(first)
    what = f"growth from {first:,} to {last:,} queued"
    yield Line(what, f"{growth:.2f}x", f"<= {allowed:.1f}x (log)", growth <= allowed)


def edf() -> Iterator[Line]:
    """Five periodic tasks over 20,000 ms."""
    found = engine_edf.measure()
    for what, speed in found.items():
        yield Line(what, f"{speed:,.0f} jobs/s")
    peer, *own = found.values()
    yield Line("operators of 1 ms / SimSo", f"{own[0] / peer:.1f}x")
    yield Line("one operator a task / SimSo", f"{own[1] / peer:.1f}x")


def memory() -> Iterator[Line]:
    """Resident memory of long runs."""
    for case in CASES:
        count = LONG_RUN if case == "chain" else SHORTER_RUN
        found = ask(sys.executable, "engine_memory.py", case, count)
        samples = found["memory"]
        growth = max(samples) - samples[0]
        value = f"{samples[0] / 1024:.1f} MiB, then +{growth / 1024:.2f} MiB"
        if found["most_kept"]:
            value += f", most rows kept {found['most_kept']:,}"
        target = f"<= +{MOST_GROWTH / 1024:g} MiB"
        yield Line(f"{case}, {count:,} tuples", value, target, growth <= MOST_GROWTH)


SECTIONS: dict[str, Callable[[], Iterator[Line]]] = {
    "chain": chain,
    "decisions": decisions,
    "edf": edf,
    "memory": memory,
}


def main() -> None:
    arguments = sys.argv[1:]
    fail = "--no-fail" not in arguments
    chosen = [argument for argument in arguments if argument != "--no-fail"] or list(SECTIONS)
    if unknown := [name for name in chosen if name not in SECTIONS]:
        sys.exit(f"unknown: {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    bound = one_core()
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} cores, {bound}, load {load:.1f}, Python {sys.version.split()[0]}")
    missed = []
    for name in chosen:
        print(f"\n{name}: {(SECTIONS[name].__doc__ or '').strip()}")
        try:
            for line in SECTIONS[name]():
                verdict = {None: "", True: "met", False: "MISSED"}[line.met]
                print(f"  {line.what:<45} {line.value:>32}  {line.target:<14} {verdict}".rstrip())
                if line.met is False:
                    missed.append(line.what)
        except PeerMissing as error:
            print(f"  not measured: {error}")
            missed.append(name)
    if missed:
        print(f"\nmissed: {'; '.join(missed)}")
        if fail:
            sys.exit(1)


if __name__ == "__main__":
    main()
