"""``headway check``: does a query hold together, whatever the vehicle?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.terminal import NoPythonOption, sentence, show, table, write_json
from headway.compiler.compilation import Compilation
from headway.compiler.front_end import check_query
from headway.compiler.python_code import refuse_python
from headway.files.load_queries import load_query, placed
from headway.model.graph import Graph
from headway.model.user_operator import find_modules_beside
from headway.report.plan.plan_tables import KEPT, Table, kind_of

if TYPE_CHECKING:
    from rich.console import RenderableType


def check(
    query: Annotated[Path, typer.Argument(metavar="QUERY.yaml", help="the query")],
    json: Annotated[
        bool, typer.Option("--json", help="print schemas or problems as JSON, for programs")
    ] = False,
    no_python: NoPythonOption = False,
) -> None:
    """Check a query by itself: names, streams, components, and the type of every expression.

    \b
    Example:
      headway check examples/tyre_watch/query.yaml

    Prints the schema of every stream. Costs, rates and deadlines are judged by `headway compile`.

    Exit code: 0 the query holds together, 2 it does not.
    """
    find_modules_beside(query)
    loaded = load_query(query)
    with placed(loaded):
        if no_python:
            refuse_python(loaded.query)
        compilation = check_query(loaded.query)
    if json:
        streams = {
            stream: {field.name: field.describe() for field in schema.columns}
            for stream, schema in compilation.schemas.items()
        }
        write_json({"ok": True, "query": compilation.query.name, "streams": streams})
    else:
        show(_explained(compilation))


def _explained(compilation: Compilation) -> Iterator[RenderableType]:
    graph = compilation.graph
    rows = [
        [stream, _maker(stream, graph), schema.describe(), str(schema.size_bytes)]
        for stream, schema in compilation.schemas.items()
    ]
    headers = ["Stream", "Made by", "Columns besides timestamp", "Bytes"]
    yield table(Table(title="Streams", headers=headers, rows=rows, numeric=(3,)))
    counts = [
        _count(len(graph.sources), "source"),
        _count(len(graph.operators), "operator"),
        _count(len(graph.outputs), "output"),
    ]
    yield sentence(f"{KEPT} {compilation.query.name} holds together: {', '.join(counts)}.")


def _maker(stream: str, graph: Graph) -> str:
    return "source" if stream in graph.sources else kind_of(graph.operators[stream])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
