"""``headway schema``: the JSON Schemas of the files people write."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from headway.cli.terminal import write
from headway.files import (
    faults_json_schema,
    graph_json_schema,
    library_json_schema,
    network_json_schema,
    query_json_schema,
    taskset_json_schema,
    vehicle_json_schema,
)


class FileKind(StrEnum):
    QUERY = "query"
    VEHICLE = "vehicle"
    LIBRARY = "library"
    GRAPH = "graph"
    NETWORK = "network"
    TASKSET = "taskset"
    FAULTS = "faults"


_SCHEMAS = {
    FileKind.QUERY: query_json_schema,
    FileKind.VEHICLE: vehicle_json_schema,
    FileKind.LIBRARY: library_json_schema,
    FileKind.GRAPH: graph_json_schema,
    FileKind.NETWORK: network_json_schema,
    FileKind.TASKSET: taskset_json_schema,
    FileKind.FAULTS: faults_json_schema,
}


def schema(
    kind: Annotated[FileKind, typer.Argument(help="the kind of file", show_default=False)],
) -> None:
    """Print the JSON Schema of the files people write; editors complete and check with it.

    \b
    Example:
      headway schema query > query.schema.json

    \b
    Then begin a query with this line, and editors that use the YAML language server follow it:
      # yaml-language-server: $schema=query.schema.json
    """
    write(json.dumps(_SCHEMAS[kind](), indent=2, ensure_ascii=False) + "\n")
