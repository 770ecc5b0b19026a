"""Keeps the frames that a node has made, in its I/O thread: written down before they are sent, and
for a checkpoint, with those not acknowledged yet and with how far the streams were numbered."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from headway.engine.nodes.kept_files import Journal
from headway.engine.nodes.node_machine import Machine
from headway.engine.nodes.wire_format import FrameKind, Sent, WireStream, decode_mark

Gone = list[tuple[int, int]]
"""(stream, sequence) of frames"""

Given = bytes | int | None
"""a tuple by its bytes, a watermark, an end"""


class SentFrames:
    """The journal of the frames made since a checkpoint, and of what befell them on one link: only
    the sender can tell which of them a receiver never got, for it names the last that it has."""

    def __init__(
        self, machine: Machine, folder: Path, node: str, on_failure: Callable[[OSError], None]
    ) -> None:
        self._journal = Journal(machine, folder / f"{node}.sent")
        self._machine = machine
        self._writes = False
        self._on_failure = on_failure

    def read(self, checkpoint: int) -> tuple[list[list[Any]], str]:
        """The frames, and what is wrong with the first that cannot be read."""
        entries, damage = self._journal.read()
        if not entries or entries[0] != ["checkpoint", checkpoint]:
            return [], damage  # the kill came between the checkpoint and its journal
        return entries[1:], damage

    def begin(self, checkpoint: int) -> None:
        self._journal.begin(checkpoint)
        self._writes = True

    def go_on(self, checkpoint: int) -> None:
        """After the frames that :meth:`read` gave."""
        entries, _ = self._journal.read()
        if entries and entries[0] == ["checkpoint", checkpoint]:
            self._journal.go_on()
            self._writes = True
        else:
            self.begin(checkpoint)

    def add(self, stream: str, kind: FrameKind, payload: bytes, tuples: int) -> None:
        if self._writes:
            self._journal.add([stream, int(kind), b64encode(payload).decode(), tuples])

    def note(self, receiver: str, gone: Gone | None) -> None:
        """Frames of one link that are no longer kept for it; None: its watermarks were numbered
        and sent again, because the receiver was started anew."""
        if self._writes:
            self._journal.add(["", receiver, gone])

    def flush(self) -> None:
        if self._writes:
            try:
                self._journal.flush()
            except OSError as error:
                self._writes = False
                self._on_failure(error)

    def close(self) -> None:
        self._writes = False
        self._journal.close()

    def remove(self) -> None:
        self._machine.remove(self._journal.path)


def frame_of(entry: list[Any]) -> tuple[str, FrameKind, bytes, int]:
    """Stream, kind, payload and tuples of a frame that was written down."""
    stream, kind, payload, tuples = entry
    return stream, FrameKind(kind), b64decode(payload), tuples


def given_in(
    frames: Iterable[list[Any]], streams: Mapping[str, WireStream]
) -> dict[str, Counter[Given]]:
    """All that these frames have given away, by stream."""
    found: dict[str, Counter[Given]] = {}
    for entry in frames:
        if not entry[0]:  # about a link
            continue
        name, kind, payload, _ = frame_of(entry)
        counts = found.setdefault(name, Counter())
        if kind is FrameKind.ROWS:
            codec = streams[name].codec
            counts.update(codec.encode([sent]) for sent in codec.decode(payload))
        else:
            counts[decode_mark(payload) if kind is FrameKind.MARK else None] += 1
    return found


def key_of(stream: WireStream, what: Sent | int | None) -> Given:
    """By what a thing is known that was given away; an error of ``UNSENDABLE`` for a tuple that
    cannot be sent."""
    return stream.codec.encode([what]) if isinstance(what, Sent) else what
