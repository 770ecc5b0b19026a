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

from tests.mutation.collected import Collected
from tests.mutation.forked import Changed, Running, start
from tests.mutation.mutants import Mutant
from tests.mutation.reach import KeptReach, Reach, WatchedTest, Watcher

FIRST = "copy0"
"""the copy that Headway is imported from once for all"""
Say = Callable[[str], None]
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
    session: Collected, scratch: Sequence[Path], files: Sequence[str], kept: KeptReach, say: Say
) -> None:
    """Runs the files of tests that are not known yet, as many at once as there are places."""
    missing = kept.missing(files)
    if missing:
        say(f"{len(missing)} of {len(files)} files of tests are to be watched; this is kept")
    tests: dict[str, list[str]] = {}
    for name in session.items:
        tests.setdefault(name.split("::", 1)[0], []).append(name)
    waiting = list(reversed(missing))
    running: dict[Path, tuple[str, Running]] = {}
    done = 0
    while waiting or running:
        for place in scratch:
            if place not in running and waiting:
                file = waiting.pop()
                watcher = Watcher([scratch[0].with_name(FIRST)], _result(place))
                _result(place).write_text("")
                running[place] = (
                    file,
                    session.start(
                        tests.get(file, []),
                        _log(place),
                        LONGEST_FILE,
                        plugins=[watcher],
                        to_the_end=True,
                    ),
                )
        time.sleep(0.02)
        for place, (file, run) in list(running.items()):
            code = run.ended()
            if code is None:
                continue
            del running[place]
            done += 1
            if code > 1:  # 1: some failed, here they fail anyway
                raise RuntimeError(f"{file}: pytest ended with {code}\n{_log(place).read_text()}")
            shutil.move(_result(place), kept.place(file))
            told = "" if code == 0 else ": only the tests that passed are taken"
            told += " (it took too long)" if code < 0 else ""
            say(f"watched {done}/{len(missing)} {file}{told}")


def _result(copy: Path) -> Path:
    return copy.with_name(f"{copy.name}-reached.json")


Stage = tuple[bool, list[WatchedTest]]
"""whether by a fresh pytest, and what it is given"""


@dataclass(slots=True)
class _Trial:
    mutant: Mutant
    stages: list[Stage]
    change: Changed
    run: Running
    tried: int


def try_all(
    session: Collected,
    copies: Sequence[Path],
    mutants: Sequence[Mutant],
    reach: Reach,
    limit: float,
    grace: int,
) -> Iterator[Tried]:
    """Each mutant's fate, in the order in which they end. ``limit``: processor seconds of tests
    that a mutant gets at most; ``grace``: what it may take besides, for imports among others."""
    waiting = list(reversed(mutants))
    trials: dict[Path, _Trial] = {}

    def begin(copy: Path, stages: list[Stage], change: Changed) -> Running:
        fresh, tests = stages.pop(0)
        if fresh:
            _write(copy, change.path, change.after)
            return _run(copy, tests, grace, change)
        seconds = grace + int(TIMES * sum(test.seconds for test in tests))
        names = [test.name for test in tests]
        return session.start(names, _log(copy), seconds, change=change)

    while waiting or trials:
        for copy in copies:
            if copy in trials or not waiting:
                continue
            mutant = waiting.pop()
            before = (copy / mutant.path).read_bytes()
            change = Changed(mutant.path, before, mutant.applied(before))
            tests = reach.tests_for(mutant)
            stages = stages_of(tests, limit, collected=session.can_take(change))
            if not stages:
                yield Tried(mutant, Verdict.UNREACHED)
                continue
            afresh = sum(len(given) for fresh, given in stages if fresh)
            most = max(len(stages[0][1]), afresh)
            trials[copy] = _Trial(mutant, stages, change, begin(copy, stages, change), most)
        time.sleep(0.02)
        for copy, trial in list(trials.items()):
            code = trial.run.ended()
            if code is None:
                continue
            if code == 0 and trial.stages:
                trial.run = begin(copy, trial.stages, trial.change)
                continue
            del trials[copy]
            _write(copy, trial.change.path, trial.change.before)
            yield Tried(trial.mutant, *_judged(copy, code, trial.run.late), trial.tried)


def stages_of(tests: Sequence[WatchedTest], limit: float, *, collected: bool) -> list[Stage]:
    """What is run one after the other, until one fails."""
    quick, slow = chosen(tests, limit)
    if collected:
        again, more = chosen(tests, limit / 4)
        stages = [(False, quick + slow), (True, again + more)]
    else:
        stages = [(True, quick), (True, slow)]
    return [stage for stage in stages if stage[1]]


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


def _write(copy: Path, name: str, text: bytes) -> None:
    """In the file, for processes that a test starts and for what is imported anew."""
    path = copy / name
    if path.read_bytes() != text:
        path.write_bytes(text)
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()


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
