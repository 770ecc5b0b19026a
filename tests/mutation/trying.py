"""Every mutant in a copy of the project, against the tests that reach it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tests.mutation.forked import Changed, Running, start
from tests.mutation.mutants import Mutant
from tests.mutation.reach import KeptReach, Reach, WatchedTest, Watcher

FIRST = "copy0"
"""the copy that Headway is imported from once for all"""
QUICK = 2.0
"""seconds of tests that are tried first, before those that take longer"""
OPTIONS = (
    "-q",
    "-x",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:randomly",
    "--no-header",
    "-m",
    "not spark",
)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
TIMES = 4
"""times the processor time that its tests took when watched, until a mutant has taken too long"""
LONGEST_FILE = 90
"""seconds of processor time for all tests of one file; what takes longer is left out"""


class Verdict(StrEnum):
    KILLED = "killed"
    TIMED_OUT = "killed by its time"
    """it takes several times the processor time of the tests, or waits for ever"""
    SURVIVED = "survived"
    UNREACHED = "no test reaches it"

    @property
    def dead(self) -> bool:
        return self in (Verdict.KILLED, Verdict.TIMED_OUT)


@dataclass(frozen=True)
class Tried:
    mutant: Mutant
    verdict: Verdict
    by: str = ""
    """the test that failed"""
    tests: int = 0
    """tests it was given to"""


def copy_of(root: Path, place: Path) -> Path:
    """A copy of what git would commit, so that nothing is ever written beside the sources."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            target = place / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target)
    # Compiled once here; while mutants are tried nothing is, so that none is taken for another.
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "src", "studies/src"], cwd=place, check=True
    )
    return place


def watch(
    copies: Sequence[Path], files: Sequence[str], kept: KeptReach, say: Callable[[str], None]
) -> None:
    """Runs the files of tests that are not known yet, as many at once as there are copies."""
    missing = kept.missing(files)
    if missing:
        say(f"{len(missing)} of {len(files)} files of tests are to be watched; this is kept")
    waiting = list(reversed(missing))
    running: dict[Path, tuple[str, Running]] = {}
    done = 0
    while waiting or running:
        for copy in copies:
            if copy not in running and waiting:
                file = waiting.pop()
                running[copy] = file, _watch_one(copy, file)
        time.sleep(0.02)
        for copy, (file, run) in list(running.items()):
            code = run.ended()
            if code is None:
                continue
            del running[copy]
            done += 1
            if code > 1 and code != 5:  # 1: some failed, here they fail anyway; 5: none is left
                raise RuntimeError(f"{file}: pytest ended with {code}\n{_log(copy).read_text()}")
            shutil.move(_result(copy), kept.place(file))
            told = "" if code in (0, 5) else ": only the tests that passed are taken"
            told += " (it took too long)" if code < 0 else ""
            say(f"watched {done}/{len(missing)} {file}{told}")


def _result(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}-reached.json")


def _watch_one(copy: Path, file: str) -> Running:
    options = [option for option in OPTIONS if option != "-x"]
    result = _result(copy)
    result.write_text("")
    roots = [copy, copy.with_name(FIRST)]
    watcher = Watcher(roots, result)
    return start(copy, [*options, file], _log(copy), LONGEST_FILE, lambda: [watcher])


@dataclass(slots=True)
class _Trial:
    mutant: Mutant
    slow: list[WatchedTest]
    change: Changed
    run: Running
    tried: int


def try_all(
    copies: Sequence[Path], mutants: Sequence[Mutant], reach: Reach, limit: float, grace: int
) -> Iterator[Tried]:
    """Each mutant's fate, in the order in which they end. ``limit``: processor seconds of tests
    that a mutant gets at most; ``grace``: what it may take besides, for imports among others."""
    waiting = list(reversed(mutants))
    trials: dict[Path, _Trial] = {}
    while waiting or trials:
        for copy in copies:
            if copy in trials or not waiting:
                continue
            mutant = waiting.pop()
            quick, slow = chosen(reach.tests_for(mutant), limit)
            if not quick:
                yield Tried(mutant, Verdict.UNREACHED)
                continue
            change = _plant(copy, mutant)
            run = _run(copy, quick, grace, change)
            trials[copy] = _Trial(mutant, slow, change, run, len(quick))
        time.sleep(0.02)
        for copy, trial in list(trials.items()):
            code = trial.run.ended()
            if code is None:
                continue
            if code == 0 and trial.slow:
                trial.run = _run(copy, trial.slow, grace, trial.change)
                trial.tried += len(trial.slow)
                trial.slow = []
                continue
            del trials[copy]
            (copy / trial.mutant.path).write_bytes(trial.change.before)
            yield Tried(trial.mutant, *_judged(copy, code, trial.run.late), trial.tried)


def chosen(
    tests: Sequence[WatchedTest], limit: float
) -> tuple[list[WatchedTest], list[WatchedTest]]:
    """Those to try first, and those to try then; as many as go into the limit."""
    quick: list[WatchedTest] = []
    slow: list[WatchedTest] = []
    sooner = later = 0.0
    for test in tests:
        if sooner + test.seconds <= QUICK:
            quick.append(test)
            sooner += test.seconds
        elif sooner + later + test.seconds <= limit:
            slow.append(test)
            later += test.seconds
    return (quick, slow) if quick else (slow, [])


def _plant(copy: Path, mutant: Mutant) -> Changed:
    """In the file, for processes that a test starts and for what is imported anew."""
    path = copy / mutant.path
    before = path.read_bytes()
    after = mutant.applied(before)
    path.write_bytes(after)
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
    return Changed(mutant.path, before, after)


def _run(copy: Path, tests: Sequence[WatchedTest], grace: int, change: Changed) -> Running:
    seconds = grace + int(TIMES * sum(test.seconds for test in tests))
    names = [test.name for test in tests]
    return start(copy, [*OPTIONS, *names], _log(copy), seconds, change=change)


def _log(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}.log")


def _judged(copy: Path, code: int, late: bool) -> tuple[Verdict, str]:
    if code == 0:
        return Verdict.SURVIVED, ""
    failed = FAILED.search(_log(copy).read_text(errors="replace"))
    if code < 0 or late:
        return Verdict.TIMED_OUT, ""
    return Verdict.KILLED, failed.group(1) if failed else f"pytest ended with {code}"
