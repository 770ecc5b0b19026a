"""pytest in a process of its own, forked from one that has imported what is slow to import.

The forked process works in a copy of the project: it imports Headway, its studies and the tests
from there. Its processor time and its memory are limited, so a mutant that never ends is ended by
the work it does and not by a clock; only one that waits for ever is ended by a clock, a generous
one.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PRELOADED = (
    "hypothesis",
    "numpy",
    "pyarrow",
    "pyarrow.parquet",
    "pydantic",
    "rich",
    "scipy.optimize",
    "sqlglot",
    "typer",
    "yaml",
)
ALREADY_IMPORTED = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
"""what pytest would warn of, because of what is preloaded"""
SOURCES = ("src", "studies/src")
OWN = ("headway", "headway_studies", "tests")
GIBIBYTE = 2**30
MOST_MEMORY = 6 * GIBIBYTE
WAITING = 5
"""a clock's seconds for each second of processor time: the machine may be busy"""


def preload() -> None:
    """Imports what every run of tests needs and no mutant changes."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


@dataclass(slots=True)
class Running:
    """A forked run of pytest."""

    process: int
    ends: float
    """when the clock ends it"""
    late: bool = False

    def ended(self) -> int | None:
        """pytest's exit code, or less than 0 for the signal that ended it; None while it runs."""
        if not self.late and time.monotonic() > self.ends:
            self.late = True
            self.stop()
        process, status = os.waitpid(self.process, os.WNOHANG)
        if process == 0:
            return None
        self.stop()  # what it has started
        return os.waitstatus_to_exitcode(status)

    def stop(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, signal.SIGKILL)


def start(
    root: Path,
    arguments: Sequence[str],
    log: Path,
    seconds: int,
    plugins: Callable[[], list[object]],
) -> Running:
    """Runs pytest in ``root`` with that much processor time; what it says is in ``log``."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        code = 70
        try:
            _become(root, log, seconds)
            code = int(pytest.main([*ALREADY_IMPORTED, *arguments], plugins=plugins()))
        except BaseException:  # noqa: BLE001 — whatever it is, this process must not go on as its parent
            traceback.print_exc()
        finally:
            os._exit(code)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.setpgid(process, process)
    return Running(process, time.monotonic() + seconds * WAITING + 30)


def _become(root: Path, log: Path, seconds: int) -> None:
    os.setpgid(0, 0)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    os.chdir(root)
    places = [str(root / place) for place in SOURCES]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.path[:0] = [*places, str(root)]
    for name in [name for name in sys.modules if name.split(".")[0] in OWN]:
        del sys.modules[name]
    importlib.invalidate_caches()
