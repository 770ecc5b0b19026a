"""pytest in a process of its own, forked from one that has imported what is slow to import.

The forked process works in a copy of the project. It takes the tests from there, and Headway as
the first process has imported it, with the code of mutated functions put in place of theirs; what a
mutant changes on import is imported anew. Its processor time and its memory are limited, so one
that never ends is ended by the work it does and not by a clock; only one that waits for ever is
ended by a clock, a generous one.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

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
LEFT_OUT = ("headway.spark", "headway.native", "headway.world.sumo")
"""Not tried here, and long to import."""
SOURCES = ("src", "studies/src")
OWN = ("headway", "headway_studies")
GIBIBYTE = 2**30
MOST_MEMORY = 6 * GIBIBYTE
WAITING = 5
"""a clock's seconds for each second of processor time: the machine may be busy"""


def preload(root: Path | None = None) -> None:
    """Imports what every run of tests needs, with all of Headway in ``root`` if that is given."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if root is not None:
        sys.path[:0] = [str(root / place) for place in SOURCES]
        for place in SOURCES:
            for path in sorted((root / place).rglob("*.py")):
                name = ".".join(path.relative_to(root / place).with_suffix("").parts)
                if not name.startswith(LEFT_OUT) and not name.endswith("__main__"):
                    with contextlib.suppress(Exception):  # for one that needs what is not there
                        importlib.import_module(name.removesuffix(".__init__"))


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
    plugins: Callable[[], list[object]] = list,
    change: Changed | None = None,
) -> Running:
    """Runs pytest in ``root`` with that much processor time; what it says is in ``log``."""
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        code = 70
        try:
            _become(root, log, seconds)
            if change is not None and not put_in_place(change):
                forget(OWN)
            else:  # nothing that is written is of a mutant: what tests are compiled to is kept
                sys.dont_write_bytecode = False
            code = int(pytest.main([*ALREADY_IMPORTED, *arguments], plugins=plugins()))
        except BaseException:  # noqa: BLE001 — whatever it is, this process must not go on as its parent
            traceback.print_exc()
        finally:
            os._exit(code)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.setpgid(process, process)
    return Running(process, time.monotonic() + seconds * WAITING + 30)


def into_own_process(log: Path, seconds: int) -> None:
    """A fork becomes a process group of its own, with limits, that writes into ``log``."""
    os.setpgid(0, 0)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, used + seconds + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _become(root: Path, log: Path, seconds: int) -> None:
    into_own_process(log, seconds)
    os.chdir(root)
    places = [str(root / place) for place in SOURCES]
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    sys.path[:0] = [*places, str(root)]
    forget(("tests",))


def forget(packages: Sequence[str]) -> None:
    """What is imported of them next is that of the copy."""
    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        del sys.modules[name]
    importlib.invalidate_caches()


# ---------------------------------------------------------------- a mutant in what is imported


@dataclass(frozen=True)
class Changed:
    """A module's text before and after."""

    path: str
    before: bytes
    after: bytes


def codes_of(change: Changed) -> dict[CodeType, CodeType] | None:
    """The code of each function that changes, with what comes in its place; None if what runs on
    import has changed."""
    old, new = (compile(text, change.path, "exec") for text in (change.before, change.after))
    if old.co_code != new.co_code:
        return None
    before, after = list(_functions(old)), list(_functions(new))
    if [code.co_qualname for code in before] != [code.co_qualname for code in after]:
        return None
    return {one: other for one, other in zip(before, after, strict=True) if one != other}


def put_in_place(change: Changed) -> bool:
    """Gives the functions of the module, wherever they are held, the code that they have after the
    change; False where that cannot be: what runs on import has changed, or nothing is imported."""
    instead = codes_of(change)
    if instead is None:
        return False
    found = 0
    for held in gc.get_objects():
        if isinstance(held, FunctionType) and held.__code__.co_filename.endswith(change.path):
            code = instead.get(held.__code__)
            if code is not None:
                held.__code__ = code
                found += 1
    return found > 0


def _functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _functions(constant)
