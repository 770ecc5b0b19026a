"""The time keeper of native nodes on a clock that only operators move: who runs when."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.native.needed import needs_compiler, needs_sanitizers
from tests.native.nodes.compiled_tests import HERE, compiled

from headway.native.toolchain import BuildMode


def told(program: Path) -> str:
    ran = subprocess.run([program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@needs_compiler
def test_what_runs_when(tmp_path: Path) -> None:
    """Preemption at borders of operators and between items, no overtaking inside a unit, nothing
    lost by a process that was stopped, and how far time has come without those who are lost."""
    program = compiled("wall_time_stories.cpp", tmp_path)
    assert told(program) == (HERE / "wall_time_stories.txt").read_text(encoding="utf-8")


@needs_sanitizers
def test_the_same_under_the_sanitizers(tmp_path: Path) -> None:
    program = compiled("wall_time_stories.cpp", tmp_path, mode=BuildMode.SANITIZED)
    assert told(program) == (HERE / "wall_time_stories.txt").read_text(encoding="utf-8")
