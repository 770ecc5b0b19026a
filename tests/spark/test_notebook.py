"""The notebook for users of Spark runs from its first cell to its last, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import headway
from headway.spark.session.java_runtime import java_home

NOTEBOOK = Path("examples/notebooks/fleet_on_spark.ipynb")


def test_the_notebook_runs() -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in cells)
    program = "\n".join(code) + "\nassert same and len(warnings) > 50, len(warnings)\n"
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYTHONPATH": str(Path(headway.__file__).parents[1]),
    }
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
