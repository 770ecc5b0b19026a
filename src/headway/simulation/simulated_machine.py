"""A simulated host of a node: its clock, which runs a little fast or slow, its disk, which may be
full, its processor, which may be slow; and a process on it, which may end at any call."""

from __future__ import annotations

import errno
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headway.engine.clock import WallClock
from headway.engine.jobs import NEVER
from headway.engine.nodes.node_machine import Address, NodeSelector, NodeSocket, TextFile
from headway.model.quantities import SECOND
from headway.simulation.simulated_network import SimulatedNetwork
from headway.simulation.simulated_sockets import (
    Listening,
    PairSocket,
    SimulatedSelector,
    SimulatedSocket,
    StreamEnd,
)
from headway.simulation.turns import Halted, SimulatedTask, Turns

BILLION = 1_000_000_000


class HostClock:
    """Shows ``base`` at the beginning and runs ``drift`` billionths too fast."""

    def __init__(self, turns: Turns, base: int, drift: int) -> None:
        self._turns, self._base, self._rate = turns, base, BILLION + drift

    def now(self) -> int:
        return self.at(self._turns.now)

    def at(self, time: int) -> int:
        """What it shows at a time of the world."""
        return self._base + time * self._rate // BILLION

    def world_time(self, shown: int) -> int:
        """The first time of the world at which it shows that."""
        return -(-(shown - self._base) * BILLION // self._rate)


@dataclass
class SimulatedHost:
    """What outlives a process."""

    name: str
    clock: HostClock
    files: dict[Path, list[str]] = field(default_factory=dict)
    full: bool = False
    slowness: float = 1.0

    def text(self, path: Path) -> str:
        return "".join(self.files.get(path, ()))


class SimulatedFile:
    """What is written waits until it is flushed; on a full disk a part of it gets there."""

    def __init__(self, machine: SimulatedMachine, path: Path, append: bool) -> None:
        self._machine, self._waiting = machine, ""
        machine.check()
        files = machine.host.files
        if machine.host.full and path not in files:
            raise full_disk(path)
        if not append:
            files[path] = []
        self._path, self._lines = path, files.setdefault(path, [])

    def write(self, text: str, /) -> int:
        self._machine.check()
        self._waiting += text
        return len(text)

    def flush(self) -> None:
        machine = self._machine
        machine.check()
        if not self._waiting:
            return
        if machine.host.full:
            most = machine.turns.random.randrange(len(self._waiting))
            self._lines.append(self._waiting[:most])
            self._waiting = self._waiting[most:]
            raise full_disk(self._path)
        self._lines.append(self._waiting)
        machine.turns.note(machine.host.name, f"{self._path.name} {self._waiting}")
        self._waiting = ""

    def close(self) -> None:
        self.flush()


def full_disk(path: Path) -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", str(path))


class SimulatedWallClock:
    """The host's clock, for a process: operators take the time that they declare, times the
    slowness of the host."""

    def __init__(self, machine: SimulatedMachine) -> None:
        self._machine = machine

    def now(self) -> int:
        self._machine.check()
        return self._machine.host.clock.now()

    def wait(self, until: int, wake: threading.Event) -> None:
        machine = self._machine
        machine.check()
        if wake.is_set():
            return
        limit = None if until >= NEVER else machine.host.clock.world_time(until)
        machine.turns.wait(limit, wake)
        machine.check()

    def work(self, duration: int) -> None:
        machine = self._machine
        machine.check()
        if duration > 0:
            took = int(duration * machine.host.slowness)
            machine.turns.wait(machine.turns.now + took)
            machine.check()


class ProcessThread:
    """A task that is started once."""

    def __init__(self, machine: SimulatedMachine, name: str, run: Callable[[], None]) -> None:
        self._machine, self._name, self._run = machine, name, run
        self._task: SimulatedTask | None = None

    def start(self) -> None:
        self._task = self._machine.spawn(self._name, self._run)

    def join(self, timeout: float | None = None) -> None:
        task, turns = self._task, self._machine.turns
        limit = None if timeout is None else turns.now + int(timeout * SECOND)
        while task is not None and not task.over and (limit is None or turns.now < limit):
            current = turns.current
            assert current is not None
            task.joined.append(current)
            turns.wait(limit)
            self._machine.check()

    def is_alive(self) -> bool:
        return self._task is not None and not self._task.over


class SimulatedMachine:
    """The machine as one process sees it, until that ends. ``calls_left``: it ends at that call."""

    def __init__(self, turns: Turns, network: SimulatedNetwork, host: SimulatedHost) -> None:
        self.turns, self.network, self.host = turns, network, host
        self.clock: WallClock = SimulatedWallClock(self)
        self.paused = False
        self.held: list[SimulatedTask] = []
        self.over = False
        self.calls_left: int | None = None
        self.on_last_call: Callable[[], None] = lambda: None
        self._tasks: list[SimulatedTask] = []
        self._sockets: list[SimulatedSocket] = []

    def check(self) -> None:
        """Every call passes here: the process may end at any of them."""
        if self.over:
            raise Halted
        if self.calls_left is not None:
            self.calls_left -= 1
            if self.calls_left < 0:
                self.calls_left = None
                self.on_last_call()
                raise Halted

    def spawn(self, name: str, run: Callable[[], None]) -> SimulatedTask:
        task = self.turns.spawn(f"{self.host.name} {name}", self, run)
        self._tasks.append(task)
        return task

    def end(self, *, power: bool = False) -> None:
        """The process is no more. Its system closes its sockets, unless the power is gone too."""
        if self.over:
            return
        self.over = True
        for sock in self._sockets:
            if power and isinstance(sock, StreamEnd | Listening):
                sock.vanish()
            else:
                sock.release()
        self.held.clear()
        self.turns.doom([task for task in self._tasks if task is not self.turns.current])

    # ---------------------------------------------------------------- what a node calls

    def now(self) -> int:
        self.check()
        return self.host.clock.now()

    def calendar(self) -> int:
        return self.now()

    def sleep(self, duration: int) -> None:
        self.check()
        clock = self.host.clock
        self.turns.wait(clock.world_time(clock.now() + duration))
        self.check()

    def random_bytes(self, count: int) -> bytes:
        self.check()
        return self.turns.random.randbytes(count)

    def thread(self, name: str, run: Callable[[], None]) -> ProcessThread:
        return ProcessThread(self, name, run)

    def listen(self, address: Address) -> NodeSocket:
        self.check()
        return self.adopt(Listening(self.network, self.host.name, address, self))

    def open_socket(self) -> NodeSocket:
        self.check()
        return self.adopt(StreamEnd(self.network, self.host.name, self))

    def socket_pair(self) -> tuple[NodeSocket, NodeSocket]:
        self.check()
        one, other = PairSocket(self), PairSocket(self)
        one.other, other.other = other, one
        return one, other

    def adopt(self, sock: SimulatedSocket) -> NodeSocket:
        self._sockets.append(sock)
        return sock

    def selector(self) -> NodeSelector:
        return SimulatedSelector(self)

    def open_text(self, path: Path, *, append: bool) -> TextFile:
        return SimulatedFile(self, path, append)

    def replace_text(self, path: Path, text: str) -> None:
        self.check()
        if self.host.full:
            raise full_disk(path)
        self.host.files[path] = [text]
        self.turns.note(self.host.name, f"{path.name} replaced {zlib.crc32(text.encode()):08x}")
        self.check()

    def read_text(self, path: Path, start: int = 0) -> str | None:
        self.check()
        if path not in self.host.files:
            return None
        return self.host.text(path).encode()[start:].decode(errors="replace")

    def cut_text(self, path: Path, length: int) -> None:
        self.check()
        kept = self.host.text(path).encode()[:length].decode(errors="replace")
        self.host.files[path][:] = [kept]

    def remove(self, path: Path) -> None:
        self.check()
        self.host.files.pop(path, None)

    def write_text(self, path: Path, text: str) -> None:
        file = SimulatedFile(self, path, append=False)
        file.write(text)
        file.close()
