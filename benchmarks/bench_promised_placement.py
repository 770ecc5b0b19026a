"""How many broken promises another placement keeps, and how many of these the compiler finds.

    python benchmarks/bench_promised_placement.py [--cases 100] [--seed 1] [--most-choices 3000]

Random small queries and vehicles whose placement of least traffic breaks a promise. Every placement
is judged (brute force); the cases counted are those where at least one keeps all promises.
"""

from __future__ import annotations

import argparse
import time
from math import prod

from advice_cases import brute_force, infeasible_by_default

from headway.compiler.placement.placement_problem import lay_out, measure, problem_of
from headway.compiler.placement.promised_placement import PromiseSearch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most-choices", type=int, default=3_000)
    given = parser.parse_args()
    solvable = found = lightest = seen = tried = searched = 0
    search_time = 0.0
    for number, compilation in infeasible_by_default(given.seed):
        problem = problem_of(compilation)
        choices = prod(len(process.nodes) for process in problem.processes.values())
        if choices > given.most_choices:
            continue
        seen += 1
        count, least = brute_force(compilation)
        if not count or least is None:
            continue
        solvable += 1
        started = time.process_time()
        search = PromiseSearch(compilation, problem)
        allowed = search.tries
        better = search.run()
        search_time += time.process_time() - started
        tried += allowed - search.tries
        searched += choices > allowed
        if better is None:
            print(f"case {number}: not found, {count} of {choices} placements keep all promises")
        else:
            found += 1
            layout = lay_out(problem, better.placement)
            assert layout is not None
            lightest += measure(problem, layout).usage <= least * (1 + 1e-9)
        if solvable % 10 == 0:
            print(f"  {solvable} cases of {seen}", flush=True)
        if solvable >= given.cases:
            break
    print(
        f"{solvable} cases with a placement that keeps all promises (of {seen} whose default "
        f"breaks one): found by the compiler {found}, of these with the least traffic {lightest}; "
        f"{searched} had more placements than tries; {tried / max(1, solvable):.0f} placements "
        f"judged and {search_time / max(1, solvable):.2f} s of processor time a case"
    )


if __name__ == "__main__":
    main()
