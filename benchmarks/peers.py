"""Other people's software, each in a virtual environment of its own under ``build/peers``.

A peer is installed when it is first asked for and never into Headway's environment: SimSo pins a
SimPy of 2011. A peer runs as a script of this folder in its own process, on the core its caller is
bound to, and prints one JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PEERS = HERE.parent / "build" / "peers"
REQUIREMENTS = {
    "bytewax": ("bytewax==0.21.1",),
    "flink": ("apache-flink==2.3.0",),
    "pathway": ("pathway==0.33.0",),
    "simso": ("simso==0.8.5", "SimPy==2.3.1"),
}
LONGEST = 900
"""seconds that an installation or a script may take"""


class PeerMissing(Exception):
    """It could not be installed or did not run; the text says why."""


def python_of(peer: str) -> Path:
    """The interpreter of the peer's environment, which is made if it is not there."""
    wanted = REQUIREMENTS[peer]
    folder = PEERS / f"{peer}-{sys.version_info.major}.{sys.version_info.minor}"
    python, stamp = folder / "bin" / "python", folder / ".installed"
    if stamp.exists() and stamp.read_text() == "\n".join(wanted):
        return python
    try:
        venv.create(folder, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted]
        _run([str(part) for part in pip])
    except (OSError, subprocess.SubprocessError) as error:
        output = (getattr(error, "stderr", None) or str(error)).strip()
        raise PeerMissing(f"{peer} cannot be installed: {output[-300:]}") from error
    stamp.write_text("\n".join(wanted))
    return python


def ask(python: Path | str, script: str, *arguments: object) -> dict[str, Any]:
    """What a script of this folder prints, run by that interpreter."""
    command = [str(python), str(HERE / script), *(str(argument) for argument in arguments)]
    try:
        found: dict[str, Any] = json.loads(_run(command))
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        output = (getattr(error, "stderr", None) or str(error)).strip()
        raise PeerMissing(f"{script} failed: {output[-300:]}") from error
    return found


def one_core() -> str:
    """Binds this process and those it starts to one core, where the system can; says which."""
    if not hasattr(os, "sched_setaffinity"):
        return "not bound to a core"
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return f"bound to core {core}"


def _run(command: list[str]) -> str:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LONGEST)
    return done.stdout
