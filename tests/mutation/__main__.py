"""Plants small mistakes in modules that matter, and says which of them the tests do not see.

python -m tests.mutation --count 50 --seed 1 --subject bounds
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.mutation.collected import Collected
from tests.mutation.forked import preload
from tests.mutation.modules import SUBJECTS, TESTS, files_of_tests, modules
from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.reach import KeptReach
from tests.mutation.telling import as_json, difference, table
from tests.mutation.trying import Tried, Verdict, copy_of, try_all, watch

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str]) -> int:
    asked = _parser().parse_args(arguments)
    subjects = modules(ROOT, tuple(asked.subject))
    if asked.again is None:
        mutants = drawn(ROOT, subjects, asked.count, asked.seed, tuple(asked.function))
    else:
        mutants = survivors(ROOT, json.loads(asked.again.read_text(encoding="utf-8")))
        subjects = modules(ROOT)
    files = files_of_tests(ROOT, tuple(asked.tests))
    with tempfile.TemporaryDirectory(prefix="headway-mutation-") as scratch:
        copies = [copy_of(ROOT, Path(scratch).resolve() / f"copy{n}") for n in range(asked.jobs)]
        preload(copies[0])
        kept = KeptReach(ROOT / "build" / "mutation", ROOT)
        tried: list[Tried] = []

        def work(session: Collected) -> None:
            watch(session, copies, files, kept, _say)
            if asked.watch_only:
                return
            reach = kept.read(files)
            _say(f"{len(mutants)} mutants of {len(subjects)} modules, {len(reach.tests)} tests")
            for one in try_all(session, copies, mutants, reach, asked.limit, asked.grace):
                tried.append(one)
                by = f" by {one.by}" if one.by else ""
                _say(f"{len(tried)}/{len(mutants)} {one.mutant.name}: {one.verdict}{by}")
                if asked.results is not None:
                    asked.results.write_text(as_json(tried, subjects, asked.seed))

        session = Collected(copies[0], work)
        session.run(files, "not spark")
        if session.failure is not None:
            raise session.failure
        if asked.watch_only:
            return 0
        place = {mutant: number for number, mutant in enumerate(mutants)}
        tried.sort(key=lambda one: place[one.mutant])
        # By the copy: the sources may have been worked on meanwhile.
        alive = [
            f"{difference(copies[0], one.mutant)}\n    {one.verdict}, {one.tests} tests\n\n"
            for one in tried
            if not one.verdict.dead
        ]
    if asked.json:
        sys.stdout.write(as_json(tried, subjects, asked.seed) + "\n")
        return 0
    sys.stdout.write("".join(alive) + table(tried, subjects) + "\n")
    return 0


def drawn(
    root: Path,
    subjects: Mapping[str, str],
    count: int,
    seed: int,
    functions: tuple[str, ...] = (),
) -> list[Mutant]:
    """A sample: subjects take turns, in each its modules, and of a module any mutant is drawn, or
    any of these functions."""
    draw = random.Random(seed)
    pools: dict[str, dict[str, list[Mutant]]] = {}
    for path, subject in subjects.items():
        found = mutants_of(path, (root / path).read_bytes())
        draw.shuffle(found)
        if functions:
            found = [one for one in found if one.within.endswith(functions)]
        if found:
            pools.setdefault(subject, {})[path] = found
    turns = {subject: list(pool) for subject, pool in pools.items()}
    for paths in turns.values():
        draw.shuffle(paths)
    sample: list[Mutant] = []
    while len(sample) < count and pools:
        for subject in list(pools):
            path = turns[subject].pop(0)
            sample.append(pools[subject][path].pop())
            if pools[subject][path]:
                turns[subject].append(path)
            if not turns[subject]:
                del pools[subject]
            if len(sample) == count:
                break
    return sample


def survivors(root: Path, results: Mapping[str, Any]) -> list[Mutant]:
    """Those of an earlier run that no test killed, as they are in the sources now; what is no
    longer there is left out."""
    found = []
    for one in results["tried"]:
        if one["verdict"] not in (Verdict.SURVIVED, Verdict.UNREACHED):
            continue
        path = one["module"]
        if not (root / path).exists():
            continue
        wanted = one["function"], one["kind"], one["before"], one["after"]
        alike = [
            mutant
            for mutant in mutants_of(path, (root / path).read_bytes())
            if (mutant.within, mutant.kind, mutant.before, mutant.after) == wanted
        ]
        if alike:
            found.append(min(alike, key=lambda mutant: abs(mutant.line - one["line"])))
    return found


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=50, help="mutants to try (50)")
    parser.add_argument("--seed", type=int, default=1, help="which ones are drawn (1)")
    parser.add_argument(
        "--subject", action="append", default=[], choices=SUBJECTS, help="only these, repeatable"
    )
    parser.add_argument(
        "--function",
        action="append",
        default=[],
        help="only in functions whose name ends so, such as Ages.wait, repeatable",
    )
    parser.add_argument(
        "--tests", nargs="+", default=list(TESTS), help="folders or files of tests to try them on"
    )
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at once (2)")
    parser.add_argument(
        "--limit", type=float, default=30, help="processor seconds of tests per mutant (30)"
    )
    parser.add_argument(
        "--grace", type=int, default=15, help="processor seconds besides, for its imports (15)"
    )
    parser.add_argument("--json", action="store_true", help="the results as JSON")
    parser.add_argument("--results", type=Path, help="a JSON file, written after each mutant")
    parser.add_argument(
        "--again", type=Path, help="such a file of an earlier run: its survivors, not a sample"
    )
    parser.add_argument(
        "--watch-only", action="store_true", help="only find which test reaches what"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
