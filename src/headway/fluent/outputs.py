"""What a component's use gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headway.fluent.stream import Stream
from headway.fluent.values import refuse


class Outputs:
    """The output streams of a component's use: ``own.vehicle`` or ``own['vehicle']``."""

    def __init__(self, use: str, streams: Mapping[str, Stream]) -> None:
        self._use = use
        self._streams = dict(streams)

    def __getitem__(self, port: str) -> Stream:
        if port not in self._streams:
            known = ", ".join(self._streams) or "none"
            raise refuse(
                f"no output '{port}'", f"operators.{self._use}", want=f"its outputs: {known}"
            )
        return self._streams[port]

    def __getattr__(self, port: str) -> Stream:
        if port.startswith("_"):  # notebooks and copy() ask for such names
            raise AttributeError(port)
        return self[port]

    def __iter__(self) -> Iterator[str]:
        return iter(self._streams)
