"""Tests that are collected once, and run in forks of the process that has them.

To import and collect the tests takes longer than most of them take to run. So one pytest session
collects all of them, and instead of running them it gives the word to whoever asked. Each trial is
then a fork: it has everything imported already, gets the code of the mutated functions, and runs
the tests that it is given. What ran when the tests were imported ran without the mutant, so a
mutant that survives here is tried once more by a fresh pytest (:mod:`tests.mutation.forked`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from tests.mutation.forked import (
    ALREADY_IMPORTED,
    SOURCES,
    WAITING,
    Changed,
    Running,
    codes_of,
    forget,
    into_own_process,
)

QUIET = ("-q", "-s", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "--no-header")


class Collected:
    """A session with all tests of some files; :meth:`run` calls ``work`` in the midst of it."""

    def __init__(self, root: Path, work: Callable[[Collected], None]) -> None:
        self._root, self._work = root, work
        self.items: dict[str, pytest.Item] = {}
        self._functions: dict[CodeType, list[FunctionType]] = {}
        self.failure: BaseException | None = None
        self._failed = ""
        self._config: pytest.Config | None = None

    def run(self, files: Sequence[str], marks: str) -> None:
        before = Path.cwd()
        os.chdir(self._root)
        places = [str(self._root / place) for place in SOURCES]
        os.environ["PYTHONPATH"] = os.pathsep.join(places)
        sys.path.insert(0, str(self._root))
        forget(("tests",))  # those of the copy are imported in their place
        with contextlib.redirect_stdout(sys.stderr):  # the standard output is for the results
            code = pytest.main([*ALREADY_IMPORTED, *QUIET, "-m", marks, *files], plugins=[self])
        os.chdir(before)
        if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):
            raise RuntimeError("pytest could not collect the tests; it said why")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self._config = session.config
        for held in gc.get_objects():
            if isinstance(held, FunctionType):
                self._functions.setdefault(held.__code__, []).append(held)
        gc.freeze()
        try:
            self._work(self)
        except BaseException as error:  # noqa: BLE001 — pytest would only tell of it
            self.failure = error
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed = self._failed or report.nodeid

    # ---------------------------------------------------------------- in forks

    def can_take(self, change: Changed) -> bool:
        """Whether the change is only of functions, and these are there."""
        return any(True for _ in self._changes(change))

    def _changes(self, change: Changed) -> Iterator[tuple[FunctionType, CodeType]]:
        for code, instead in (codes_of(change) or {}).items():
            for function in self._functions.get(code, ()):
                if function.__code__.co_filename.endswith(change.path):
                    yield function, instead

    def start(
        self,
        names: Sequence[str],
        log: Path,
        seconds: int,
        *,
        change: Changed | None = None,
        plugins: Sequence[object] = (),
        to_the_end: bool = False,
    ) -> Running:
        """Runs tests, up to the first that fails unless ``to_the_end``; the exit code is 1 then."""
        process = os.fork()
        if process == 0:
            code = 70
            try:
                into_own_process(log, seconds)
                code = self._run_here(names, change, plugins, to_the_end)
            except BaseException:  # noqa: BLE001 — this process must not go on as its parent
                traceback.print_exc()
            finally:
                os._exit(code)
        return Running(process, time.monotonic() + seconds * WAITING + 30)

    def _run_here(
        self,
        names: Sequence[str],
        change: Changed | None,
        plugins: Sequence[object],
        to_the_end: bool,
    ) -> int:
        assert self._config is not None
        for function, instead in list(self._changes(change)) if change else ():
            function.__code__ = instead
        for plugin in plugins:
            self._config.pluginmanager.register(plugin)
        items = [self.items[name] for name in names if name in self.items]
        for item, following in zip(items, [*items[1:], None], strict=True):
            self._config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self._failed and not to_the_end:
                break
        if self._failed:
            os.write(1, f"\nFAILED {self._failed}\n".encode())
        return 1 if self._failed else 0
