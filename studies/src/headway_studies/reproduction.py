"""What ``headway reproduce`` does: runs the studies that are wanted and writes what they found."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import make_archive
from tempfile import TemporaryDirectory
from typing import Any

import typer

import headway_studies
from headway.cli.terminal import (
    ExitCode,
    heading,
    sentence,
    show,
    table,
    write,
    write_bytes,
    write_files,
    write_problem,
)
from headway.errors import EnvironmentMissing
from headway.report.chart_pages import check_drawing
from headway.spark.session.spark_session import check_master, is_local, owned_session
from headway.spark.session.spark_submit import ship
from headway_studies import report_files
from headway_studies.cell_store import CellStore
from headway_studies.registry import STUDIES, study_named
from headway_studies.report_files import pngs, study_markdown
from headway_studies.report_page import study_page
from headway_studies.run_studies import Reproduced, Reproduction, prepare, run_here, run_on_spark
from headway_studies.run_studies import reproduce as run_studies
from headway_studies.study import CellWork, Study

REPORT, VERDICTS, TABLES, TIMINGS, PICTURES = (
    "report.html", "verdicts.json", "verdicts.md", "timings.json", "pictures",
)  # fmt: skip

SPEED_OVER_S = 120.0
"""the time left is told from the speed of the last so many seconds: pieces of several seconds each
come in pairs"""
FEW = 3
"""studies whose claims are all shown on the screen; of more, only what differs is"""


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What was asked for on the command line."""

    names: tuple[str, ...]
    quick: bool
    out: Path
    master: str | None
    """None: in this process, without Spark"""
    force: bool
    png: bool
    json: bool


def reproduce_studies(wanted: Wanted) -> None:
    """Leaves with an exit code where a cell failed or rows could not be analysed."""
    studies = _chosen(wanted.names)
    if wanted.master is not None:
        check_master(wanted.master)
    check_drawing()
    store = CellStore(wanted.out.absolute())
    if "all" not in wanted.names:
        _refuse_lacking(store, studies, quick=wanted.quick)
    store.open(force=wanted.force)
    reproduction = prepare(store, studies, quick=wanted.quick)
    found = _run(reproduction, wanted.master, shown=not wanted.json)
    command = "headway reproduce " + " ".join(wanted.names) + (" --quick" if wanted.quick else "")
    verdicts = json_format.dumps(report_files.data(found), indent=2, ensure_ascii=False) + "\n"
    page = study_page(found, command, quick=wanted.quick)
    tables = study_markdown(found, command, PICTURES if wanted.png else None)
    timings = {one.study.name: round(one.seconds, 2) for one in found if one.findings}
    told = json_format.dumps(timings, indent=2) + "\n"
    write_files(wanted.out, {REPORT: page, VERDICTS: verdicts, TABLES: tables, TIMINGS: told})
    if wanted.png:
        write_bytes(wanted.out / PICTURES, pngs(found))
    if wanted.json:
        write(verdicts)
    else:
        show(_explained(found, wanted.out))
    problems = [
        *(
            f"study {cell.study}, cell {cell.cell}: {cell.error}"
            for one in found
            for cell in one.failed
        ),
        *(
            f"study {one.study.name}: its rows could not be analysed: {one.confused}"
            for one in found
            if one.confused
        ),
    ]
    for problem in problems:
        write_problem(problem)
    if problems:
        raise typer.Exit(int(ExitCode.NOT_PROMISED))


def _chosen(names: Sequence[str]) -> list[Study]:
    if "all" in names:
        return list(STUDIES.values())
    return [study_named(name) for name in dict.fromkeys(names)]


def _refuse_lacking(store: CellStore, studies: Sequence[Study], *, quick: bool) -> None:
    """What was asked for by name must be run, or have been finished before; told before anything
    is thrown away."""
    if store.is_ours():
        lacking = prepare(store, studies, quick=quick).lacking
    else:
        lacking = {study.name: lack for study in studies if (lack := study.lacks())}
    if lacking:
        told = (f"study {name}: {lack}" for name, lack in lacking.items())
        raise EnvironmentMissing("\n".join(told))


@contextmanager
def _weighted_progress(
    total: float, count: int, *, shown: bool, unit: str
) -> Iterator[Callable[[float, str], None]]:
    """For pieces of unlike size: gives a function to be called with the size and the name of each
    of ``count`` pieces. The sizes sum to ``total``, so that the time left is right although the
    large pieces come first."""
    if not shown or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    told = TextColumn("{task.fields[pieces]}")
    columns = (
        BarColumn(),
        TaskProgressColumn(),
        told,
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(
        *columns, console=Console(stderr=True), transient=True, speed_estimate_period=SPEED_OVER_S
    ) as bar:
        task = bar.add_task("", total=total, pieces=f"0/{count:,} {unit}")
        done = 0

        def advance(size: float, name: str) -> None:
            nonlocal done
            done += 1
            bar.update(task, advance=size, pieces=f"{done:,}/{count:,} {unit}, {name}")

        yield advance


def _run(reproduction: Reproduction, master: str | None, *, shown: bool) -> list[Reproduced]:
    count = len(reproduction.missing)
    total = sum(reproduction.seconds[work.study] for work in reproduction.missing)
    with _weighted_progress(total, count, shown=shown, unit="cells") as advanced:

        def advance(work: CellWork) -> None:
            advanced(reproduction.seconds[work.study], work.study)

        if master is None or not count:
            return run_studies(reproduction, run_here, advance)
        with (
            owned_session(master, "headway reproduce") as spark,
            TemporaryDirectory(prefix="headway-") as scratch,
        ):
            from headway_studies.independent_work import run_pieces

            if not is_local(master):
                ship(spark, None, Path(scratch))
                spark.sparkContext.addPyFile(_zipped(Path(scratch)))
            return run_studies(
                reproduction,
                partial(run_on_spark, partial(run_pieces, spark)),
                advance,
            )


def _zipped(folder: Path) -> str:
    """This package for the Pythons of a cluster, behind Headway itself."""
    package = Path(headway_studies.__file__).parent
    return make_archive(str(folder / package.name), "zip", package.parent, package.name)


def list_studies(wanted: Wanted) -> None:
    """Shows the chosen studies; runs none."""
    studies = _chosen(wanted.names)
    if wanted.json:
        listed: list[dict[str, Any]] = [report_files.described(study) for study in studies]
        write(json_format.dumps(listed, indent=2, ensure_ascii=False) + "\n")
    else:
        show([table(report_files.studies(studies))])
    for refused in STUDIES.refused().values():
        write_problem(f"warning: {refused}")


def _explained(found: Sequence[Reproduced], out: Path) -> list[Any]:
    parts: list[Any] = [heading("The papers' figures and tables, ours beside theirs")]
    if len(found) <= FEW:
        tables = [report_files.verdicts(found)]
    else:
        tables = [
            report_files.overview(found),
            report_files.by_origin(found),
            report_files.differences(found),
        ]
    parts += [table(one) for one in tables if one.rows]
    return [*parts, sentence(report_files.summary(found)), f"wrote {out / REPORT}"]
