"""Which tests enter which functions: found once by watching every test, and kept.

Watching costs a call for each function that is entered, nothing for each line. A file of tests is
watched again when its text has changed; functions that are new since then are found by the tests of
their module. What a shared fixture or a cached helper does is seen in the first test that asks for
it, which is why :func:`tests_for` also takes the other tests of the files it finds.
"""

from __future__ import annotations

import ast
import cProfile
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator, Sequence
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
    """of processor time, that of the processes it starts included"""
    functions: frozenset[str]
    """``path::qualified name``"""
    values: int = 0
    """how many times it says what must come out: by ``==``, or by the words of a refusal"""

    @property
    def file(self) -> str:
        return self.name.split("::", 1)[0]

    @property
    def price(self) -> float:
        """Processor time for each value that is looked at."""
        return self.seconds / (1 + self.values)


class Watcher:
    """A pytest plugin that writes what the tests of a run have entered."""

    def __init__(self, roots: Sequence[Path], result: Path) -> None:
        self._roots = tuple(f"{root}{os.sep}" for root in roots)
        self._result = result
        self._passed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        codes: set[CodeType] = set()

        def entered(frame: FrameType, event: str, argument: object) -> None:
            codes.add(frame.f_code)

        # The profiler is written in C and costs far less than a function that is called for each
        # call; it sees only the thread that starts it.
        profiler = cProfile.Profile(subcalls=False, builtins=False)
        self._passed = True
        began = sum(os.times()[:4])
        threading.settrace(entered)
        profiler.enable()
        try:
            result = yield
        finally:
            profiler.disable()
            threading.settrace(None)
        codes.update(one.code for one in profiler.getstats() if isinstance(one.code, CodeType))
        if self._passed:
            own = {
                f"{code.co_filename.removeprefix(root)}::{code.co_qualname}"
                for root in self._roots
                for code in codes
                if code.co_filename.startswith(root)
            }
            seconds = round(sum(os.times()[:4]) - began, 3)
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

        Files take turns, and in each its functions, the one first that looks at most values for its
        time: what kills a mutant is more often another file or function than one more case of the
        same. For a function that nothing was seen to enter, those that enter anything of the
        module. For what runs on import all tests of their files, first those that enter little: a
        test of a flag need not enter anything.
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
    """Files in turns, in each its functions in turns, of each its cases."""
    cases = _with_turns(tests, lambda test: test.name.partition("[")[0])
    cases.sort(key=lambda one: (one[0], one[1].price, one[1].name))
    turns = _with_turns([test for _, test in cases], lambda test: test.file, ordered=True)
    return [test for _, test in sorted(turns, key=lambda one: (one[0], one[1].price))]


def _with_turns(
    tests: Sequence[WatchedTest], of: Callable[[WatchedTest], str], *, ordered: bool = False
) -> list[tuple[int, WatchedTest]]:
    """Each test with its place among those of the same kind."""
    groups: dict[str, list[WatchedTest]] = {}
    for test in tests if ordered else sorted(tests, key=lambda test: (test.price, test.name)):
        groups.setdefault(of(test), []).append(test)
    return [(turn, test) for group in groups.values() for turn, test in enumerate(group)]


def values_in(source: str) -> dict[str, int]:
    """How many values each test function of a file looks at."""
    return {
        node.name: sum(_looks_at_a_value(part) for part in ast.walk(node))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    }


def _looks_at_a_value(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        parts = ast.walk(node.test)
        return any(isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.Eq) for one in parts)
    return isinstance(node, ast.keyword) and node.arg == "match"


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
            values = values_in((self._root / file).read_text(encoding="utf-8"))
            for line in self.place(file).read_text().splitlines():
                one = json.loads(line)
                function = one["name"].rsplit("::", 1)[-1].partition("[")[0]
                tests.append(
                    WatchedTest(
                        one["name"],
                        one["seconds"],
                        frozenset(one["functions"]),
                        values.get(function, 0),
                    )
                )
        return Reach(tuple(tests))
