"""``headway vss``: the signals of a COVESA Vehicle Signal Specification, as a source of a query."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import terminal
from headway.errors import InputError
from headway.files.vss_tree import VssSignal, load_vss, source_text
from headway.report.plan.plan_tables import NONE, Table


class VssTask(StrEnum):
    LIST = "list"
    IMPORT = "import"


def vss(
    task: Annotated[VssTask, typer.Argument(help="list signals, or import them as a source")],
    tree: Annotated[
        Path, typer.Argument(metavar="TREE", help="the folder of a VSS tree, or exported JSON")
    ],
    signal: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="a signal; * and ? stand for any letters (default: all)"),
    ] = None,
    source: Annotated[
        str, typer.Option(metavar="NAME", help="import: what the source is called")
    ] = "signals",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="import: write it there, not here")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="list: print the signals as JSON")] = False,
) -> None:
    """List the signals of a Vehicle Signal Specification, or make a source of a query of them.

    \b
    Example:
      headway vss list spec --signal 'Vehicle.Acceleration.*'
      headway vss import spec --signal Vehicle.Speed --source motion --out motion.yaml

    TREE is the folder with VehicleSignalSpecification.vspec, or the JSON that COVESA's tools
    export. The source has a column for each signal, with its type and unit; a comment says how the
    address of its messages names them for `headway live`. Signals that no column can hold (arrays,
    uint64) are named and left out.

    Exit code: 0 fine, 2 bad input.
    """
    catalogue = load_vss(tree)
    found = catalogue.matching(signal or ["*"])
    if task is VssTask.LIST:
        if json:
            terminal.write_json({"signals": [_data(one) for one in found]})
        else:
            terminal.show([terminal.table(_table(found))])
        return
    if not signal:
        raise InputError("no signal is named", at="--signal", want="name those of the source")
    held = [one for one in found if one.type is not None]
    for one in found:
        if one.type is None:
            terminal.write_problem(f"left out: {one.name} is {one.datatype}, no column can hold it")
    if not held:
        raise InputError("no signal is left", at="--signal", got=", ".join(signal))
    text = source_text(catalogue, source, held)
    if out is None:
        terminal.write(text)
    else:
        terminal.write_files(out.parent, {out.name: text})
        terminal.write(f"wrote {out}\n")


def _data(one: VssSignal) -> dict[str, str | None]:
    return {
        "name": one.name,
        "kind": one.kind,
        "datatype": one.datatype,
        "unit": one.unit or None,
        "column": None if one.type is None else one.column_type,
        "description": one.description,
    }


def _table(found: list[VssSignal]) -> Table:
    rows = [
        [one.name, one.kind, one.column_type if one.type is not None else NONE, one.description]
        for one in found
    ]
    return Table(
        title=f"{len(found)} signals", headers=["Signal", "Kind", "Column", "What"], rows=rows
    )
