"""Offers ``thin`` to a process of its own, as an installed package would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]


def offered(folder: Path, value: str = "tests.outside.thin_kind:KIND", kind: str = "thin") -> Path:
    """A place for ``sys.path`` at which a package says that it has a kind of operator."""
    info = folder / "thin_operators-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thin-operators\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[headway.operators]\n{kind} = {value}\n")
    return folder


def run_python(place: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python in the project's folder; with that place on its path if there is one."""
    paths = [str(place)] if place is not None else []
    paths += [str(ROOT), str(ROOT / "src")]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
