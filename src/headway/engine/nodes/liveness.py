"""Who is there: peers are heard of, fall silent, come back, or say good-bye."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from headway.engine.jobs import NEVER
from headway.engine.nodes.node_records import EventLog
from headway.model.quantities import MILLISECOND, SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTiming:
    """All in nanoseconds. A peer not heard of for ``missed`` heartbeats is lost. Reconnecting
    starts after ``first_retry`` and backs off to ``slowest_retry``. ``give_up``: how long a node
    waits for a lost peer's streams, and with what that peer lacks, when all else has ended;
    ``start``: for a peer to appear; ``linger``: until those who are there have acknowledged
    everything; ``greeting``: until one who connects has proved who it is."""

    heartbeat: int = 50 * MILLISECOND
    missed: int = 3
    first_retry: int = 20 * MILLISECOND
    slowest_retry: int = 500 * MILLISECOND
    give_up: int = 5 * SECOND
    start: int = 20 * SECOND
    linger: int = 30 * SECOND
    greeting: int = 5 * SECOND

    @property
    def silence(self) -> int:
        return self.heartbeat * self.missed

    @property
    def dead(self) -> int:
        """After so long without a word a connection is given up, too; its peer may open another."""
        return max(self.silence, self.start)


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
            self._log.note_some(event, peer=name)

    def finished(self, name: str, now: int) -> None:
        """The peer has said good-bye. Streams of it that have not ended are not waited for: it may
        have ended them for a process of this node that was killed since."""
        peer = self._peers.get(name)
        if peer is not None and not peer.finished:
            peer.finished, peer.alive, peer.lost_at = True, False, now
            self._log.note_some("peer finished", peer=name)
            self._on_lost(name)

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
        self._log.note_some("peer lost", peer=name, reason=reason, silent_ns=now - peer.heard)
        self._on_lost(name)

    def those_finished(self) -> list[str]:
        return [name for name, peer in self._peers.items() if peer.finished]

    def take_up(self, name: str, now: int) -> None:
        """The peer was lost when this process was another one, and may be here again."""
        peer = self._peers[name]
        if peer.alive:
            self._on_back(name)
        elif peer.lost_at is None:
            peer.seen, peer.lost_at = True, now
            # That process may have noted that it is back, and been killed before its run knew.
            reason = "it was lost when this node was killed, and has not been heard of since"
            self._log.note_some("peer lost", peer=name, reason=reason, silent_ns=now - peer.heard)

    def lost_since(self, name: str) -> int | None:
        """When the peer was lost or finished; None if it is there or is still awaited."""
        return self._peers[name].lost_at

    def is_gone(self, name: str, since: int = NEVER) -> bool:
        """Whether the peer has finished, or was lost before that and may be back no more."""
        peer = self._peers[name]
        return peer.finished or (peer.lost_at is not None and peer.lost_at <= since)
