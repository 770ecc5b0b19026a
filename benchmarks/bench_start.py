"""What it costs to start: processor time and modules imported of `headway` and of `import headway`.

    python benchmarks/bench_start.py [repeats]

Each line is a fresh interpreter, run so many times (5); the least time counts, user and system.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
HELLO = ROOT / "examples" / "hello"
QUERY, VEHICLE = str(HELLO / "query.yaml"), str(HELLO / "vehicle.yaml")
MAIN = "from headway.cli import main; main()"
STARTS: dict[str, tuple[str, list[str]]] = {
    "python": ("pass", []),
    "import headway": ("import headway", []),
    "headway --version": (MAIN, ["--version"]),
    "headway --help": (MAIN, ["--help"]),
    "headway check": (MAIN, ["check", QUERY]),
    "headway compile": (MAIN, ["compile", QUERY, "--vehicle", VEHICLE]),
}
COUNTED = """
import atexit, os, sys
atexit.register(lambda: os.write(2, str(len(sys.modules)).encode()))
"""


def started(statement: str, arguments: list[str]) -> tuple[float, float, int]:
    """Processor time and time by the clock (s), and modules."""
    before, clock = os.times(), perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", COUNTED + statement, *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    after = os.times()
    cpu = after.children_user - before.children_user
    cpu += after.children_system - before.children_system
    return cpu, perf_counter() - clock, int(done.stderr)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'':20} {'CPU (s)':>8} {'clock (s)':>10} {'modules':>8}")
    for name, (statement, arguments) in STARTS.items():
        found = [started(statement, arguments) for _ in range(repeats)]
        cpu, clock = min(one[0] for one in found), min(one[1] for one in found)
        print(f"{name:20} {cpu:8.2f} {clock:10.2f} {found[0][2]:8}")


if __name__ == "__main__":
    main()
