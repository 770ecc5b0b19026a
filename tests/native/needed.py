"""What tests of native code need of the machine; those that lack it skip, in words."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from headway.errors import EnvironmentMissing
from headway.native.toolchain import ZIG_PACKAGE, Family, Target, Toolchain, find_toolchain


def _host() -> Toolchain | None:
    try:
        return find_toolchain()
    except EnvironmentMissing:
        return None


HOST = _host()
"""the compiler for this machine, if there is one"""

needs_compiler = pytest.mark.skipif(HOST is None, reason="there is no C++ compiler")
needs_gcc = pytest.mark.skipif(
    HOST is None or HOST.family is not Family.GCC, reason="only gcc tells the use of the stack"
)
needs_sanitizers = pytest.mark.skipif(
    HOST is None or HOST.family is Family.ZIG, reason="there is no compiler with sanitizers"
)
needs_zig = pytest.mark.skipif(
    importlib.util.find_spec(ZIG_PACKAGE) is None,
    reason="ziglang, which compiles for ARM, is not installed: pip install 'headway[native]'",
)
needs_cmake = pytest.mark.skipif(
    shutil.which("cmake") is None or shutil.which("make") is None, reason="there is no cmake"
)


def host() -> Toolchain:
    """For tests that are marked as needing one."""
    assert HOST is not None
    return HOST


def emulator_of(target: Target) -> str:
    """What runs a target's programs here; the test is skipped where it is not installed."""
    assert target.emulator is not None
    if shutil.which(target.emulator) is None:
        pytest.skip(f"there is no {target.emulator}: the package qemu-user runs ARM programs")
    return target.emulator


def fake_compiler(path: Path, *, version: str, body: str = "exit 0") -> Path:
    """A program that tells a version and does as it is told otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    asked = f'case " $* " in *" --version "*) echo "{version}"; exit 0;; esac'
    path.write_text(f"#!/bin/sh\n{asked}\n{body}\n")
    path.chmod(0o755)
    return path


def path_of(*folders: Path) -> str:
    return os.pathsep.join(map(str, folders))
