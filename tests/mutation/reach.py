"""Which tests enter which functions: found once by watching every test, and kept.

Watching costs a call for each function that is entered, nothing for each line. A file of tests is
watched again when its text has changed; functions that are new since then are found by the tests of
their module. What a shared fixture or a cached helper does is seen in the first test that asks for
it, which is why :func:`tests_for` also takes the other tests of the files it finds.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import pytest
from tests.mutation.mutants import Mutant


@dataclass(frozen=True)
class WatchedTest:
    name: str
    """as pytest calls it"""
    seconds: float
    """of processor time"""
    functions: frozenset[str]
    """``path::qualified name``"""

    @property
    def file(self) -> str:
        return self.name.split("::", 1)[0]


class Watcher:
    """A pytest plugin that writes what the tests of a run have entered."""

    def __init__(self, roots: Sequence[Path], result: Path) -> None:
        self._roots = tuple(f"{root}{os.sep}" for root in roots)
        self._result = result
        self._passed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        codes: dict[int, CodeType] = {}

        def entered(frame: FrameType, event: str, argument: object) -> None:
            code = frame.f_code
            codes[id(code)] = code

        self._passed = True
        began = time.process_time()
        threading.settrace(entered)
        sys.settrace(entered)
        try:
            result = yield
        finally:
            sys.settrace(None)
            threading.settrace(None)
        if self._passed:
            own = {
                f"{code.co_filename.removeprefix(root)}::{code.co_qualname}"
                for root in self._roots
                for code in codes.values()
                if code.co_filename.startswith(root)
            }
            seconds = round(time.process_time() - began, 3)
            told = {"name": item.nodeid, "seconds": seconds, "functions": sorted(own)}
            with self._result.open("a") as file:
                file.write(json.dumps(told) + "\n")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._passed &= report.passed


@dataclass(frozen=True)
class Reach:
    """All watched tests."""

    tests: tuple[WatchedTest, ...]

    def tests_for(self, mutant: Mutant) -> list[WatchedTest]:
        """First those that enter the mutated function, then the others of their files.

        Files take turns, each with its quickest test first: what kills a mutant is more often
        another file than one more test of the same. For a function that nothing was seen to enter,
        those that enter anything of the module. For what runs on import all tests of their files,
        first those that enter little: a test of a flag need not enter anything.
        """
        function = f"{mutant.path}::{mutant.within}"
        first = [
            test
            for test in self.tests
            if function in test.functions
            or any(name.startswith(f"{function}.<locals>") for name in test.functions)
        ]
        if not mutant.within or not first:
            module = f"{mutant.path}::"
            first = [t for t in self.tests if any(name.startswith(module) for name in t.functions)]
        files = {test.file for test in first}
        seen = {test.name for test in first} if mutant.within else set()
        rest = [test for test in self.tests if test.file in files and test.name not in seen]
        if mutant.within:
            return [*_in_turns(first), *_in_turns(rest)]
        return sorted(rest, key=lambda test: (len(test.functions), test.seconds, test.name))


def _in_turns(tests: Sequence[WatchedTest]) -> list[WatchedTest]:
    files: dict[str, list[WatchedTest]] = {}
    for test in sorted(tests, key=lambda test: (test.seconds, test.name)):
        files.setdefault(test.file, []).append(test)
    turns = [(turn, test) for one in files.values() for turn, test in enumerate(one)]
    return [test for _, test in sorted(turns, key=lambda turn: (turn[0], turn[1].seconds))]


class KeptReach:
    """What is known of each file of tests, in a folder, until the file changes."""

    def __init__(self, folder: Path, root: Path) -> None:
        self._folder, self._root = folder, root
        folder.mkdir(parents=True, exist_ok=True)

    def place(self, file: str) -> Path:
        text = (self._root / file).read_bytes()
        digest = hashlib.sha256(file.encode() + b"\0" + text).hexdigest()[:16]
        return self._folder / f"{Path(file).stem}-{digest}.json"

    def missing(self, files: Sequence[str]) -> list[str]:
        return [file for file in files if not self.place(file).exists()]

    def read(self, files: Sequence[str]) -> Reach:
        tests: list[WatchedTest] = []
        for file in files:
            for line in self.place(file).read_text().splitlines():
                one = json.loads(line)
                tests.append(WatchedTest(one["name"], one["seconds"], frozenset(one["functions"])))
        return Reach(tuple(tests))
