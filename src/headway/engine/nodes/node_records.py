"""What a node process writes: what it notes about itself and its peers, with the machine's
monotonic time, and its outputs, as a line of JSON a tuple or as Parquet when the run is over."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from headway.engine.nodes.kept_files import whole_lines
from headway.engine.nodes.node_machine import THIS_MACHINE, Machine, TextFile
from headway.errors import FileError, Place, Problem
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Output
from headway.model.schema import DataType, Field, Schema
from headway.model.user_operator import Row

MOST_NOTED = 100
"""events of one sort and peer that are noted one by one; after that only counted"""
TAIL = 4 << 20
"""bytes of an output in which a tuple is looked for"""
MOST_TEXT = 200
"""characters of a text that came from outside"""


class EventLog:
    """Keeps events; with a path, also as a line of JSON each, written at once: they outlive a
    process that is killed."""

    def __init__(
        self,
        node: str,
        path: Path | None = None,
        *,
        append: bool = False,
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self._node, self._machine = node, machine
        self._lock = threading.RLock()  # a signal may come while an event is noted
        self.events: list[dict[str, Any]] = []
        self._noted: Counter[tuple[str, str]] = Counter()
        self.left_out: Counter[str] = Counter()
        """event -> how often it was not noted"""
        self._file: TextFile | None = None
        if path is not None:
            if append:
                whole_lines(machine, path)
            self._file = machine.open_text(path, append=append)

    def note(self, event: str, **facts: Any) -> None:
        entry = {"at": self._machine.now(), "node": self._node, "event": event, **facts}
        with self._lock:
            self.events.append(entry)
            if self._file is not None:
                # A full disk must not take the node along; what waits is written when it can be.
                with suppress(OSError):
                    self._file.write(json.dumps(entry) + "\n")
                    self._file.flush()

    def note_some(self, event: str, *, peer: str = "", **facts: Any) -> None:
        """What others can cause: however much they send, the log stays short. ``peer`` is a name
        that is known to be right; texts among the facts are cut."""
        with self._lock:
            self._noted[event, peer] += 1
            if self._noted[event, peer] > MOST_NOTED:
                self.left_out[event] += 1
                return
        cut = {k: v[:MOST_TEXT] if isinstance(v, str) else v for k, v in facts.items()}
        self.note(event, peer=peer, **cut)

    def named(self, event: str) -> list[dict[str, Any]]:
        return [entry for entry in list(self.events) if entry["event"] == event]

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                with suppress(OSError):
                    self._file.close()
                self._file = None


def read_events(path: Path) -> list[dict[str, Any]]:
    """The events of a file; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]


# -------------------------------------------------------------------- outputs


@contextmanager
def written_to(path: Path) -> Iterator[None]:
    """FileError that names the file when it cannot be written."""
    try:
        yield
    except OSError as error:
        raise FileError(
            Problem(
                f"cannot write here: {error.strerror or error}",
                place=Place(str(path)),
                want="make room on the disk, or name a folder that can be written to",
            )
        ) from None


class OutputFile(Protocol):
    """Takes the tuples of one output with the times of completion and deadline (ns). ``length``:
    of what was written, in bytes, where that outlives the process."""

    length: int | None

    def write(self, row: Row, completed: int, deadline: int) -> None: ...

    def close(self) -> None: ...


class JsonLines:
    """Every line is on disk at once and stays if the process is killed; a restarted one goes on."""

    length: int | None = 0

    def __init__(self, path: Path, schema: Schema, append: bool, machine: Machine) -> None:
        self._path = lines_file(path)
        with written_to(self._path):
            if append:
                _, self.length = whole_lines(machine, self._path)
            self._file = machine.open_text(self._path, append=append)
        self._names = [field.name for field in schema.columns]

    def write(self, row: Row, completed: int, deadline: int) -> None:
        line = {
            "row": dict(zip(self._names, row, strict=True)),
            "completed": completed,
            "deadline": deadline,
            "missed": completed > deadline,
        }
        text = json.dumps(line) + "\n"
        with written_to(self._path):
            self._file.write(text)
            self._file.flush()
        assert self.length is not None
        self.length += len(text)

    def close(self) -> None:
        with written_to(self._path):
            self._file.close()


def lines_file(path: Path) -> Path:
    """Of an output, named without an ending."""
    return path.with_name(f"{path.name}.jsonl")


