"""``headway reproduce``: every figure and table of the papers, ours beside theirs.

Headway finds it through the entry point group ``headway.commands``. What it does is imported when
it is called, so that other commands start no later for it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


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
    from headway_studies.reproduction import Wanted, list_studies, reproduce_studies

    wanted = Wanted(
        names=tuple(names or ("all",)), quick=quick, out=out, master=None if plain else master,
        force=force, png=png, json=json,
    )  # fmt: skip
    if list_:
        list_studies(wanted)
    else:
        reproduce_studies(wanted)
