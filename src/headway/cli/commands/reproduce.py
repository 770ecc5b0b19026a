"""``headway reproduce``: every figure and table of the papers, ours beside theirs."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from headway.cli.terminal import (
    ExitCode,
    heading,
    sentence,
    show,
    table,
    weighted_progress,
    write,
    write_bytes,
    write_files,
    write_problem,
)
from headway.errors import EnvironmentMissing
from headway.experiments.cell_store import CellStore
from headway.experiments.reproduce import Reproduced, Reproduction, prepare
from headway.experiments.reproduce import reproduce as run_studies
from headway.experiments.run_cells import run_here, run_on_spark
from headway.experiments.studies import STUDIES, study_named
from headway.experiments.study import CellWork, Study
from headway.report import study_tables
from headway.report.study_markdown import study_markdown
from headway.report.study_page import study_page
from headway.report.study_pictures import check_png, pngs
from headway.spark.session.spark_session import check_master, is_local, owned_session
from headway.spark.session.spark_submit import ship

REPORT, VERDICTS, TABLES, TIMINGS, PICTURES = (
    "report.html", "verdicts.json", "verdicts.md", "timings.json", "pictures",
)  # fmt: skip

FEW = 3
"""studies whose claims are all shown on the screen; of more, only what differs is"""


def reproduce(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[all|NAME…]", help="which studies")
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="show the studies and stop")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="small grids: a minute or two instead of half an hour")
    ] = False,
    out: Annotated[Path, typer.Option(metavar="DIR", help="where rows and report go")] = Path(
        "build/reproduce"
    ),
    master: Annotated[
        str, typer.Option(metavar="URL", help="local[*], spark://HOST:PORT, yarn, k8s://…")
    ] = "local[*]",
    plain: Annotated[
        bool, typer.Option("--plain", help="one cell after the other in this process, no Spark")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="throw away cells computed by another version")
    ] = False,
    png: Annotated[
        bool, typer.Option("--png", help="write every picture as PNG, too, into DIR/pictures")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print the verdicts as JSON instead of tables")
    ] = False,
) -> None:
    """Run the papers' studies again and show ours beside theirs.

    \b
    Example:
      headway reproduce --list
      headway reproduce basic --quick --out build/reproduce

    The cells of all studies run as one Spark job. A finished cell is kept: after a kill, the same
    command goes on where it stopped, and the rows are the same, byte for byte.

    Writes report.html (one file, no network needed), verdicts.json, verdicts.md, timings.json
    (seconds of computing for each study), and for each study rows.parquet.

    A study may need what is not part of Headway, such as a recorded drive: `all` goes on without
    it and says what it lacks.

    Exit code: 0 fine, 1 a cell failed or rows could not be analysed, 2 bad input.
    """
    studies = _chosen(names or ["all"])
    if list_:
        _list(studies, json=json)
        return
    if not plain:
        check_master(master)
    if png:
        check_png()
    store = CellStore(out.absolute())
    if "all" not in (names or ["all"]):
        _refuse_lacking(store, studies, quick=quick)
    store.open(force=force)
    reproduction = prepare(store, studies, quick=quick)
    found = _run(reproduction, master, plain=plain, shown=not json)
    command = "headway reproduce " + " ".join(names or ["all"]) + (" --quick" if quick else "")
    verdicts = json_format.dumps(study_tables.data(found), indent=2, ensure_ascii=False) + "\n"
    page = study_page(found, command, quick=quick)
    tables = study_markdown(found, command, PICTURES if png else None)
    timings = {one.study.name: round(one.seconds, 2) for one in found if one.findings}
    told = json_format.dumps(timings, indent=2) + "\n"
    write_files(out, {REPORT: page, VERDICTS: verdicts, TABLES: tables, TIMINGS: told})
    if png:
        write_bytes(out / PICTURES, pngs(found))
    if json:
        write(verdicts)
    else:
        show(_explained(found, out))
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


def _run(reproduction: Reproduction, master: str, *, plain: bool, shown: bool) -> list[Reproduced]:
    count = len(reproduction.missing)
    total = sum(reproduction.seconds[work.study] for work in reproduction.missing)
    with weighted_progress(total, count, shown=shown, unit="cells") as advanced:

        def advance(work: CellWork) -> None:
            advanced(reproduction.seconds[work.study], work.study)

        if plain or not count:
            return run_studies(reproduction, run_here, advance)
        with (
            owned_session(master, "headway reproduce") as spark,
            TemporaryDirectory(prefix="headway-") as scratch,
        ):
            from headway.spark.batch.independent_work import run_pieces

            if not is_local(master):
                ship(spark, None, Path(scratch))
            return run_studies(
                reproduction,
                partial(run_on_spark, partial(run_pieces, spark)),
                advance,
            )


def _list(studies: Sequence[Study], *, json: bool) -> None:
    if json:
        listed: list[dict[str, Any]] = [study_tables.described(study) for study in studies]
        write(json_format.dumps(listed, indent=2, ensure_ascii=False) + "\n")
    else:
        show([table(study_tables.studies(studies))])


def _explained(found: Sequence[Reproduced], out: Path) -> list[Any]:
    parts: list[Any] = [heading("The papers' figures and tables, ours beside theirs")]
    if len(found) <= FEW:
        tables = [study_tables.verdicts(found)]
    else:
        tables = [study_tables.overview(found), study_tables.differences(found)]
    parts += [table(one) for one in tables if one.rows]
    return [*parts, sentence(study_tables.summary(found)), f"wrote {out / REPORT}"]
