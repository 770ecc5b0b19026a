"""Where a node's outputs go: a line of JSON a tuple, or Parquet when the run is over."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TextIO

from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Output
from headway.model.schema import DataType, Field, Schema
from headway.runtime.operators.base import Row


class OutputFile(Protocol):
    """Takes the tuples of one output with the times of completion and deadline (ns)."""

    def write(self, row: Row, completed: int, deadline: int) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """Every line is on disk at once and stays if the process is killed; a restarted one goes on."""

    def __init__(self, path: Path, schema: Schema, append: bool) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.with_name(f"{path.name}.jsonl").open(
            "a" if append else "w", encoding="utf-8"
        )
        self._names = [field.name for field in schema.columns]

    def write(self, row: Row, completed: int, deadline: int) -> None:
        line = {
            "row": dict(zip(self._names, row, strict=True)),
            "completed": completed,
            "deadline": deadline,
            "missed": completed > deadline,
        }
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Parquet:
    """Columns ``completed_ns``, ``deadline_ns`` and ``missed`` besides the stream's own (with a
    ``_`` behind them where it has such a one). The file appears when the run is over, so a
    process that is killed leaves none, and one that is started again only its own."""

    def __init__(self, path: Path, schema: Schema, append: bool) -> None:
        from headway.sources.parquet_file import StreamWriter

        added = {
            "completed_ns": DataType.BIGINT,
            "deadline_ns": DataType.BIGINT,
            "missed": DataType.BOOLEAN,
        }
        fields = [Field(_free(name, schema), kind) for name, kind in added.items()]
        whole = Schema((*schema.fields, *fields))
        self._writer = StreamWriter(path.with_name(f"{path.name}.parquet"), whole, arrival=False)

    def write(self, row: Row, completed: int, deadline: int) -> None:
        self._writer.write((*row, completed, deadline, completed > deadline))

    def close(self) -> None:
        self._writer.close()


def _free(name: str, schema: Schema) -> str:
    while schema.find(name) is not None:
        name += "_"
    return name


FORMATS: dict[str, Callable[[Path, Schema, bool], OutputFile]] = {
    "jsonl": JsonLines,
    "parquet": Parquet,
}


class NodeOutputs:
    """All outputs of a node. ``also`` gets every tuple too: (output, row, completed)."""

    def __init__(
        self,
        plan: Plan,
        folder: Path | None,
        form: str,
        also: Callable[[str, Row, int], None],
        *,
        append: bool = False,
    ) -> None:
        schemas = dict(plan.schemas)
        self.counts = {output.name: [0, 0] for output in plan.query.outputs}
        """tuples and misses"""
        self._files: dict[str, OutputFile] = {}
        if folder is not None:
            for output in plan.query.outputs:
                self._files[output.name] = FORMATS[form](
                    folder / output.name, schemas[output.stream], append
                )
        self._also = also
        self.sinks = {output.name: self._sink(output) for output in plan.query.outputs}

    def _sink(self, output: Output) -> Callable[[Row, int], None]:
        name, relative, count = output.name, output.deadline or 0, self.counts[output.name]
        file = self._files.get(name)

        def take(row: Row, completed: int) -> None:
            deadline = row[0] * MICROSECOND + relative
            count[0] += 1
            count[1] += completed > deadline
            if file is not None:
                file.write(row, completed, deadline)
            self._also(name, row, completed)

        return take

    def close(self) -> None:
        for file in self._files.values():
            file.close()
