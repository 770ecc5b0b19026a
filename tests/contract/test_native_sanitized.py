"""The contract on native code once more, compiled with the compiler's sanitizers: no access outside
an object, no undefined result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.native.needed import HOST, needs_sanitizers

from headway.native.toolchain import BuildMode

ROOT = Path(__file__).parents[2]
PATIENCE_S = 3_600


def sanitizer(name: str) -> str:
    """A library of the compiler's that must be there before a process loads what needs it."""
    assert HOST is not None
    asked = subprocess.run(
        [*HOST.command, f"-print-file-name=lib{name}.so"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = asked.stdout.strip()
    if not Path(found).is_absolute():
        pytest.skip(f"the compiler has no lib{name}.so")
    return found


@needs_sanitizers
def test_the_contract_under_sanitizers() -> None:
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{sanitizer('asan')} {sanitizer('ubsan')}",
        "ASAN_OPTIONS": "detect_leaks=0",  # Python leaves memory behind
        "HEADWAY_CONTRACT_MODE": BuildMode.SANITIZED,
    }
    chosen = "every_operator or cut or collision or 12"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
         "tests/contract/test_native.py", "-k", chosen],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    assert " passed" in done.stdout
