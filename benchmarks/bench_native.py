"""The native engine against its peers and its limit.

    python benchmarks/bench_native.py [--quick] [--no-fail] [programs] [decisions] [simulation]

Five stream programs (``stream_cases.py``), in tuples per CPU second, all on one core in one run:
the compiled program, the Python engine, bytewax (tuple by tuple and in batches of 1,000, fused by
hand), Pathway and PyFlink where they can be installed, and a bare C++ heap with the same operators
(``bare_loop.cpp``), which is the limit. Then the cost of a decision, and simulated jobs against
SimSo. Peers are installed by ``peers.py`` into ``build/peers``. Of several runs the median counts.
Ends with 1 if a goal is missed, unless ``--no-fail`` is given. ``--quick`` takes fewer tuples.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from statistics import median
from typing import NamedTuple

import native_speed
from peers import PeerMissing, ask, one_core, python_of
from stream_cases import CASES, KEYS, results_of

LEAST_OF_LIMIT = 0.5
LEAST_TO_SINGLE = 20
LEAST_TO_BEST = 5
MOST_NS = 150
TUPLE_BY_TUPLE = ("bytewax, batch 1", "PyFlink")
LEAST_TO_SIMSO = 500
QUEUED = (10, 100, 1_000, 10_000)
SIMULATED = 20_000
"""ms on both sides; the compiled program runs ten times as long"""


class Sizes(NamedTuple):
    """How many tuples and runs each side gets."""

    native: int
    fusion: int
    python: int
    single: int
    batched: int
    pathway: int
    flink: int
    decisions: int
    repeats: int


FULL = Sizes(1_000_000, 100_000, 40_000, 40_000, 200_000, 100_000, 400_000, 400_000, 5)
QUICK = Sizes(200_000, 20_000, 10_000, 10_000, 40_000, 20_000, 200_000, 100_000, 3)


class Line(NamedTuple):
    """A measured number, and whether it meets its goal (None: it has none)."""

    what: str
    value: str
    goal: str = ""
    met: bool | None = None


def at_least(what: str, value: float, least: float) -> Line:
    return Line(what, f"{value:.2f}x", f">= {least:g}x", value >= least)


# ---------------------------------------------------------------- stream programs


def peer_speed(
    peer: str, script: str, case: str, tuples: int, repeats: int, *more: object
) -> float:
    found = ask(python_of(peer), script, case, tuples, *more, repeats)
    assert abs(found["out"] - results_of(case, tuples)) <= KEYS, (peer, case, found)
    return float(tuples / median(found["seconds"]))


def peers_of(case: str, sizes: Sizes) -> Iterator[tuple[str, Callable[[], float]]]:
    """Each with the function that measures it."""
    few = sizes.repeats if case != "fusion" else 2
    yield (
        "bytewax, batch 1",
        lambda: peer_speed("bytewax", "peer_bytewax.py", case, sizes.single, few, 1),
    )
    yield (
        "bytewax, batch 1,000",
        lambda: peer_speed("bytewax", "peer_bytewax.py", case, sizes.batched, few, 1_000),
    )
    yield "Pathway", lambda: peer_speed("pathway", "peer_pathway.py", case, sizes.pathway, 2)
    yield "PyFlink", lambda: peer_speed("flink", "peer_flink.py", case, sizes.flink, 1)


def programs(sizes: Sizes) -> Iterator[Line]:
    """Five stream programs, tuples per CPU second."""
    bare = native_speed.bare_loop()
    absent: set[str] = set()
    for case in CASES:
        tuples = sizes.fusion if case == "fusion" else sizes.native
        if reason := native_speed.can_be_compiled(case):
            yield Line(f"{case}: native", f"not compiled: {reason:.60}", "", False)
            continue
        native = native_speed.native_speeds(case, tuples, sizes.repeats)
        for what, speed in native.items():
            yield Line(f"{case}: {what}", f"{speed:,.0f}/s")
        own = native["native"]
        limit = bare.speed(case, tuples, sizes.repeats)
        yield Line(f"{case}: bare C++ loop", f"{limit:,.0f}/s")
        python = native_speed.python_speed(case, min(tuples, sizes.python), 3)
        yield Line(f"{case}: Python engine", f"{python:,.0f}/s")
        found: dict[str, float] = {}
        for name, measure in peers_of(case, sizes):
            if name in absent:
                continue
            try:
                found[name] = measure()
                yield Line(f"{case}: {name}", f"{found[name]:,.0f}/s")
            except PeerMissing as error:
                if "cannot be installed" in str(error):
                    absent.add(name)
                yield Line(f"{case}: {name}", f"not measured: {error!s:.70}")
        if case == "chain":
            yield at_least(f"{case}: native / bare loop", own / limit, LEAST_OF_LIMIT)
        else:
            yield Line(f"{case}: native / bare loop", f"{own / limit:.2f}x")
        yield Line(f"{case}: native / Python engine", f"{own / python:.1f}x")
        single = [speed for name, speed in found.items() if name in TUPLE_BY_TUPLE]
        if single:
            what = f"{case}: native / best tuple by tuple"
            yield at_least(what, own / max(single), LEAST_TO_SINGLE)
        if found:
            best = max(found, key=found.__getitem__)
            what = f"{case}: native / best at any batch ({best})"
            yield at_least(what, own / found[best], LEAST_TO_BEST)


# ---------------------------------------------------------------- the scheduler


def decisions(sizes: Sizes) -> Iterator[Line]:
    """Queueing a train and choosing the next, by how many are queued."""
    for queued in QUEUED:
        whole, cost = native_speed.decision_ns(queued, sizes.decisions, sizes.repeats)
        yield Line(f"arrive, queue, choose, run, end; {queued:,} queued", f"{whole:.0f} ns")
        what = f"the same without what an idle node does; {queued:,} queued"
        yield Line(what, f"{cost:.0f} ns", f"<= {MOST_NS} ns", cost <= MOST_NS)


def simulation(sizes: Sizes) -> Iterator[Line]:
    """Five periodic tasks under EDF, jobs per CPU second."""
    tasks = native_speed.TASKS
    arguments = [f"{t.name}:{t.period}:{t.wcet}:{t.phase}" for t in tasks]
    simso = ask(python_of("simso"), "peer_simso.py", SIMULATED, 3, *arguments)
    jobs = sum(map(len, simso["ends"].values()))
    theirs = jobs / float(simso["seconds"])
    _, ends = native_speed.simulated_jobs(SIMULATED, 1)
    for task in tasks:
        wanted = simso["ends"][task.name]
        assert ends[task.name][: len(wanted)] == wanted, f"task {task.name} ends otherwise"
    own, _ = native_speed.simulated_jobs(10 * SIMULATED, sizes.repeats)
    yield Line("SimSo EDF_mono", f"{theirs:,.0f} jobs/s")
    yield Line("native, operators of 1 ms, trace kept", f"{own:,.0f} jobs/s")
    yield at_least("native / SimSo", own / theirs, LEAST_TO_SIMSO)


SECTIONS: dict[str, Callable[[Sizes], Iterator[Line]]] = {
    "programs": programs,
    "decisions": decisions,
    "simulation": simulation,
}


def main() -> None:
    given = sys.argv[1:]
    options = {one for one in given if one.startswith("--")}
    chosen = [one for one in given if one not in options] or list(SECTIONS)
    wrong = [one for one in chosen if one not in SECTIONS]
    wrong += sorted(options - {"--quick", "--no-fail"})
    if wrong:
        sys.exit(f"unknown: {', '.join(wrong)}; there are {', '.join(SECTIONS)}")
    sizes = QUICK if "--quick" in options else FULL
    bound = one_core()
    load = os.getloadavg()[0]
    compiler = native_speed.find_toolchain().name
    print(f"{os.cpu_count()} cores, {bound}, load {load:.1f}, {compiler}")
    missed = []
    for name in chosen:
        print(f"\n{name}: {(SECTIONS[name].__doc__ or '').strip()}")
        try:
            for line in SECTIONS[name](sizes):
                verdict = {None: "", True: "met", False: "MISSED"}[line.met]
                print(f"  {line.what:<58} {line.value:>20}  {line.goal:<10} {verdict}".rstrip())
                sys.stdout.flush()
                if line.met is False:
                    missed.append(line.what)
        except PeerMissing as error:
            print(f"  not measured: {error}")
            missed.append(name)
    if missed:
        print(f"\nmissed: {'; '.join(missed)}")
        if "--no-fail" not in options:
            sys.exit(1)


if __name__ == "__main__":
    main()
