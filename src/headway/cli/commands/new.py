"""``headway new``: a small project to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headway.cli.terminal import write, write_json
from headway.engine.run_folder import write_folder
from headway.files.shipped_examples import check_free, starter_files


def new(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="what the query and its folder are called", show_default=False
        ),
    ],
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="the folder that gets the new one")
    ] = Path(),
    json: Annotated[
        bool, typer.Option("--json", help="print what was written as JSON instead of what is next")
    ] = False,
) -> None:
    """Make a small project: a query, a vehicle, ten seconds of a recording, tests and a README.

    Everything in it works at once and is there to be changed.

    \b
    Example:
      headway new brake_watch
      cd brake_watch
      headway compile query.yaml --vehicle vehicle.yaml --out build
    """
    folder = into / name
    files = starter_files(name)
    check_free([folder])
    write_folder(folder, files)
    if json:
        write_json({"folder": str(folder), "files": sorted(path.as_posix() for path in files)})
        return
    write(
        f"wrote {folder}: {', '.join(sorted({path.parts[0] for path in files}))}\n"
        "Next:\n"
        f"  cd {folder}\n"
        "  headway compile query.yaml --vehicle vehicle.yaml --out build"
        "   # then open build/plan.html\n"
        "  headway run query.yaml --engine vehicle --vehicle vehicle.yaml"
        " --input recording --output build/results\n"
        "  python -m pytest\n"
    )
