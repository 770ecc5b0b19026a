"""The machine under a node: its clock, network, disk, threads and randomness, as far as a node uses
them.

All that a node does not decide by itself comes from here, so the same code runs on this machine
(:class:`ThisMachine`: sockets, the monotonic clock, files, threads) and on a simulated one
(:mod:`headway.simulation`), where a seed decides it.
"""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from headway.engine.clock import MonotonicClock, WallClock
from headway.model.quantities import SECOND

Address = tuple[str, int]


class NodeSocket(Protocol):
    """What a node does with a stream socket; errors are those of :mod:`socket`."""

    def fileno(self) -> int: ...

    def setblocking(self, flag: bool, /) -> None: ...

    def settimeout(self, value: float | None, /) -> None: ...

    def setsockopt(self, level: int, option: int, value: int, /) -> None: ...

    def getsockopt(self, level: int, option: int, /) -> int: ...

    def connect_ex(self, address: Address, /) -> int: ...

    def accept(self) -> tuple[NodeSocket, Address]: ...

    def send(self, data: bytes | bytearray, /) -> int: ...

    def recv(self, most: int, /) -> bytes: ...

    def shutdown(self, how: int, /) -> None: ...

    def close(self) -> None: ...


class Selected(Protocol):
    @property
    def fileobj(self) -> object: ...


class NodeSelector(Protocol):
    """What a node does with a selector of :mod:`selectors`."""

    def register(self, fileobj: NodeSocket, events: int, /) -> object: ...

    def modify(self, fileobj: NodeSocket, events: int, /) -> object: ...

    def unregister(self, fileobj: NodeSocket, /) -> object: ...

    def select(self, timeout: float | None, /) -> Sequence[tuple[Selected, int]]: ...

    def close(self) -> None: ...


class NodeThread(Protocol):
    """A thread that is started once."""

    def start(self) -> None: ...

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool: ...


class TextFile(Protocol):
    """What was flushed outlives the process."""

    def write(self, text: str, /) -> int: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class Machine(Protocol):
    """Times are nanoseconds."""

    clock: WallClock

    def now(self) -> int:
        """The monotonic clock."""

    def calendar(self) -> int:
        """Since the epoch."""

    def sleep(self, duration: int) -> None: ...

    def random_bytes(self, count: int) -> bytes: ...

    def thread(self, name: str, run: Callable[[], None]) -> NodeThread: ...

    def listen(self, address: Address) -> NodeSocket: ...

    def open_socket(self) -> NodeSocket: ...

    def socket_pair(self) -> tuple[NodeSocket, NodeSocket]: ...

    def selector(self) -> NodeSelector: ...

    def open_text(self, path: Path, *, append: bool) -> TextFile:
        """Makes the folder where there is none."""

    def write_text(self, path: Path, text: str) -> None: ...

    def replace_text(self, path: Path, text: str) -> None:
        """As :meth:`write_text`, at one stroke: whoever reads the file, after a kill too, finds the
        old text or the new one."""

    def read_text(self, path: Path, start: int = 0) -> str | None:
        """From that byte on; what is no text is replaced by signs that are none. None where there
        is no such file."""

    def cut_text(self, path: Path, length: int) -> None:
        """Keeps so many bytes."""

    def remove(self, path: Path) -> None:
        """The file, where there is one."""


class ThisMachine:
    """The one this process runs on."""

    def __init__(self) -> None:
        self.clock: WallClock = MonotonicClock()

    def now(self) -> int:
        return time.monotonic_ns()

    def calendar(self) -> int:
        return time.time_ns()

    def sleep(self, duration: int) -> None:
        time.sleep(duration / SECOND)

    def random_bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)

    def thread(self, name: str, run: Callable[[], None]) -> NodeThread:
        return threading.Thread(target=run, name=name, daemon=True)

    def listen(self, address: Address) -> NodeSocket:
        return as_node_socket(socket.create_server(address))

    def open_socket(self) -> NodeSocket:
        return as_node_socket(socket.socket(socket.AF_INET, socket.SOCK_STREAM))

    def socket_pair(self) -> tuple[NodeSocket, NodeSocket]:
        one, other = socket.socketpair()
        return as_node_socket(one), as_node_socket(other)

    def selector(self) -> NodeSelector:
        return selectors.DefaultSelector()

    def open_text(self, path: Path, *, append: bool) -> TextFile:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a" if append else "w", encoding="utf-8")

    def write_text(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")

    def replace_text(self, path: Path, text: str) -> None:
        beside = path.with_name(f"{path.name}.new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)

    def read_text(self, path: Path, start: int = 0) -> str | None:
        try:
            with path.open("rb") as file:
                file.seek(start)
                return file.read().decode("utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def cut_text(self, path: Path, length: int) -> None:
        os.truncate(path, length)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)


THIS_MACHINE = ThisMachine()


def as_node_socket(sock: socket.socket) -> NodeSocket:
    """A socket's own signatures are overloaded; of them a node uses those of a NodeSocket."""
    return cast(NodeSocket, cast(Any, sock))
