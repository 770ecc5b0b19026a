"""The sockets of a simulated host: ends of connections, listening ones, pairs inside a process, and
the selector that watches them. What they raise is what :mod:`socket` raises."""

from __future__ import annotations

import errno
import selectors
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from headway.engine.nodes.node_machine import Address, NodeSocket, Selected
from headway.model.quantities import SECOND
from headway.simulation.turns import SimulatedTask, Turns

if TYPE_CHECKING:
    from headway.simulation.simulated_network import BytePipe, SimulatedNetwork

MOST_ATTEMPTS = 128
"""connections that wait to be accepted"""
MOST_IN_PAIR = 4096
"""bytes"""


class SocketOwner(Protocol):
    """The process whose sockets they are: ``check`` is asked before each call, and may end it."""

    turns: Turns

    def check(self) -> None: ...

    def adopt(self, sock: SimulatedSocket, /) -> NodeSocket:
        """It is closed when the process ends."""


class SimulatedSocket:
    """What all sorts share; a call that makes no sense for one is refused as the system would."""

    def __init__(self, owner: SocketOwner) -> None:
        self.machine = owner
        self.watcher: SimulatedSelector | None = None
        self.waiter: SimulatedTask | None = None
        self.closed = False
        self.timeout: float | None = None

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return False

    def notify(self) -> None:
        turns = self.machine.turns
        if self.watcher is not None and self.watcher.task is not None:
            turns.wake(self.watcher.task)
        if self.waiter is not None:
            turns.wake(self.waiter)

    def fileno(self) -> int:
        return -1 if self.closed else id(self)

    def setblocking(self, flag: bool, /) -> None:
        self.timeout = None if flag else 0.0

    def settimeout(self, value: float | None, /) -> None:
        self.timeout = value

    def setsockopt(self, level: int, option: int, value: int, /) -> None:
        self.check_open()

    def getsockopt(self, level: int, option: int, /) -> int:
        self.check_open()
        return 0

    def connect_ex(self, address: Address, /) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    def accept(self) -> tuple[NodeSocket, Address]:
        raise OSError(errno.EINVAL, "Invalid argument")

    def send(self, data: bytes | bytearray, /) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    def recv(self, most: int, /) -> bytes:
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    def shutdown(self, how: int, /) -> None:
        self.check_open()

    def close(self) -> None:
        self.machine.check()
        self.release()

    def release(self) -> None:
        """What the system does with it when its process ends."""
        self.closed = True

    def check_open(self) -> None:
        self.machine.check()
        if self.closed:
            raise OSError(errno.EBADF, "Bad file descriptor")

    def await_(self, ready: str) -> None:
        """Waits as long as its time limit says; BlockingIOError or TimeoutError after that."""
        if self.timeout == 0.0:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        turns = self.machine.turns
        limit = None if self.timeout is None else turns.now + int(self.timeout * SECOND)
        while not getattr(self, ready)():
            if limit is not None and turns.now >= limit:
                raise TimeoutError("timed out")
            self.waiter = turns.current
            turns.wait(limit)
            self.waiter = None
            self.check_open()


class StreamEnd(SimulatedSocket):
    """One end of a connection, or of an attempt at one."""

    def __init__(self, network: SimulatedNetwork, host: str, owner: SocketOwner) -> None:
        super().__init__(owner)
        self.network, self.host = network, host
        self.address: Address = (host, 0)
        self.other: StreamEnd | None = None
        self.received = bytearray()
        self.vanished = False
        """its host lost power; nobody was told"""
        self._pipe: BytePipe | None = None
        self._error = 0
        self._established = False
        self._ended = False
        """nothing more comes"""
        self._said_end = False

    # ---------------------------------------------------------------- what befalls it

    def join(self, other: StreamEnd | None) -> None:
        """It is the accepted end of a connection."""
        self.other = other
        self._open_pipe()

    def establish(self) -> None:
        if not self.closed and not self._error:
            self._open_pipe()
            self.notify()

    def _open_pipe(self) -> None:
        from headway.simulation.simulated_network import BytePipe

        self._established = True
        self.network.remember(self)
        if self.other is not None:
            self._pipe = BytePipe(self.network, self, self.other)

    def refuse(self, error: int) -> None:
        if not self._established and not self.closed and self.other is None:
            self._error = error
            self.notify()

    def reset(self, error: int) -> None:
        if self.closed or self.vanished or self._error:
            return
        self._error = error
        self.network.forget(self)
        self.notify()

    def take(self, data: bytes) -> None:
        if data:
            self.received += data
        else:
            self._ended = True
        self.notify()

    # ---------------------------------------------------------------- calls of its process

    def readable(self) -> bool:
        return bool(self.received or self._ended or self._error)

    def writable(self) -> bool:
        if self._error:
            return True
        return self._established and (self._pipe is None or self._pipe.room() > 0)

    def getsockopt(self, level: int, option: int, /) -> int:
        self.check_open()
        return self._error

    def connect_ex(self, address: Address, /) -> int:
        self.check_open()
        self.network.connect(self, address)
        return errno.EINPROGRESS

    def send(self, data: bytes | bytearray, /) -> int:
        self.check_open()
        if not self.writable():
            self.await_("writable")
        if self._error or self._said_end or self._pipe is None:
            raise BrokenPipeError(self._error or errno.EPIPE, "Broken pipe")
        most = min(len(data), self._pipe.room())
        if most > 1 and self.network.turns.random.random() < 0.1:
            most = self.network.turns.random.randrange(1, most)
        self._pipe.push(bytes(data[:most]))
        return most

    def recv(self, most: int, /) -> bytes:
        self.check_open()
        if not self.readable():
            self.await_("readable")
        if self.received:
            data = bytes(self.received[:most])
            del self.received[:most]
            if self.other is not None:
                self.other.notify()
            return data
        if self._error:
            raise ConnectionResetError(self._error, "Connection reset by peer")
        return b""

    def shutdown(self, how: int, /) -> None:
        self.check_open()
        if self._error or not self._established:
            raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")
        self._say_end()

    def _say_end(self) -> None:
        if not self._said_end and self._pipe is not None:
            self._said_end = True
            self._pipe.push(b"")

    def release(self) -> None:
        if self.closed:
            return
        self.closed = True
        self.network.forget(self)
        if self._error or self.vanished or self.other is None or not self._established:
            return
        if self.received:  # what was not read is gone, and the other side is to know
            turns, other = self.network.turns, self.other
            at = turns.now + self.network.delay(self.host, other.host)
            network = self.network
            turns.at(
                at,
                lambda: network.when_reached(
                    self.host, other.host, lambda: other.reset(errno.ECONNRESET)
                ),
            )
        else:
            self._say_end()

    def vanish(self) -> None:
        self.vanished = True
        self.network.forget(self)


