"""The I/O thread of a node process: all its connections, without ever waiting for one of them.

Whoever sends a stream connects to whoever receives it. Both sides speak at least once a heartbeat.
Frames of a stream are numbered; the receiver says on every connection how far it got, so nothing
is lost or doubled by a reconnect. Whatever is wrong with a connection ends the connection, never
the process; if this thread dies all the same, the handler is told.

Anyone may connect. Who has not proved the key of the build (``greeting.py``) has little time,
little room and no say; and what one connection may ask of a turn of the thread is limited, so that
the others have theirs.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

from headway.engine.nodes.greeting import GreetingOut, Identity, LinkStage, Refusal, check_place
from headway.engine.nodes.kept_links import SentFrames
from headway.engine.nodes.links import (
    Connection,
    Incoming,
    Outgiven,
    Outgoing,
    Packer,
    PeerHandler,
    Positions,
    Reached,
    Strangers,
    say_goodbye,
)
from headway.engine.nodes.liveness import Liveness, PeerTiming
from headway.engine.nodes.node_machine import THIS_MACHINE, Address, Machine, NodeSocket
from headway.engine.nodes.node_records import EventLog
from headway.engine.nodes.wire_format import (
    BadFrame,
    FrameKind,
    Sent,
    WireFrame,
    WireStream,
    decode_positions,
)
from headway.model.quantities import MILLISECOND

ACCEPTED_A_TURN = 16
"""connections; far fewer than there is room for strangers, so that each is heard before it goes"""


class Peers:
    """Has a thread of its own once it is started. ``sends``: receiver -> the streams it wants.
    ``senders``: from whom streams come. ``key``: that of the build, which all must prove.
    ``refused``: those who did not, by reason."""

    def __init__(
        self,
        name: str,
        *,
        fingerprint: str,
        key: bytes,
        streams: Iterable[WireStream],
        sends: Mapping[str, Iterable[str]],
        senders: Iterable[str],
        addresses: Mapping[str, Address],
        handler: PeerHandler,
        log: EventLog,
        timing: PeerTiming,
        listener: NodeSocket | None = None,
        most_kept: int = 4096,
        machine: Machine = THIS_MACHINE,
        clock: Callable[[], int] | None = None,
        incarnation: str = "",
        frames: SentFrames | None = None,
    ) -> None:
        self._machine = machine
        self._thread = machine.thread(f"peers of {name}", self.run)
        self.started = False
        self._clock = clock or machine.now
        self._looked = self._clock()
        self._me = Identity(
            name=name,
            incarnation=incarnation or f"{machine.calendar():x}",
            fingerprint=fingerprint,
            key=key,
        )
        self._by_id = {stream.id: stream for stream in streams}
        self._by_name = {stream.name: stream for stream in self._by_id.values()}
        self._handler, self._log, self._timing = handler, log, timing
        self._links = {
            receiver: Outgoing(
                receiver,
                addresses[receiver],
                frozenset(self._by_name[s].id for s in wanted),
                most_kept,
                frames,
            )
            for receiver, wanted in sends.items()
        }
        self._packer = Packer(self._by_name, self._links.values(), log, frames)
        self.incoming = Incoming(self._me, self._by_id, handler, machine.random_bytes)
        self._connections: dict[NodeSocket, Connection] = {}
        self._strangers = Strangers()
        self._selector = machine.selector()
        self._listener = listener
        self._listens_again: int | None = None
        """when, if connections cannot be accepted now"""
        if listener is not None:
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ)
        self._waker, self._woken = machine.socket_pair()
        self._waker.setblocking(False)
        self._woken.setblocking(False)
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._outbox: deque[Outgiven] = deque()
        self._stopping = threading.Event()
        self.liveness = Liveness(
            {*self._links, *senders}, timing, log, self._looked, handler.lost, handler.back
        )
        self.bad_frames = self.resets = 0
        self.refused: Counter[str] = Counter()
        self.failure: BaseException | None = None
        """why the thread has died"""

    # ---------------------------------------------------------------- from other threads

    def start(self) -> None:
        self.started = True
        self._thread.start()

    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def join(self, timeout: float | None = None) -> None:
        self._thread.join(timeout)

    def send(self, stream: str, what: Sent | int | None) -> None:
        """A tuple, a watermark (a number) or the end (None) of a stream."""
        self._outbox.append((stream, what))
        with suppress(OSError):  # it is awake already, or gone
            self._waker.send(b"!")

    def when_packed(self, then: Callable[[], None]) -> None:
        """Has the I/O thread call it when all that was given out until now has become frames."""
        self._outbox.append(("", Reached(then)))
        with suppress(OSError):
            self._waker.send(b"!")

    def finish(self) -> None:
        """Waits until everything is acknowledged by those who are there, then says good-bye."""
        self.incoming.safe = None  # whoever still comes is only to be let go
        if not self.started:
            self._say_goodbye()
            return
        machine = self._machine
        until = machine.now() + self._timing.linger
        while not self._all_done() and machine.now() < until and self.is_alive():
            machine.sleep(self._timing.heartbeat // 4)
        self._stopping.set()
        self.send("", None)
        self.join()

    def _all_done(self) -> bool:
        links, gone_since = list(self._links.values()), self._machine.now() - self._timing.give_up
        return not self._outbox and all(
            link.done or self.liveness.is_gone(link.receiver, gone_since) for link in links
        )

    # ---------------------------------------------------------------- kept for another process

    @property
    def incarnation(self) -> str:
        return self._me.incarnation

    def snapshot(self) -> dict[str, Any]:
        """All that outlives a process (call in the I/O thread), as JSON-able data."""
        return {
            "links": {name: link.snapshot() for name, link in sorted(self._links.items())},
            "finished": self.liveness.those_finished(),
            "gaps": self.incoming.gaps,
            "duplicates": self.incoming.duplicates,
        }

    def restore(
        self, state: dict[str, Any], frames: Iterable[list[Any]], positions: Positions
    ) -> None:
        """Takes up what :meth:`snapshot` gave, the frames that were made since, and how far the
        streams of others have come. Before the thread is started."""
        for name, link in state["links"].items():
            if name in self._links:
                self._links[name].restore(link)
        self._packer.restore(frames)
        for name in state["finished"]:
            self.liveness.finished(name, self._clock())
        self.incoming.gaps, self.incoming.duplicates = state["gaps"], state["duplicates"]
        self.incoming.positions = {name: (i, dict(p)) for name, (i, p) in positions.items()}
        self.incoming.safe = positions

    @property
    def overflowed(self) -> int:
        return sum(link.overflowed for link in self._links.values())

    @property
    def undelivered(self) -> int:
        """Tuples of which the peers never said that they have them."""
        return sum(link.undelivered for link in self._links.values())

    # ---------------------------------------------------------------- the thread

    def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.turn(self._timing.heartbeat // 4)
            self._say_goodbye()
        except BaseException as error:  # noqa: BLE001 - whatever it is, somebody must be told
            self.failure = error
            self._close()
            self._handler.failed(error)

    def turn(self, wait: int) -> None:
        """Serves each connection that has something, once; waits for one at most ``wait`` ns."""
        step = self._timing.heartbeat // 4
        left = [sock for sock, connection in self._connections.items() if connection.more]
        ready = self._selector.select(0 if left else wait / 1e9)
        now = self._clock()
        stalled = max(0, now - self._looked - 2 * step)
        self._looked = now
        masks: dict[object, int] = dict.fromkeys(left, selectors.EVENT_READ)
        for key, mask in ready:
            masks[key.fileobj] = masks.get(key.fileobj, 0) | mask
        for sock, mask in masks.items():
            self._serve(sock, mask, now)
        self._packer.pack(self._outbox)
        self._look_after(now, stalled)
        self.liveness.check(now, stalled)
        self._handler.tick(now)
        self._listen_again(now)
        self._connect_all(now)
        self._write_all(now)

    def _serve(self, sock: object, mask: int, now: int) -> None:
        if sock is self._woken:
            with suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
            return
        if sock is self._listener:
            self._accept(now)
            return
        connection = self._connections.get(cast(NodeSocket, sock))
        if connection is None:
            return
        try:
            if mask & selectors.EVENT_WRITE:
                self._writable(connection, now)
            if mask & selectors.EVENT_READ:
                for frame in connection.read(now):
                    self._take(connection, frame, now)
        except Refusal as error:
            self._refuse(connection, error.sort, str(error), now)
        except BadFrame as error:
            self._reset(connection, str(error), now)
        except OSError:
            self._drop(connection, now)
        except Exception as error:  # noqa: BLE001 - no peer may end this thread
            self._reset(connection, f"unforeseen: {error!r}", now)

    def _reset(self, connection: Connection, reason: str, now: int) -> None:
        self.bad_frames += 1
        self._log.note_some(
            "bad frame", peer=connection.peer, address=connection.host, reason=reason
        )
        self._drop(connection, now)

    def _refuse(self, connection: Connection, sort: str, reason: str, now: int) -> None:
        """Nothing is said to it."""
        self.refused[sort] += 1
        self._log.note_some("refused", address=connection.host, sort=sort, reason=reason)
        self._drop(connection, now)

    def _drop(self, connection: Connection, now: int) -> None:
        """Ends a connection; a link of ours tries again."""
        if self._connections.pop(connection.socket, None) is None:
            return
        self._selector.unregister(connection.socket)
        self._strangers.forget(connection)
        self.resets += 1
        link = self._link_of(connection)
        if link is not None:
            self._retry(link, now)
        else:
            connection.close()
            self.incoming.forget(connection)

    def _retry(self, link: Outgoing, now: int) -> None:
        backoff = min(max(self._timing.first_retry, 2 * link.backoff), self._timing.slowest_retry)
        link.down(now if link.up else now + backoff, backoff)

    def _link_of(self, connection: Connection) -> Outgoing | None:
        return next((k for k in self._links.values() if k.connection is connection), None)

    # ---------------------------------------------------------------- connections that come

    def _accept(self, now: int) -> None:
        assert self._listener is not None
        for _ in range(ACCEPTED_A_TURN):
            try:
                sock, address = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                continue  # gone before it was looked at
            except OSError as error:
                self._accept_no_more(str(error), now)
                return
            try:
                connection = Connection(sock, now, str(address[0]))
            except OSError:
                sock.close()
                continue
            self._connections[sock] = connection
            self._selector.register(sock, selectors.EVENT_READ)
            crowded = self._strangers.admit(connection)
            if crowded is not None:
                self._refuse(crowded, "crowded out", "too many who do not say who they are", now)

    def _accept_no_more(self, reason: str, now: int) -> None:
        """Too many open files, no memory: the listener stays readable, so we look away for a while,
        and make room, which the node needs for its own files too."""
        assert self._listener is not None
        self._selector.unregister(self._listener)
        self._listens_again = now + self._timing.slowest_retry
        self._log.note_some("cannot accept connections", reason=reason)
        for stranger in self._strangers.half():
            self._refuse(stranger, "crowded out", "no room for strangers on this machine", now)

    def _listen_again(self, now: int) -> None:
        if self._listens_again is not None and now >= self._listens_again:
            assert self._listener is not None
            self._selector.register(self._listener, selectors.EVENT_READ)
            self._listens_again = None

    # ---------------------------------------------------------------- connections that we open

    def _connect_all(self, now: int) -> None:
        for link in self._links.values():
            if link.connection is None and now >= link.retry_at:
                try:
                    link.connection = self._connect(link, now)
                except OSError as error:
                    reason = str(error)
                    self._log.note_some("cannot connect", peer=link.receiver, reason=reason)
                    self._retry(link, now)

    def _connect(self, link: Outgoing, now: int) -> Connection:
        sock = self._machine.open_socket()
        try:
            connection = Connection(sock, now, link.address[0], LinkStage.OPENED)
            sock.connect_ex(link.address)
            self._selector.register(sock, selectors.EVENT_READ | selectors.EVENT_WRITE)
        except OSError:
            sock.close()
            raise
        self._connections[sock] = connection
        return connection

    def _writable(self, connection: Connection, now: int) -> None:
        """A connection attempt has ended, or there is room again."""
        self._selector.modify(connection.socket, selectors.EVENT_READ)
        if connection.stage is not LinkStage.OPENED:
            return
        link = self._link_of(connection)
        assert link is not None
        error = connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            self.liveness.refused(link.receiver, now)
            raise ConnectionError(error)
        connection.greeting_out = GreetingOut(self._me, link.receiver, self._machine.random_bytes)
        connection.send(connection.greeting_out.hello())
        connection.stage = LinkStage.CHALLENGE

    # ---------------------------------------------------------------- frames

    def _take(self, connection: Connection, frame: WireFrame, now: int) -> None:
        check_place(connection.stage, frame.kind)
        if not connection.stage.is_greeted:
            self._greet(connection, frame, now)
        elif frame.kind is FrameKind.BYE:
            connection.stage = LinkStage.OVER
            self.liveness.finished(connection.peer, now)
            return
        elif frame.kind is FrameKind.ACKNOWLEDGE:
            link = self._link_of(connection)
            assert link is not None
            link.acknowledge(decode_positions(frame.payload))
        elif frame.kind is not FrameKind.HEARTBEAT:
            self.incoming.take(connection, frame)
        if connection.peer:
            self.liveness.heard(connection.peer, now)

    def _greet(self, connection: Connection, frame: WireFrame, now: int) -> None:
        if connection.stage is LinkStage.HELLO:
            self.incoming.greet(connection, frame)
            return
        if connection.stage is LinkStage.PROOF:
            older = self.incoming.admit(connection, frame)
            self._strangers.forget(connection)
            if older is not None:
                self._drop(older, now)
            return
        link, greeting = self._link_of(connection), connection.greeting_out
        assert link is not None
        assert greeting is not None
        if connection.stage is LinkStage.CHALLENGE:
            connection.send(greeting.answer(frame))
            connection.stage = LinkStage.WELCOME
        elif connection.stage is LinkStage.WELCOME:
            greeting.check(frame)
            connection.believe(link.receiver, LinkStage.POSITIONS)
        else:
            link.welcomed(greeting.incarnation, decode_positions(frame.payload))
            connection.stage = LinkStage.FROM_RECEIVER

    # ---------------------------------------------------------------- upkeep

    def _look_after(self, now: int, stalled: int) -> None:
        """Ends those who do not greet or are not heard of; speaks to the others. ``stalled`` is no
        fault of theirs."""
        for connection in list(self._connections.values()):
            connection.opened += stalled
            connection.heard += stalled
            if not connection.stage.is_greeted:
                if now - connection.opened > self._timing.greeting:
                    link = self._link_of(connection)
                    sort = "did not greet" if link is None else "did not welcome"
                    who = "it" if link is None else repr(link.receiver)
                    limit = self._timing.greeting / MILLISECOND
                    reason = f"{who} {sort} within {limit:.0f} ms"
                    self._refuse(connection, sort, reason, now)
            elif now - connection.heard > self._timing.dead:
                self._log.note_some("connection given up", peer=connection.peer)
                self._drop(connection, now)
            elif now - connection.spoke >= self._timing.heartbeat * 3 // 4:
                connection.spoke = now
                if self.incoming.has(connection):
                    connection.send(self.incoming.acknowledgement(connection))
                else:
                    connection.send(WireFrame(FrameKind.HEARTBEAT))

    def _write_all(self, now: int) -> None:
        for connection in list(self._connections.values()):
            if connection.waiting:
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
        say_goodbye(list(self._connections.values()), self._machine)
        self._close()

    def _close(self) -> None:
        self._selector.close()
        for sock in (*self._connections, self._listener, self._waker, self._woken):
            if sock is not None:
                sock.close()
