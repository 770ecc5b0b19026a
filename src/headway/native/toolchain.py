"""A C++17 compiler: found, asked what it is, and run.

For the machine itself: the one that ``$CXX`` names, else the system's ``c++``, ``clang++`` or
``g++``, else the clang inside the Python package ``ziglang`` (extra ``native``). For the ARM
targets always the last, because it carries the libraries of every target; what it links is static,
so the program needs nothing of the device but its kernel.

A program is compiled with the warnings of :data:`WARNINGS` as errors (``strict``), without
exceptions and run-time types, and with floating point exactly as written: no fused multiply-add, so
that a program computes the same bits as the Python engine on every target.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path

from headway.engine.run_folder import unwritable
from headway.errors import EnvironmentMissing, FileError, InputError, Place, Problem
from headway.native.stack_use import CALL_GRAPHS, deepest_stack

RUNTIME = Path(__file__).parent / "runtime"
"""what a program includes as ``headway/….hpp``"""

SYSTEM_COMPILERS = ("c++", "clang++", "g++")
ZIG_PACKAGE = "ziglang"
EXTRA = "native"


class Target(StrEnum):
    """What a program is compiled for."""

    NATIVE = "native"
    AARCH64 = "aarch64"
    ARMV7 = "armv7"

    @property
    def triple(self) -> str | None:
        """As clang names it; None for the machine itself."""
        return _TRIPLES.get(self)

    @property
    def emulator(self) -> str | None:
        """The program of the package ``qemu-user`` that runs its programs on another machine."""
        return {Target.AARCH64: "qemu-aarch64", Target.ARMV7: "qemu-arm"}.get(self)


_TRIPLES = {Target.AARCH64: "aarch64-linux-musl", Target.ARMV7: "arm-linux-musleabihf"}


class Family(StrEnum):
    """Whose compiler it is: they differ in some flags, and only gcc tells the use of the stack."""

    GCC = "gcc"
    CLANG = "clang"
    ZIG = "zig"


class BinaryKind(StrEnum):
    EXECUTABLE = "executable"
    SHARED = "shared library"


class BuildMode(StrEnum):
    RELEASE = "release"
    """fast and small; nothing in it that is not used"""
    DEBUG = "debug"
    """quickly compiled, with the names and lines that a debugger shows; by zig as for a release"""
    SANITIZED = "sanitized"
    """debug, and every access outside an object or undefined result ends the program"""


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler for a target. ``command`` is how it is called, without any flags of ours;
    ``version`` all that it says of itself, by which builds of different compilers are told
    apart."""

    command: tuple[str, ...]
    version: str
    target: Target
    family: Family

    @property
    def name(self) -> str:
        """The first line of the version, for people."""
        return self.version.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Compiled:
    """``stack``: bytes on the deepest path of calls from the entry (see
    :mod:`headway.native.stack_use`), None where the compiler does not tell. ``warnings``: what the
    compiler said although it went on."""

    path: Path
    stack: int | None
    warnings: tuple[str, ...]


# -------------------------------------------------------------------- finding one


def find_toolchain(
    target: Target = Target.NATIVE, environment: Mapping[str, str] | None = None
) -> Toolchain:
    """EnvironmentMissing where there is none that can compile C++17."""
    environment = os.environ if environment is None else environment
    chosen, path = environment.get("CXX", "").strip(), environment.get("PATH", os.defpath)
    return _found(target, chosen, path, _has_zig())


@lru_cache(maxsize=64)  # asking a compiler takes as long as compiling a small program
def _found(target: Target, chosen: str, path: str, has_zig: bool) -> Toolchain:
    refused: list[str] = []
    for command in _candidates(target, chosen, path, has_zig):
        try:
            return _asked(command, target)
        except _Unusable as reason:
            if chosen and target is Target.NATIVE:  # a wish is not quietly replaced
                raise EnvironmentMissing(
                    f"CXX names a compiler that cannot be used: {reason}. Set CXX to one that "
                    f"compiles C++17, or unset it."
                ) from None
            refused.append(str(reason))
    raise EnvironmentMissing(_nothing_found(target, refused))


def _candidates(target: Target, chosen: str, path: str, has_zig: bool) -> list[tuple[str, ...]]:
    zig: list[tuple[str, ...]] = [(sys.executable, "-m", ZIG_PACKAGE)] if has_zig else []
    if target is not Target.NATIVE:
        return zig
    if chosen:
        try:
            return [tuple(shlex.split(chosen))]
        except ValueError:  # an open quotation mark
            return [(chosen,)]
    found = [shutil.which(name, path=path) for name in SYSTEM_COMPILERS]
    return [*((program,) for program in found if program is not None), *zig]


def _has_zig() -> bool:
    try:
        return importlib.util.find_spec(ZIG_PACKAGE) is not None
    except ValueError:  # something of this name was imported that is no package
        return False


