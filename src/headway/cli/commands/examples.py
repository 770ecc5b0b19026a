"""``headway examples``: the examples that come with Headway, listed and copied."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.terminal import show, table, write
from headway.engine.run_folder import write_folder
from headway.files.shipped_examples import (
    check_free,
    example_files,
    example_folder,
    shipped_examples,
)
from headway.report.plan.plan_tables import Table


def examples(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="the folder that gets them; none: list them", show_default=False
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME…]", help="which of them; none: all", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print them as JSON, for programs")] = False,
) -> None:
    """List the examples that come with Headway, or copy them into a folder.

    \b
    Example:
      headway examples
      headway examples my_examples tyre_watch collision_warning
    """
    described = shipped_examples()
    if folder is None:
        if json:
            rows = [
                {"name": one.name, "title": one.title, "summary": one.summary} for one in described
            ]
            write(json_format.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        else:
            listed = [[one.name, one.title, one.summary] for one in described]
            headers = ["Name", "What it is", "What it shows"]
            show([table(Table(title="Examples", headers=headers, rows=listed))])
        return
    chosen = {
        name: example_folder(name) for name in names or [example.name for example in described]
    }
    check_free(folder / name for name in chosen)
    for name, source in chosen.items():
        write_folder(folder / name, dict(example_files(source)))
    if json:
        copied = {name: str(folder / name) for name in chosen}
        write(json_format.dumps(copied, indent=1, ensure_ascii=False) + "\n")
    else:
        write("".join(f"wrote {folder / name}\n" for name in chosen))
