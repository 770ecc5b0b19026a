"""The I/O thread of a node process: all its connections, without ever waiting for one of them, and
who is there: peers are heard of, fall silent, come back, or say good-bye.

Whoever sends a stream connects to whoever receives it. Both sides speak at least once a heartbeat.
Frames of a stream are numbered; the receiver says on every connection how far it got, so nothing
is lost or doubled by a reconnect. Whatever is wrong with a connection ends the connection, never
the process.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from headway.engine.nodes.links import (
    Address,
    Connection,
    Incoming,
    Outgoing,
    Packer,
    PeerHandler,
    say_goodbye,
)
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.wire_format import (
    BadFrame,
    FrameKind,
    Sent,
    WireFrame,
    WireStream,
    decode_about,
    decode_positions,
    encode_about,
    read_positions,
)
from headway.model.quantities import MILLISECOND, SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTiming:
    """All in nanoseconds. A peer not heard of for ``missed`` heartbeats is lost. Reconnecting
    starts after ``first_retry`` and backs off to ``slowest_retry``. ``give_up``: how long a node
    waits for a lost peer's streams when all else has ended; ``start``: for a peer to appear;
    ``linger``: until those who are there have acknowledged everything."""

    heartbeat: int = 50 * MILLISECOND
    missed: int = 3
    first_retry: int = 20 * MILLISECOND
    slowest_retry: int = 500 * MILLISECOND
    give_up: int = 5 * SECOND
    start: int = 20 * SECOND
    linger: int = 30 * SECOND

    @property
    def silence(self) -> int:
        return self.heartbeat * self.missed


@dataclass(slots=True)
class _Peer:
    heard: int
    alive: bool = False
    seen: bool = False
    finished: bool = False
    lost_at: int | None = None


class Liveness:
    """Decides, notes and tells; lives in the I/O thread."""

    def __init__(
        self,
        peers: Iterable[str],
        timing: PeerTiming,
        log: EventLog,
        now: int,
        on_lost: Callable[[str], None],
        on_back: Callable[[str], None],
    ) -> None:
        self._peers = {name: _Peer(now) for name in sorted(peers)}
        self._timing, self._log = timing, log
        self._on_lost, self._on_back = on_lost, on_back

    def heard(self, name: str, at: int) -> None:
        """A frame came from the peer."""
        peer = self._peers.get(name)
        if peer is None:
            return
        peer.heard = max(peer.heard, at)
        if not peer.alive:
            event = "peer back" if peer.seen else "peer found"
            if peer.lost_at is not None:
                self._on_back(name)
            peer.alive = peer.seen = True
            peer.finished = False
            peer.lost_at = None
            self._log.note(event, peer=name)

    def finished(self, name: str) -> None:
        peer = self._peers.get(name)
        if peer is not None and not peer.finished:
            peer.finished, peer.alive = True, False
            self._log.note("peer finished", peer=name)

    def refused(self, name: str, now: int) -> None:
        """Nobody listens where the peer was: it need not be waited for."""
        peer = self._peers[name]
        if peer.alive:
            self._lose(name, peer, now, "its connection closed and its port refuses new ones")

    def check(self, now: int, stalled: int) -> None:
        """Finds the silent. ``stalled``: how long this process itself was not running; that is no
        fault of theirs."""
        for name, peer in self._peers.items():
            peer.heard += stalled
            silent = now - peer.heard
            if peer.alive and silent > self._timing.silence:
                limit = self._timing.silence / MILLISECOND
                reason = f"not heard of for {silent / MILLISECOND:.0f} ms (limit {limit:.0f} ms)"
                self._lose(name, peer, now, reason)
            elif not peer.seen and peer.lost_at is None and silent > self._timing.start:
                self._lose(name, peer, now, "it never appeared")

    def _lose(self, name: str, peer: _Peer, now: int, reason: str) -> None:
        peer.alive, peer.lost_at = False, now
        self._log.note("peer lost", peer=name, reason=reason, silent_ns=now - peer.heard)
        self._on_lost(name)

    def lost_since(self, name: str) -> int | None:
        """When the peer was lost; None if it is there, has finished or is still awaited."""
        return self._peers[name].lost_at

    def is_gone(self, name: str) -> bool:
        peer = self._peers[name]
        return peer.finished or peer.lost_at is not None


# -------------------------------------------------------------------- the I/O thread


class Peers(threading.Thread):
    """``sends``: receiver -> the streams it wants. ``senders``: from whom streams come."""

    def __init__(
        self,
        name: str,
        *,
        fingerprint: str,
        streams: Iterable[WireStream],
        sends: Mapping[str, Iterable[str]],
        senders: Iterable[str],
        addresses: Mapping[str, Address],
        handler: PeerHandler,
        log: EventLog,
        timing: PeerTiming,
        listener: socket.socket | None = None,
        most_kept: int = 4096,
    ) -> None:
        super().__init__(name=f"peers of {name}", daemon=True)
        now = time.monotonic_ns()
        self._me, self._fingerprint = name, fingerprint
        self._incarnation = f"{time.time_ns():x}"
        self._by_id = {stream.id: stream for stream in streams}
        self._by_name = {stream.name: stream for stream in self._by_id.values()}
        self._handler, self._log, self._timing = handler, log, timing
        self._links = {
            receiver: Outgoing(
                receiver,
                addresses[receiver],
                frozenset(self._by_name[s].id for s in wanted),
                most_kept,
            )
            for receiver, wanted in sends.items()
        }
        self._packer = Packer(self._by_name, self._links.values(), log)
        self.incoming = Incoming(name, self._incarnation, fingerprint, self._by_id, handler)
        self._connections: dict[socket.socket, Connection] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = listener
        if listener is not None:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ)
        self._waker, self._woken = socket.socketpair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._outbox: deque[tuple[str, Sent | int | None]] = deque()
        self._stopping = threading.Event()
        self.liveness = Liveness(
            {*self._links, *senders}, timing, log, now, handler.lost, handler.back
        )
        self.bad_frames = self.resets = 0

    # ---------------------------------------------------------------- from other threads

    def send(self, stream: str, what: Sent | int | None) -> None:
        """A tuple, a watermark (a number) or the end (None) of a stream."""
        self._outbox.append((stream, what))
        with suppress(OSError):  # it is awake already, or gone
            self._waker.send(b"!")

    def finish(self) -> None:
        """Waits until everything is acknowledged by those who are there, then says good-bye."""
        if self.ident is None:  # never started
            self._say_goodbye()
            return
        until = time.monotonic_ns() + self._timing.linger
        while not self._all_done() and time.monotonic_ns() < until and self.is_alive():
            time.sleep(self._timing.heartbeat / 4e9)
        self._stopping.set()
        self.send("", None)
        self.join()

    def _all_done(self) -> bool:
        links = list(self._links.values())
        return not self._outbox and all(
            link.done or self.liveness.is_gone(link.receiver) for link in links
        )

    @property
    def overflowed(self) -> int:
        return sum(link.overflowed for link in self._links.values())

    # ---------------------------------------------------------------- the thread

    def run(self) -> None:
        step = self._timing.heartbeat // 4
        looked = time.monotonic_ns()
        while not self._stopping.is_set():
            ready = self._selector.select(step / 1e9)
            now = time.monotonic_ns()
            stalled = max(0, now - looked - 2 * step)
            looked = now
            for key, mask in ready:
                self._serve(key.fileobj, mask, now)
            self._packer.pack(self._outbox)
            self._beat(now)
            self.liveness.check(now, stalled)
            self._handler.tick(now)
            self._connect_all(now)
            self._write_all(now)
        self._say_goodbye()

    def _serve(self, sock: object, mask: int, now: int) -> None:
        if sock is self._woken:
            with suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
            return
        if sock is self._listener:
            self._accept(now)
            return
        assert isinstance(sock, socket.socket)
        connection = self._connections.get(sock)
        if connection is None:
            return
        try:
            if mask & selectors.EVENT_WRITE:
                self._opened(connection, now)
                connection.write(now)
            if mask & selectors.EVENT_READ:
                for frame in connection.read(now):
                    self._take(connection, frame, now)
        except BadFrame as error:
            self.bad_frames += 1
            self._log.note("bad frame", peer=connection.peer, reason=str(error))
            self._drop(connection, now)
        except OSError:
            self._drop(connection, now)
        except Exception as error:  # noqa: BLE001 - no peer may end this thread
            self.bad_frames += 1
            self._log.note("bad frame", peer=connection.peer, reason=f"unforeseen: {error!r}")
            self._drop(connection, now)

    def _accept(self, now: int) -> None:
        assert self._listener is not None
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        self._add(Connection(sock, now))

    def _add(self, connection: Connection) -> None:
        self._connections[connection.socket] = connection
        self._selector.register(connection.socket, selectors.EVENT_READ)

    def _link_of(self, connection: Connection) -> Outgoing | None:
        return next((k for k in self._links.values() if k.connection is connection), None)

    def _drop(self, connection: Connection, now: int) -> None:
        """Ends a connection; a link of ours tries again."""
        if self._connections.pop(connection.socket, None) is None:
            return
        self._selector.unregister(connection.socket)
        self.resets += 1
        link = self._link_of(connection)
        if link is not None:
            backoff = min(
                max(self._timing.first_retry, 2 * link.backoff), self._timing.slowest_retry
            )
            link.down(now if link.up else now + backoff, backoff)
        else:
            connection.close()
            self.incoming.forget(connection)

    # ---------------------------------------------------------------- frames

    def _take(self, connection: Connection, frame: WireFrame, now: int) -> None:
        link = self._link_of(connection)
        if not connection.peer and frame.kind not in (FrameKind.HELLO, FrameKind.WELCOME):
            raise BadFrame(f"{frame.kind.name} before a greeting")
        if frame.kind is FrameKind.HELLO:
            self.incoming.greet(connection, frame)
        elif frame.kind is FrameKind.WELCOME and link is not None:
            about = decode_about(frame.payload, name=str, incarnation=str, positions=dict)
            connection.peer = link.receiver
            link.welcomed(about["incarnation"], read_positions(about["positions"]))
        elif frame.kind is FrameKind.ACKNOWLEDGE and link is not None:
            link.acknowledge(decode_positions(frame.payload))
        elif frame.kind is FrameKind.BYE:
            self.liveness.finished(connection.peer)
            return
        elif frame.kind in (FrameKind.ROWS, FrameKind.MARK, FrameKind.END):
            self.incoming.take(connection, frame)
        self.liveness.heard(connection.peer, now)

    # ---------------------------------------------------------------- upkeep

    def _beat(self, now: int) -> None:
        for connection in list(self._connections.values()):
            if not connection.peer:
                if now - connection.heard > self._timing.start:
                    self._drop(connection, now)  # somebody who never says who it is
                continue
            if now - connection.spoke < self._timing.heartbeat * 3 // 4:
                continue
            connection.spoke = now
            if self.incoming.has(connection):
                connection.send(self.incoming.acknowledgement(connection))
            else:
                connection.send(WireFrame(FrameKind.HEARTBEAT))

    def _connect_all(self, now: int) -> None:
        for link in self._links.values():
            if link.connection is None and now >= link.retry_at:
                sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
                connection = link.connection = Connection(sock, now)
                sock.connect_ex(link.address)
                self._connections[sock] = connection
                self._selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)

    def _opened(self, connection: Connection, now: int) -> None:
        """A connection attempt has ended."""
        link = self._link_of(connection)
        error = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error and link is not None:
            self.liveness.refused(link.receiver, now)
        if error:
            raise ConnectionError(error)
        self._selector.modify(connection.socket, selectors.EVENT_READ)
        if link is not None and not connection.peer:
            about = {"name": self._me, "incarnation": self._incarnation, "plan": self._fingerprint}
            connection.peer = link.receiver
            connection.send(WireFrame(FrameKind.HELLO, payload=encode_about(**about)))

    def _write_all(self, now: int) -> None:
        for connection in list(self._connections.values()):
            if connection.waiting and connection.peer:
                try:
                    connection.write(now)
                    events = selectors.EVENT_READ
                    if connection.waiting:
                        events |= selectors.EVENT_WRITE
                    self._selector.modify(connection.socket, events)
                except OSError:
                    self._drop(connection, now)

    def _say_goodbye(self) -> None:
        """Says so on every connection, and gives the peers a moment to have read it."""
        self._selector.close()
        say_goodbye(list(self._connections.values()))
        for sock in (self._listener, self._waker, self._woken):
            if sock is not None:
                sock.close()
