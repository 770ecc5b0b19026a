"""Outputs of streams as tables of Delta or Iceberg, without their Java packages.

A stream's Parquet files never change once they are seen, and each micro-batch is in files of its
own. So a table over them is a log that names them: nothing is copied, and a file that is in the
log already is not added again, whoever calls this how often. Files that a stream took back (what
the end of the input gave, when more came) leave the Delta table with the next call.

Needs the packages ``deltalake`` or ``pyiceberg`` (``pip install 'headway[tables]'``).
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from headway.errors import EnvironmentMissing, FileError, Place

if TYPE_CHECKING:
    from pyiceberg.table import Table


def add_to_delta(output: Path) -> int:
    """Makes the folder of an output (``NAME.parquet``) a Delta table, or brings its log up to what
    the stream has published since; gives how many files were new. FileError where nothing is."""
    delta = _package("deltalake")
    files = _published(output)
    schema = pq.read_schema(files[0])
    if not delta.DeltaTable.is_deltatable(str(output)):
        delta.DeltaTable.create(str(output), schema=schema, mode="ignore")
    table = delta.DeltaTable(str(output))
    there = {path.name: path for path in files}
    known = _in_log(table)
    changed = {
        name for name in known if name in there and there[name].stat().st_size != known[name]
    }
    gone = (known.keys() - there.keys()) | changed
    new = [name for name in there if name not in known or name in changed]
    columns = delta.Schema.from_arrow(schema)
    if gone:
        removed = [_removed(delta, name) for name in sorted(gone)]
        table.create_write_transaction(removed, "append", columns)
        table = delta.DeltaTable(str(output))  # what follows has seen that
    if new:
        added = [_added(delta, there[name]) for name in new]
        table.create_write_transaction(added, "append", columns)
    return len(new)


def add_to_iceberg(table: Table, output: Path) -> int:
    """Adds the files of an output's folder to a table of Iceberg that has its columns; gives how
    many were new. One call at a time: two at once may both find a file new, and Iceberg refuses
    the second."""
    _package("pyiceberg")
    known = set(table.inspect.files().column("file_path").to_pylist())
    new = [uri for path in _published(output) if (uri := path.absolute().as_uri()) not in known]
    if new:
        table.add_files(new)
    return len(new)


def _published(output: Path) -> list[Path]:
    """In the order they came."""
    found = sorted(path for path in output.glob("*.parquet") if not path.name.startswith("."))
    if not found:
        raise FileError(
            "no Parquet files of an output",
            place=Place(str(output)),
            want="name the folder NAME.parquet that a stream writes, after its first tuples",
        )
    return found


def _in_log(table: Any) -> dict[str, int]:
    """Names and sizes of the files that the table has."""
    actions = pa.table(table.get_add_actions(flatten=True))
    paths = [unquote(path) for path in actions.column("path").to_pylist()]
    return dict(zip(paths, actions.column("size_bytes").to_pylist(), strict=True))


def _added(delta: Any, path: Path) -> Any:
    status = path.stat()
    count = pq.read_metadata(path).num_rows
    return delta.transaction.AddAction(
        path.name,
        status.st_size,
        {},
        int(status.st_mtime * 1000),
        True,
        json.dumps({"numRecords": count}),
    )


def _removed(delta: Any, name: str) -> Any:
    return delta.transaction.RemoveAction(name, True, time.time_ns() // 1_000_000)


def _package(name: str) -> Any:
    from importlib import import_module

    try:
        found = import_module(name)
        if name == "deltalake":
            import_module("deltalake.transaction")
    except ModuleNotFoundError as error:
        raise EnvironmentMissing(
            f"Such tables need {error.name}. Install it with: pip install 'headway[tables]'"
        ) from None
    return found
