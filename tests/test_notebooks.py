"""Notebooks run from the first cell to the last, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from headway.spark.session.java_runtime import java_home

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
SHOWN = {
    "compare_policies": "urgent = runs[runs.output == 'urgent'].groupby('policy').longest.max()\n"
    "assert urgent['s-edf'] < 0.7 * min(urgent['fifo+'], urgent['pcs']), urgent",
    "fleet_on_spark": "assert same and len(warnings) > 50, len(warnings)",
    "write_an_operator": "assert same and len(turning) == len(whole) > 5 and set(found['kind']) == "
    "{'peak', 'trough'}",
}
"""what must be seen at the end of each"""


def code_of(notebook: Path) -> str:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert not any(cell.get("outputs") for cell in cells), f"{notebook.name}: clear its outputs"
    return "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def test_every_notebook_is_run_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name: str) -> None:
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(Path(headway.__file__).parents[1]),
    }
    if name == "fleet_on_spark":
        environment["JAVA_HOME"] = str(java_home())
    done = subprocess.run(
        [sys.executable, "-c", f"{code_of(FOLDER / f'{name}.ipynb')}\n{SHOWN[name]}\n"],
        cwd=FOLDER,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
