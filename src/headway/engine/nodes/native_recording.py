"""A recording as a native node replays it: ``NODE.rows``.

A native node reads no Parquet. Its part of a recording is written as frames of the nodes' protocol
(:mod:`headway.engine.nodes.wire_format`), a tuple each, in order of arrival; the sequence of a
frame is when its tuple arrived (microseconds). A frame without a tuple stands for one that does not
have the form its source promises: what is in it could not be written as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headway.engine.nodes.node_slice import NodeSlice
from headway.engine.nodes.wire_format import FrameKind, Sent, WireFrame, encode
from headway.engine.operators.conform import conform_function
from headway.engine.run_folder import unwritable
from headway.errors import DataError
from headway.sources.recordings import RecordedArrival, read_recording

SUFFIX = ".rows"
_TOGETHER = 4096
"""frames that are written at once"""


def write_rows(part: NodeSlice, folder: Path, path: Path, vehicle: str | None = None) -> int:
    """Writes what a recording has of the node's own sources; how many tuples. FileError or
    DataError when the recording, FileError when the file is not as it should be."""
    names = set(part.own_sources)
    sources = [source for source in part.plan.query.sources if source.name in names]
    arrivals = read_recording(folder, sources, vehicle) if sources else iter(())
    return write_arrivals(part, arrivals, path)


def write_arrivals(part: NodeSlice, arrivals: Iterable[RecordedArrival], path: Path) -> int:
    """Writes arrivals at the node's own sources, which are in order of time."""
    names = set(part.own_sources)
    streams = {stream.name: stream for stream in part.wire_streams() if stream.name in names}
    conform = {
        source.name: conform_function(source.schema)
        for source in part.plan.query.sources
        if source.name in names
    }
    waiting: list[bytes] = []
    count = 0
    try:
        with path.open("wb") as file:
            for arrived_at, source, row, _ in arrivals:
                stream = streams[source]
                try:
                    rows = [Sent(conform[source](row), 0, False)]
                except DataError:
                    rows = []
                frame = WireFrame(
                    FrameKind.ROWS,
                    stream.id,
                    stream.codec.hash,
                    arrived_at,
                    stream.codec.encode(rows),
                )
                waiting.append(encode(frame))
                count += 1
                if len(waiting) == _TOGETHER:
                    file.write(b"".join(waiting))
                    waiting.clear()
            file.write(b"".join(waiting))
    except OSError as error:
        raise unwritable(path, error) from None
    return count
