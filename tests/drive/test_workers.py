"""Workers of a run that is killed end with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.waiting import PATIENCE_S, until

LEADER = (
    "from pathlib import Path\n"
    "from tests.drive.test_workers import stay\n"
    "from headway.drive.trial_results import in_parallel\n"
    "if __name__ == '__main__':\n"
    "    list(in_parallel(stay, [Path({folder!r})] * 2, 2))\n"
)


def stay(folder: Path) -> None:
    """A task that leaves its number in the folder and is never over."""
    (folder / str(os.getpid())).touch()
    time.sleep(2 * PATIENCE_S)


def runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_kill_of_the_parent_ends_its_workers(tmp_path: Path) -> None:
    script = tmp_path / "leader.py"
    folder = tmp_path / "workers"
    folder.mkdir()
    script.write_text(LEADER.format(folder=str(folder)))
    path = os.pathsep.join(sys.path)
    leader = subprocess.Popen([sys.executable, script], env={**os.environ, "PYTHONPATH": path})
    try:
        until(lambda: len(list(folder.iterdir())) == 2)
        workers = [int(one.name) for one in folder.iterdir()]
        assert all(map(runs, workers))
    finally:
        leader.send_signal(signal.SIGKILL)
        leader.wait()
    until(lambda: not any(map(runs, workers)))
