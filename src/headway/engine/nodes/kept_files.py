"""Files by which a node that was killed goes on: lines of JSON with a checksum each.

    NODE.state               its checkpoint: one line, replaced at one stroke
    NODE.taken.0, .taken.1   what it has taken in since (and what its clock showed)
    NODE.sent                the frames it has made since

What is damaged is named and not believed: a checkpoint as a whole, of a journal all from the first
bad line on. A last line without its end is the usual trace of a kill, and no damage.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headway.engine.nodes.node_machine import Machine, TextFile


class DamagedFile(Exception):
    """What a file says cannot be believed; the message names it."""


def sealed(text: str) -> str:
    """A line that tells whether it is whole; the text has no end of line in it."""
    return f"{zlib.crc32(text.encode()):08x} {text}\n"


def unsealed(line: str, at: Path) -> Any:
    """The JSON of a line, which may or may not have its end."""
    checksum, _, text = line.rstrip("\n").partition(" ")
    if checksum != f"{zlib.crc32(text.encode()):08x}":
        raise DamagedFile(f"{at}: the checksum does not fit")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedFile(f"{at}: not JSON: {error}") from None


def whole_lines(machine: Machine, path: Path, start: int = 0) -> tuple[str, int]:
    """The text from that byte on without a last line that a kill has cut short, which is cut off in
    the file too; and the length of the file. Only for ASCII."""
    text = machine.read_text(path, start)
    if text is None:
        return "", 0
    whole = text[: text.rfind("\n") + 1]
    length = start + len(whole)
    if len(whole) < len(text):
        machine.cut_text(path, length)
    return whole, length


class Journal:
    """Entries since a checkpoint. The entry that marks one begins a piece of the journal."""

    def __init__(self, machine: Machine, path: Path) -> None:
        self._machine, self.path = machine, path
        self._file: TextFile | None = None
        self._waiting: list[str] = []

    def begin(self, checkpoint: int) -> None:
        """From nothing."""
        self.close()
        self._file = self._machine.open_text(self.path, append=False)
        self.mark(checkpoint)
        self.flush()

    def go_on(self) -> None:
        """Behind what is there."""
        self._file = self._machine.open_text(self.path, append=True)

    def mark(self, checkpoint: int) -> None:
        self.add(["checkpoint", checkpoint])

    def add(self, entry: Sequence[Any]) -> None:
        self._waiting.append(sealed(json.dumps(entry)))

    def flush(self) -> None:
        """What was added outlives the process."""
        if self._waiting and self._file is not None:
            self._file.write("".join(self._waiting))
            self._waiting.clear()
            self._file.flush()

    def close(self) -> None:
        """Without what was not flushed."""
        self._waiting.clear()
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def read(self) -> tuple[list[list[Any]], str]:
        """The entries up to the first that is damaged, where the file is cut off, and what is wrong
        with that one."""
        entries: list[list[Any]] = []
        text, _ = whole_lines(self._machine, self.path)
        good = 0
        for number, line in enumerate(text.split("\n")[:-1], 1):
            try:
                entries.append(unsealed(line, self.path))
            except DamagedFile as error:
                self._machine.cut_text(self.path, good)
                return entries, f"{error} in line {number}"
            good += len(line) + 1
        return entries, ""


def after_mark(entries: list[list[Any]], checkpoint: int) -> list[list[Any]] | None:
    """What stands behind the mark of a checkpoint, without later marks; None without such one."""
    marks = [place for place, entry in enumerate(entries) if entry == ["checkpoint", checkpoint]]
    if not marks:
        return None
    return [entry for entry in entries[marks[-1] + 1 :] if entry[0] != "checkpoint"]