def _nothing_found(target: Target, refused: Sequence[str]) -> str:
    install = f"pip install 'headway[{EXTRA}]'"
    looked = f" (refused: {'; '.join(refused)})" if refused else ""
    if target is Target.NATIVE:
        return (
            f"Native programs need a C++17 compiler and none was found{looked}: install the "
            f"Python package {ZIG_PACKAGE}, which carries one ({install}), or your system's (on "
            f"Debian or Ubuntu: apt install g++), or name one by CXX. Without one the Python "
            f"engine runs the same query: headway build --target python makes a bundle for every "
            f"node, and --emit-only writes the C++ to compile elsewhere."
        )
    return (
        f"The target {target} is compiled by the Python package {ZIG_PACKAGE}, which carries the "
        f"libraries of every target, and it was not found{looked}: {install}. Without it: "
        f"--emit-only writes the C++ to compile with a compiler of your own, and headway build "
        f"--target python makes a bundle for every node."
    )


class _Unusable(Exception):
    """A candidate that cannot compile, with the reason."""


_SMALLEST = "#include <cstdint>\n#include <type_traits>\nstatic_assert(std::is_same_v<int, int>);\n"
"""is C++17 only with a standard library"""


def _asked(command: tuple[str, ...], target: Target) -> Toolchain:
    """What the compiler says of itself, if it can compile at all."""
    zig = command[-1] == ZIG_PACKAGE
    version = _output((*command, "version" if zig else "--version"))
    if zig:
        name, command = f"ziglang {version}", (*command, "c++")
        return Toolchain(command, name, target, Family.ZIG)
    family = Family.CLANG if "clang" in version else Family.GCC
    asked = (*STANDARD, *(CALL_GRAPHS if family is Family.GCC else ()), "-fsyntax-only")
    with tempfile.TemporaryDirectory() as scratch:  # gcc writes the call graph of nothing
        _output((*command, *asked, "-x", "c++", "-"), _SMALLEST, scratch)
    return Toolchain(command, version, target, family)


def _output(command: tuple[str, ...], given: str = "", folder: str | None = None) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise _Unusable(f"{command[0]!r} cannot be run: {reason}") from None
    if done.returncode != 0:
        told = (done.stderr.strip() or done.stdout.strip() or "no message").partition("\n")[0]
        raise _Unusable(f"{shlex.join(command)} failed: {told}")
    return done.stdout.strip()


# -------------------------------------------------------------------- flags

STANDARD = ("-std=c++17",)
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow")
LANGUAGE = ("-fno-exceptions", "-fno-rtti", "-ffp-contract=off")
THREADS = ("-pthread",)
"""applications may use them; costs nothing where they do not"""
ONE_THREAD = ("-fno-threadsafe-statics",)
"""a program's own thread is the only one; the locks would bring 180 kB of the C++ library to ARM"""
UNWINDING = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
"""tables that only exceptions and debuggers read: a tenth of a program"""
SMALL = ("-ffunction-sections", "-fdata-sections", *UNWINDING)
OPTIMIZED = {BinaryKind.EXECUTABLE: "-Os", BinaryKind.SHARED: "-O2"}
"""a node's program is to be small, and waits most of the time; a library is to be fast"""
LINKED_SMALL = ("-Wl,--gc-sections", "-Wl,--as-needed", "-s")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")


def flags_of(
    toolchain: Toolchain, *, kind: BinaryKind, mode: BuildMode, strict: bool = True
) -> tuple[str, ...]:
    """All that a program is compiled and linked with but its files and definitions."""
    family = toolchain.family
    if mode is BuildMode.SANITIZED and family is Family.ZIG:
        raise EnvironmentMissing(
            f"{toolchain.name} has no sanitizers: build with gcc or clang to use them"
        )
    flags = [*_target_flags(toolchain), *STANDARD, *WARNINGS, *(("-Werror",) if strict else ())]
    flags += [*LANGUAGE, *THREADS]
    # Without these or with -g, zig would compile all its libraries once more: minutes.
    if mode is BuildMode.RELEASE or family is Family.ZIG:
        flags += (OPTIMIZED[kind], *SMALL)
        flags += ("-Wl,-dead_strip",) if sys.platform == "darwin" else LINKED_SMALL
        if family is Family.GCC and sys.platform != "darwin":
            flags += ("-Wl,-z,noseparate-code",)  # code and constants on the same pages
    else:
        flags += ("-O0", "-g", "-fno-omit-frame-pointer")
    flags += SANITIZERS if mode is BuildMode.SANITIZED else ()
    flags += ONE_THREAD if kind is BinaryKind.EXECUTABLE else ()
    if kind is BinaryKind.SHARED:
        flags += ("-shared", "-fPIC")
        if sys.platform != "darwin":
            # A library's own functions are its own, so that they are inlined, and that two
            # programs that are loaded into one process do not share their variables.
            flags += ("-fno-semantic-interposition", "-Wl,-Bsymbolic")
        flags += ("-fno-gnu-unique",) if family is Family.GCC else ()
    return tuple(flags)