class Parquet:
    """Columns ``completed_ns``, ``deadline_ns`` and ``missed`` besides the stream's own (with a
    ``_`` behind them where it has such a one). The file appears when the run is over, so a
    process that is killed leaves none, and one that is started again only its own."""

    length: int | None = None

    def __init__(self, path: Path, schema: Schema, append: bool, machine: Machine) -> None:
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


FORMATS: dict[str, Callable[[Path, Schema, bool, Machine], OutputFile]] = {
    "jsonl": JsonLines,
    "parquet": Parquet,
}


class NodeOutputs:
    """All outputs of a node. ``also`` gets every tuple too: (output, row, completed). ``before`` is
    called before a tuple leaves, and tells when it does, given when it was completed.

    With ``kept``, what a checkpoint says of them (:meth:`snapshot`), the tuples that were written
    since are not written again. Without one, what peers had no word of may come again: of the last
    ``TAIL`` bytes nothing is written again."""

    def __init__(
        self,
        plan: Plan,
        folder: Path | None,
        form: str,
        also: Callable[[str, Row, int], None],
        *,
        append: bool = False,
        machine: Machine = THIS_MACHINE,
        before: Callable[[int], int] = lambda completed: completed,
        kept: dict[str, Any] | None = None,
    ) -> None:
        schemas = dict(plan.schemas)
        self.counts = {output.name: [0, 0] for output in plan.query.outputs}
        """tuples and misses"""
        self._files: dict[str, OutputFile] = {}
        self._given: dict[str, Counter[str]] = {}
        """output -> rows that were written since the checkpoint"""
        self.not_again = 0
        self._taken_up = kept is not None
        if folder is not None:
            for output in plan.query.outputs:
                path, before_kill = folder / output.name, (kept or {}).get(output.name)
                if before_kill is not None:
                    tuples, missed, length = before_kill
                    self.counts[output.name][:] = tuples, missed
                    text, _ = whole_lines(machine, lines_file(path), length)
                    self._given[output.name] = _rows_in(text)
                elif append and kept is None:
                    text, _ = whole_lines(machine, lines_file(path))
                    self._given[output.name] = _rows_in(text[-TAIL:])
                self._files[output.name] = FORMATS[form](
                    path, schemas[output.stream], append, machine
                )
        self._names = {
            output.name: [field.name for field in schemas[output.stream].columns]
            for output in plan.query.outputs
        }
        self._also, self._before = also, before
        self.sinks = {output.name: self._sink(output) for output in plan.query.outputs}

    def _sink(self, output: Output) -> Callable[[Row, int], None]:
        name, relative, count = output.name, output.deadline or 0, self.counts[output.name]
        file, before = self._files.get(name), self._before

        def take(row: Row, completed: int) -> None:
            left = before(completed)
            deadline = row[0] * MICROSECOND + relative
            if self._given and self._was_given(name, row, count):
                self.not_again += 1
            else:
                count[0] += 1
                count[1] += left > deadline
                if file is not None:
                    file.write(row, left, deadline)
            self._also(name, row, completed)

        return take

    def _was_given(self, name: str, row: Row, count: list[int]) -> bool:
        """Whether the tuple was written before the process was killed; then it counts as it did
        then."""
        given = self._given.get(name)
        if not given:
            return False
        text = json.dumps(dict(zip(self._names[name], row, strict=True)))
        for missed in (False, True):
            if given[_key(text, missed)] > 0:
                given[_key(text, missed)] -= 1
                count[0] += 1
                count[1] += missed
                return True
        return False

    def left_over(self) -> int:
        """Tuples that were written after the checkpoint, before the process was killed, and did not
        come out again."""
        if not self._taken_up:
            return 0
        left = sum(given.total() for given in self._given.values())
        self._given = {}
        return left

    def snapshot(self) -> dict[str, Any]:
        """For each output its tuples, misses and bytes; nothing of one that does not outlive the
        process."""
        lengths = {name: file.length for name, file in self._files.items()}
        return {
            name: [*self.counts[name], length]
            for name, length in lengths.items()
            if length is not None
        }

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _rows_in(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in text.split("\n")[:-1]:
        with suppress(ValueError, KeyError, TypeError):  # somebody else wrote there
            entry = json.loads(line)
            found[_key(json.dumps(entry["row"]), entry["missed"])] += 1
    return found


def _key(row: str, missed: bool) -> str:
    return f"{row} {missed}"