class Listening(SimulatedSocket):
    """Accepts connections that the system has already answered."""

    def __init__(
        self, network: SimulatedNetwork, host: str, address: Address, owner: SocketOwner
    ) -> None:
        super().__init__(owner)
        self._network, self._address = network, address
        network.listen(host, address, self)
        self._arrived: deque[StreamEnd] = deque()

    @property
    def is_full(self) -> bool:
        return len(self._arrived) >= MOST_ATTEMPTS

    def arrive(self, end: StreamEnd) -> None:
        self._arrived.append(end)
        self.notify()

    def readable(self) -> bool:
        return bool(self._arrived)

    def accept(self) -> tuple[NodeSocket, Address]:
        self.check_open()
        if not self._arrived:
            self.await_("readable")
        end = self._arrived.popleft()
        return self.machine.adopt(end), end.address

    def release(self) -> None:
        if not self.closed:
            self.closed = True
            self._network.stop_listening(self._address)
            for end in self._arrived:
                end.received += b"?"  # never read: the other side is reset
                end.release()

    def vanish(self) -> None:
        self.closed = True
        self._network.stop_listening(self._address)
        for end in self._arrived:
            end.vanish()


class PairSocket(SimulatedSocket):
    """One of two that talk inside a process."""

    def __init__(self, owner: SocketOwner) -> None:
        super().__init__(owner)
        self.other: PairSocket | None = None
        self._received = bytearray()

    def readable(self) -> bool:
        return bool(self._received)

    def writable(self) -> bool:
        return self.other is not None and len(self.other._received) < MOST_IN_PAIR

    def send(self, data: bytes | bytearray, /) -> int:
        self.check_open()
        if not self.writable():
            self.await_("writable")
        assert self.other is not None
        self.other._received += data
        self.other.notify()
        return len(data)

    def recv(self, most: int, /) -> bytes:
        self.check_open()
        if not self._received:
            self.await_("readable")
        data = bytes(self._received[:most])
        del self._received[:most]
        return data


@dataclass(slots=True)
class Ready:
    """What a selector gives for a socket."""

    fileobj: object


class SimulatedSelector:
    """One task may wait in it."""

    def __init__(self, owner: SocketOwner) -> None:
        self._machine = owner
        self._watched: dict[SimulatedSocket, int] = {}
        self.task: SimulatedTask | None = None

    def register(self, fileobj: NodeSocket, events: int, /) -> object:
        self._machine.check()
        sock = cast(SimulatedSocket, fileobj)
        if sock in self._watched:
            raise KeyError(f"{fileobj!r} is already registered")
        self._watched[sock] = events
        sock.watcher = self
        return None

    def modify(self, fileobj: NodeSocket, events: int, /) -> object:
        self._machine.check()
        sock = cast(SimulatedSocket, fileobj)
        if sock not in self._watched:
            raise KeyError(f"{fileobj!r} is not registered")
        self._watched[sock] = events
        return None

    def unregister(self, fileobj: NodeSocket, /) -> object:
        self._machine.check()
        sock = cast(SimulatedSocket, fileobj)
        del self._watched[sock]
        sock.watcher = None
        return None

    def select(self, timeout: float | None, /) -> Sequence[tuple[Selected, int]]:
        machine, turns = self._machine, self._machine.turns
        machine.check()
        limit = None if timeout is None else turns.now + max(0, int(timeout * SECOND))
        found = self._ready()
        while not found and (limit is None or turns.now < limit):
            self.task = turns.current
            turns.wait(limit)
            self.task = None
            machine.check()
            found = self._ready()
        if len(found) > 1:
            turns.random.shuffle(found)
        return found

    def _ready(self) -> list[tuple[Selected, int]]:
        found: list[tuple[Selected, int]] = []
        for sock, events in self._watched.items():
            mask = 0
            if events & selectors.EVENT_READ and sock.readable():
                mask |= selectors.EVENT_READ
            if events & selectors.EVENT_WRITE and sock.writable():
                mask |= selectors.EVENT_WRITE
            if mask:
                found.append((Ready(sock), mask))
        return found

    def close(self) -> None:
        for sock in self._watched:
            sock.watcher = None
        self._watched.clear()
