"""Compiled programs that are kept, so that a plan is compiled once for each compiler.

A program is known by its sources, the headers it includes, the compiler's version and all flags. An
entry is a folder that is written beside the others and renamed, so that any number of processes may
build the same program at once: the first to finish keeps its own, the others take that one. An
entry whose program is not the one that was put there is thrown away and built again.

The cache lies in ``$HEADWAY_CACHE``, else where the system keeps such files of a user. What was not
used for longest goes when it becomes too large.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from headway.errors import EnvironmentMissing
from headway.native.source_files import tree_digest, write_tree
from headway.native.toolchain import BinaryKind, BuildMode, Toolchain, compile_program, flags_of

VARIABLE = "HEADWAY_CACHE"
MOST_BYTES = 1 << 30
SPARED_S = 3600.0
"""what was used so lately may be in use: it stays even where the cache is too large"""

_FOLDER = "native-programs"
_ENTRY = "entry.json"
_DRAFT = "draft-"
_FORM = 1
"""of the entries; part of every key"""


@dataclass(frozen=True, slots=True)
class CachedProgram:
    """``built``: it was compiled just now. ``stack`` as in
    :class:`~headway.native.toolchain.Compiled`."""

    path: Path
    stack: int | None
    built: bool


def cache_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Where programs are kept; nothing is made."""
    environment = os.environ if environment is None else environment
    if chosen := environment.get(VARIABLE):
        return Path(chosen).absolute() / _FOLDER
    return _user_cache(environment) / "headway" / _FOLDER


def _user_cache(environment: Mapping[str, str]) -> Path:
    if chosen := environment.get("XDG_CACHE_HOME"):
        return Path(chosen).absolute()
    try:
        home = Path.home()
    except RuntimeError:  # no HOME, and the user is not known to the system
        raise _no_cache("the user has no home folder") from None
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(environment.get("LOCALAPPDATA") or home / "AppData" / "Local")
    return home / ".cache"


def _no_cache(reason: str) -> EnvironmentMissing:
    return EnvironmentMissing(
        f"Compiled programs cannot be kept: {reason}. "
        f"Set {VARIABLE} to a folder that can be written to."
    )


def cached_program(
    files: Mapping[str, str],
    sources: Sequence[str],
    toolchain: Toolchain,
    *,
    kind: BinaryKind = BinaryKind.EXECUTABLE,
    mode: BuildMode = BuildMode.RELEASE,
    include: Sequence[Path] = (),
    definitions: Sequence[str] = (),
    extra: Sequence[str] = (),
    strict: bool = True,
    cache: Path | None = None,
    before_compiling: Callable[[], None] = lambda: None,
) -> CachedProgram:
    """The program of the tree ``files``, of which ``sources`` are compiled; from the cache where it
    is there. ``include``: folders of headers beside the tree's own. FileError where the compiler
    refuses."""
    cache = cache or cache_folder()
    settings = [
        *flags_of(toolchain, kind=kind, mode=mode, strict=strict),
        *(f"-D{one}" for one in definitions),
        *extra,
    ]
    digest = tree_digest(files, include)
    recipe = json.dumps([_FORM, toolchain.command, toolchain.version, settings, [*sources], digest])
    entry = cache / hashlib.sha256(recipe.encode()).hexdigest()[:40]
    if (found := _read(entry)) is not None:
        return found
    before_compiling()
    try:
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=cache))
    except OSError as error:
        raise _no_cache(f"{cache}: {error.strerror or error}") from None
    try:
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch).resolve()
            write_tree(folder, files)
            name = "program.so" if kind is BinaryKind.SHARED else "program"
            compiled = compile_program(
                [Path(source) for source in sources],
                draft / name,
                toolchain,
                kind=kind,
                mode=mode,
                include=(Path(), *(path.resolve() for path in include)),
                definitions=definitions,
                extra=extra,
                strict=strict,
                folder=folder,
            )
        about = {"program": name, "sha256": _sha256(draft / name), "stack": compiled.stack}
        (draft / _ENTRY).write_text(json.dumps(about) + "\n", encoding="utf-8")
        kept = _keep(draft, entry)
    except OSError as error:
        raise _no_cache(f"{cache}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _make_room(cache)
    return kept


def _read(entry: Path) -> CachedProgram | None:
    """What is kept there, if it is what was put there; then it has been used."""
    try:
        about = json.loads((entry / _ENTRY).read_text(encoding="utf-8"))
        path = entry / str(about["program"])
        stack = about["stack"]
        if _sha256(path) != about["sha256"] or not (stack is None or isinstance(stack, int)):
            return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    with suppress(OSError):  # a cache may be for reading only
        os.utime(entry)
    return CachedProgram(path, stack, built=False)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _keep(draft: Path, entry: Path) -> CachedProgram:
    """Gives the draft its name, unless another process was first with the same program."""
    while True:
        try:
            draft.rename(entry)
        except OSError:
            if (theirs := _read(entry)) is not None:
                return theirs
            if not entry.exists():
                raise
            _discard(entry)
            continue
        kept = _read(entry)
        if kept is None:
            raise OSError(f"{entry} cannot be read back")
        return CachedProgram(kept.path, kept.stack, built=True)


def _discard(entry: Path) -> None:
    """Under another name first: nobody sees half of it."""
    away = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=entry.parent))
    try:
        with suppress(FileNotFoundError):  # another process discarded it
            entry.rename(away / "discarded")
    finally:
        shutil.rmtree(away, ignore_errors=True)


def _make_room(cache: Path) -> None:
    """Whatever was not used for longest goes first; so do drafts of processes that were killed."""
    now = time.time()
    entries: list[tuple[float, int, Path]] = []
    with suppress(OSError):
        for entry in cache.iterdir():
            with suppress(OSError):  # others make room too
                size = sum(path.stat().st_size for path in entry.iterdir())
                entries.append((entry.stat().st_mtime, size, entry))
    total = sum(size for _, size, _ in entries)
    for used, size, entry in sorted(entries):
        if used > now - SPARED_S:
            return
        if total > MOST_BYTES or entry.name.startswith(_DRAFT):
            with suppress(OSError):
                _discard(entry)
                total -= size
