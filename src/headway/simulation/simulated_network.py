"""The network between simulated hosts, with what TCP does: bytes in order or a connection that
breaks, refused and unanswered attempts, half-closed and reset ends.

What the network loses comes later (TCP sends it again), so on one connection nothing is lost,
doubled or overtaken; between two connections everything may be. Behind a partition, and before a
host without power, bytes wait.
"""

from __future__ import annotations

import errno
import zlib
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from headway.engine.nodes.node_machine import Address
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND
from headway.simulation.simulated_sockets import Listening, StreamEnd
from headway.simulation.turns import Turns

SHORTEST = 20 * MICROSECOND
"""that a message takes, whatever the plan says"""
MOST_TIMES_LOST = 4
FIRST_ATTEMPT = SECOND
"""until a lost attempt to connect is made again"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkManners:
    """How all links behave all the time; times in nanoseconds. ``loss`` and ``corrupt`` are the
    shares of segments that are lost (they come after ``retransmit``, doubled each time) and damaged
    so that TCP's checksum does not see it; ``doubled`` that of attempts to connect that come twice.
    ``window``: bytes under way on a connection."""

    jitter: int = 0
    loss: float = 0.0
    retransmit: int = 200 * MILLISECOND
    corrupt: float = 0.0
    doubled: float = 0.0
    window: int = 64 << 10


Pair = tuple[str, str]


def pair_of(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


class SimulatedNetwork:
    """``delays``: the longest that a message takes between two hosts when nothing is wrong."""

    def __init__(self, turns: Turns, manners: LinkManners, delays: Mapping[Pair, int]) -> None:
        self.turns, self.manners = turns, manners
        self._delays = delays
        self._listening: dict[Address, Listening] = {}
        self._cut: set[Pair] = set()
        self._dark: set[str] = set()
        self._after: list[tuple[str, str, Callable[[], None]]] = []
        """what waits for two hosts to hear each other"""
        self._ends: dict[StreamEnd, None] = {}
        self._ports = 40_000

    # ---------------------------------------------------------------- faults

    def cut(self, one: str, other: str) -> None:
        self._cut.add(pair_of(one, other))

    def mend(self, one: str, other: str) -> None:
        self._cut.discard(pair_of(one, other))
        self._go_on()

    def darken(self, host: str) -> None:
        """The host loses power."""
        self._dark.add(host)

    def lighten(self, host: str) -> None:
        self._dark.discard(host)
        self._go_on()

    def break_connections(self, one: str, other: str) -> None:
        """Somebody between the two hosts resets all their connections."""
        for end in list(self._ends):
            if end.other is not None and pair_of(end.host, end.other.host) == pair_of(one, other):
                end.reset(errno.ECONNRESET)

    def reach(self, one: str, other: str) -> bool:
        return pair_of(one, other) not in self._cut and not {one, other} & self._dark

    def _go_on(self) -> None:
        waiting, self._after = self._after, []
        for one, other, call in waiting:
            if self.reach(one, other):
                wait = self.turns.random.randrange(self.manners.retransmit + 1)
                self.turns.at(self.turns.now + wait, call)
            else:
                self._after.append((one, other, call))

    def when_reached(self, one: str, other: str, call: Callable[[], None]) -> None:
        """At once, or some time after the two hear each other again."""
        if self.reach(one, other):
            call()
        else:
            self._after.append((one, other, partial(self.when_reached, one, other, call)))

    def delay(self, one: str, other: str) -> int:
        """Of one message now, if it is not lost."""
        most = max(SHORTEST, self._delays.get(pair_of(one, other), SHORTEST))
        random = self.turns.random
        return random.randrange(most // 2, most + 1) + random.randrange(self.manners.jitter + 1)

    # ---------------------------------------------------------------- listening and connecting

    def listen(self, host: str, address: Address, end: Listening) -> None:
        if address in self._listening:
            raise OSError(errno.EADDRINUSE, "Address already in use")
        self._listening[address] = end

    def stop_listening(self, address: Address) -> None:
        self._listening.pop(address, None)

    def connect(self, end: StreamEnd, address: Address) -> None:
        attempt = partial(self._attempt_arrives, end, address)
        random = self.turns.random
        for _ in range(1 + (random.random() < self.manners.doubled)):
            late = FIRST_ATTEMPT if random.random() < self.manners.loss else 0
            at = self.turns.now + self.delay(end.host, address[0]) + late
            self.turns.at(at, partial(self.when_reached, end.host, address[0], attempt))

    def _attempt_arrives(self, end: StreamEnd, address: Address) -> None:
        turns, back = self.turns, self.delay(address[0], end.host)
        listening = self._listening.get(address)
        if listening is None or listening.is_full:
            turns.at(turns.now + back, partial(end.refuse, errno.ECONNREFUSED))
            return
        self._ports += 1
        server = StreamEnd(self, address[0], listening.machine)
        server.address = (end.host, self._ports)
        if end.other is not None or end.closed:  # it came twice, or too late: nobody is there
            server.join(None)
            listening.arrive(server)
            turns.at(turns.now + 2 * back, partial(server.reset, errno.ECONNRESET))
            return
        server.join(end)
        end.other = server
        listening.arrive(server)
        self.turns.note("network", f"{end.host} connects to {address[0]}")
        turns.at(turns.now + back, partial(self.when_reached, address[0], end.host, end.establish))

    def remember(self, end: StreamEnd) -> None:
        self._ends[end] = None

    def forget(self, end: StreamEnd) -> None:
        self._ends.pop(end, None)


# -------------------------------------------------------------------- one direction


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that come at ``due`` or later; none of them: the end."""

    due: int
    data: bytes