def _target_flags(toolchain: Toolchain) -> tuple[str, ...]:
    if toolchain.family is not Family.ZIG:
        return ()
    if toolchain.target.triple is None:
        return ("-mcpu=baseline",)  # else the program runs on machines like this one only
    return ("-target", toolchain.target.triple, "-static")


# -------------------------------------------------------------------- compiling


def compile_program(
    sources: Sequence[Path],
    out: Path,
    toolchain: Toolchain,
    *,
    kind: BinaryKind = BinaryKind.EXECUTABLE,
    mode: BuildMode = BuildMode.RELEASE,
    include: Sequence[Path] = (),
    definitions: Sequence[str] = (),
    extra: Sequence[str] = (),
    strict: bool = True,
    folder: Path | None = None,
) -> Compiled:
    """Compiles the sources and links them; ``out`` appears whole or not at all.

    ``definitions`` are given to ``-D``. With ``folder`` the compiler works there, and relative
    sources are taken from it: messages then show them as they are. FileError with the compiler's
    first messages where it refuses.
    """
    flags = flags_of(toolchain, kind=kind, mode=mode, strict=strict)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".compiling-", dir=out.parent) as scratch:
            made = Path(scratch).resolve() / "program"
            command = [*toolchain.command, *flags]
            command += CALL_GRAPHS if toolchain.family is Family.GCC else ()
            command += [f"-D{one}" for one in definitions]
            command += [argument for path in include for argument in ("-I", str(path))]
            command += [*map(_named, sources), *extra, "-o", str(made)]
            told = _compile(command, folder, toolchain)
            stack = deepest_stack(sorted(made.parent.glob("*.ci")))
            made.replace(out)
    except OSError as error:
        raise unwritable(out, error) from None
    return Compiled(out, stack, _warnings(told))


def _named(source: Path) -> str:
    """A file whose name begins with a dash is no option, and one with @ no list of options."""
    return f"./{source}" if str(source).startswith(("-", "@")) else str(source)


def _compile(command: Sequence[str], folder: Path | None, toolchain: Toolchain) -> str:
    environment = {**os.environ, "LC_ALL": "C"}  # messages are read below
    environment.pop("LD_PRELOAD", None)  # what this process was given to load is not the compiler's
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        if folder is not None and not folder.is_dir():
            raise
        raise EnvironmentMissing(f"The compiler has gone: {error}") from None
    except ValueError as error:  # a path with a NUL character
        raise InputError(f"the compiler cannot be called: {error}") from None
    if done.returncode != 0:
        raise FileError(_problems(done.stderr or done.stdout, done.returncode, toolchain))
    return done.stderr


# -------------------------------------------------------------------- what it said

_MOST = 5
"""messages shown: those after the first few follow from them"""
_MESSAGE = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?:fatal )?error: (?P<what>.+)$",
    re.MULTILINE,
)
_OF_LINKER = re.compile(
    r"^.*(?:undefined (?:reference|symbol)|multiple definition|error:).*$", re.M
)
_WARNING = re.compile(r"^.*\bwarning: .*$", re.MULTILINE)


def _problems(told: str, code: int, toolchain: Toolchain) -> list[Problem]:
    want = f"compiled by {toolchain.name}"
    if code < 0:
        return [
            Problem(
                f"the compiler was ended by signal {-code}",
                got=_first_line(told),
                want=f"{want}; is there enough memory?",
            )
        ]
    found = [
        Problem(
            f"the compiler refuses this: {one['what']}",
            place=Place(one["file"], int(one["line"]), int(one["column"] or 0) or None),
        )
        for one in _MESSAGE.finditer(told)
    ]
    if not found:
        lines = dict.fromkeys(one[0].strip() for one in _OF_LINKER.finditer(told))
        lines.pop("collect2: error: ld returned 1 exit status", None)  # says nothing
        found = [Problem(f"the linker refuses this: {line}") for line in lines]
    if not found:
        found = [Problem("the compiler failed", got=f"exit code {code}: {_first_line(told)}")]
    left = len(found) - _MOST
    closing = f"{want}; {left} more like these" if left > 0 else want
    shown = found[:_MOST]
    return [
        *shown[:-1],
        Problem(shown[-1].what, got=shown[-1].got, want=closing, place=shown[-1].place),
    ]


def _first_line(told: str) -> str:
    return told.strip().partition("\n")[0] or "no message"


def _warnings(told: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one[0].strip() for one in _WARNING.finditer(told)))