class BytePipe:
    """From one end of a connection to the other, in order."""

    def __init__(self, network: SimulatedNetwork, sender: StreamEnd, receiver: StreamEnd) -> None:
        self._network, self._sender, self._receiver = network, sender, receiver
        self._under_way: deque[Segment] = deque()
        self._last_due = 0
        self.bytes = 0
        """under way"""

    def room(self) -> int:
        return self._network.manners.window - self.bytes - len(self._receiver.received)

    def push(self, data: bytes) -> None:
        """Bytes; none: nothing more comes."""
        network, turns = self._network, self._network.turns
        manners, random = network.manners, turns.random
        due = turns.now + network.delay(self._sender.host, self._receiver.host)
        wait, times = manners.retransmit, 0
        while times < MOST_TIMES_LOST and manners.loss and random.random() < manners.loss:
            due, wait, times = due + wait, 2 * wait, times + 1
        if data and manners.corrupt and random.random() < manners.corrupt:
            place = random.randrange(len(data))
            data = (
                data[:place] + bytes([data[place] ^ 1 << random.randrange(8)]) + data[place + 1 :]
            )
        self._last_due = due = max(due, self._last_due)
        self._under_way.append(Segment(due, data))
        self.bytes += len(data)
        if len(self._under_way) == 1:
            turns.at(due, self._arrive)

    def _arrive(self) -> None:
        self._network.when_reached(self._sender.host, self._receiver.host, self._deliver)

    def _deliver(self) -> None:
        if not self._under_way:
            return
        segment = self._under_way.popleft()
        self.bytes -= len(segment.data)
        if self._under_way:
            self._network.turns.at(self._under_way[0].due, self._arrive)
        sender, receiver = self._sender, self._receiver
        if segment.data:
            where = f"{sender.host}-{receiver.host}"
            self._network.turns.note(where, f"{len(segment.data)} {zlib.crc32(segment.data):08x}")
        if receiver.closed or receiver.vanished:
            if segment.data or receiver.vanished:
                sender.reset(errno.EPIPE)
            return
        receiver.take(segment.data)
