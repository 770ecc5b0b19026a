"""One node of a plan as a process: its run in wall-clock time, its peers, its inputs and outputs,
its report."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.engine.clock import Behind, KeepingUp, PacedClock
from headway.engine.jobs import Arrival
from headway.engine.kernel import Outlet
from headway.engine.nodes.links import FramePlace, Positions
from headway.engine.nodes.live_counts import LiveCounts
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_machine import THIS_MACHINE, Address, Machine
from headway.engine.nodes.node_records import MOST_TEXT, EventLog, NodeOutputs, written_to
from headway.engine.nodes.node_slice import OUTPUT, NodeSlice
from headway.engine.nodes.node_state import NodeState, Resumption, note_place
from headway.engine.nodes.peers import Peers
from headway.engine.nodes.run_keeper import KeptPace
from headway.engine.nodes.wire_format import Sent
from headway.engine.operators.operator_base import Dropped
from headway.engine.program import assemble
from headway.engine.trace import EventKind, Trace
from headway.engine.waiting_room import WhenFull
from headway.engine.wall_time import ENDED, WallTime, apart
from headway.errors import FileError, NodeFailed, Place, Problem
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND
from headway.model.query import Criticality
from headway.model.user_operator import Row

if TYPE_CHECKING:  # for nodes that reserve; the others carry none of it
    from headway.engine.reservations import Reservations

SUBSCRIBER = "subscriber"
NOTED = 20
"""events of one sort that are noted one by one; after that only counted"""

SendOut = Callable[[str, Sent | int | None], None]
"""(stream, a tuple, a watermark or the end)"""


class OtherNodes:
    """The rest of the plan, as the run of one node sees it: streams leave for peers and come from
    them, with their time. ``send_out`` hands over to the I/O thread; the ``take_…`` methods are
    posted by it to the run's own."""

    def __init__(self, part: NodeSlice, time: WallTime, send_out: SendOut) -> None:
        self._node = part.node
        self._time, self._kernel = time, time.kernel
        self._send_out = send_out
        self._sender_of = dict(part.receives)
        self.marks: dict[str, int | None] = dict.fromkeys(self._sender_of)
        self._sent = tuple(dict.fromkeys(stream for stream, _ in part.sends))
        self._told: dict[str, int] = {}
        self.received = self.sent = 0
        self.positions: Positions = {}
        """how far the streams of others were taken in"""
        self.reservations: Reservations | None = None
        """where processor time is reserved, tuples on the wire tell their source"""

    # ---------------------------------------------------------------- out

    def send(self, outlet: Outlet, row: Row, root: int, late: bool) -> None:
        self.sent += 1
        stream = outlet.stream
        if record := self._kernel.record:
            now = self._kernel.now
            record((EventKind.SEND, now, now, outlet.node, "", stream, root, 0, 0))
        if self.reservations is not None:
            root = self.reservations.leaving(root)
        self._send_out(stream, Sent(row, root, late))

    def time_moved(self) -> None:
        """Tells the nodes behind how far time has come."""
        if not self._sent:
            return
        watermarks = self._kernel.watermarks
        watermarks.entering()
        for stream in self._sent:
            mark = watermarks.leaving[stream]
            told = self._told.get(stream)
            if mark is None or (told is not None and mark <= told) or told == ENDED:
                continue
            if mark >= ENDED:
                self._told[stream] = ENDED
                self._send_out(stream, None)
            else:
                self._told[stream] = mark
                self._send_out(stream, mark)

    # ---------------------------------------------------------------- in

    def take_rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None:
        """Tuples of another node's stream, or of a source that is fed from outside."""
        note_place(self.positions, place)
        remote = stream in self._sender_of
        for row, root, late in rows:
            self.received += 1
            if remote:
                if self.reservations is not None:
                    root = self.reservations.coming(root)
                self._kernel.receive(stream, self._node, row, root, late)
            else:
                self._time.take(stream, row, self._kernel.now)
        self._time.note_move()

    def take_rows_again(self, stream: str, rows: list[Any], place: Any) -> None:
        """As they were written down."""
        self.take_rows(stream, [Sent(tuple(row), n, late) for row, n, late in rows], place)

    def take_mark(self, stream: str, mark: int, place: FramePlace) -> None:
        note_place(self.positions, place)
        before = self.marks.get(stream)
        if before is None or mark > before:
            self.marks[stream] = mark
            self._time.note_move()

    def take_end(self, stream: str, place: FramePlace) -> None:
        note_place(self.positions, place)
        self._time.end(stream)

    def take_loss(self, peer: str) -> None:
        """A peer is not heard of: nothing waits for its streams."""
        self._time.lost |= self._from(peer) - self._time.ended
        self._time.note_move()

    def take_return(self, peer: str) -> None:
        self._time.lost -= self._from(peer)

    def give_up(self, peer: str) -> bool:
        """Ends a lost peer's streams if nothing else is left to wait for; whether it did."""
        time, sources = self._time, self._kernel.program.graph.sources
        if not time.lost or not (time.ended | time.lost).issuperset(sources):
            return False
        gone = self._from(peer) & time.lost
        time.lost -= gone
        for stream in gone:
            time.end(stream)
        return bool(gone)

    @property
    def lost(self) -> list[str]:
        """The peers whose streams nothing waits for."""
        return sorted({self._sender_of[s] for s in self._time.lost if s in self._sender_of})

    def snapshot(self) -> dict[str, Any]:
        told = sorted(self._told.items())
        return {"marks": self.marks, "told": told, "received": self.received, "sent": self.sent}

    def restore(self, state: dict[str, Any], positions: Positions) -> None:
        self.marks.update(state["marks"])
        self._told = dict(state["told"])
        self.received, self.sent = state["received"], state["sent"]
        self.positions = {name: (i, dict(p)) for name, (i, p) in positions.items()}

    def _from(self, peer: str) -> set[str]:
        return {stream for stream, sender in self._sender_of.items() if sender == peer}


def hard_missed(run: WallTime, outputs: NodeOutputs) -> list[str]:
    """The hard outputs of the node that missed a deadline."""
    known = run.kernel.program.graph.outputs
    return [
        name
        for name, (_, missed) in outputs.counts.items()
        if missed and known[name].criticality is Criticality.HARD
    ]


def exit_report(
    node: str,
    run: WallTime,
    others: OtherNodes,
    peers: Peers,
    outputs: NodeOutputs,
    keeping_up: KeepingUp,
    log: EventLog,
    ended_at: int,
) -> dict[str, Any]:
    """Times in nanoseconds, ``at`` and ``ended_at`` on the machine's monotonic clock.
    ``refused_jobs`` are those of hard outputs, anywhere, that were not admitted or were shed."""
    kernel = run.kernel
    return {
        "node": node,
        "ended_at": ended_at,
        "arrived": kernel.arrived,
        "received": others.received,
        "sent": others.sent,
        "outputs": {n: {"tuples": t, "missed": m} for n, (t, m) in outputs.counts.items()},
        "precision": {s: asdict(one) for s, one in kernel.precision.items()},
        "hard_missed": hard_missed(run, outputs),
        "refused_jobs": kernel.refused,
        "decisions": kernel.decisions,
        "preemptions": kernel.preemptions,
        "timeouts": kernel.timeouts,
        "exceeded": [asdict(one) for one in kernel.exceeded()],
        "late_arrivals": keeping_up.late_arrivals,
        "worst_lag_ns": keeping_up.worst_lag,
        "worst_backlog": keeping_up.worst_backlog,
        "bad_frames": peers.bad_frames,
        "refused": dict(sorted(peers.refused.items())),
        "duplicates": peers.incoming.duplicates,
        "gaps": peers.incoming.gaps,
        "overflowed": peers.overflowed,
        "undelivered": peers.undelivered,
        "peers_lost": [*log.named("peer lost"), *log.named("peer given up")],
        "peers_back": log.named("peer back"),
        "notes_left_out": dict(sorted(log.left_out.items())),
    }


@dataclass(kw_only=True)
class NodeSettings:
    """How a node process is run. Without ``inputs`` its sources wait for a driver's frames.
    ``key`` is that of the build."""

    addresses: Mapping[str, Address]
    key: bytes = field(repr=False)
    inputs: Path | None = None
    outputs: Path | None = None
    form: str = "jsonl"
    speed: float = 1.0
    vehicle: str | None = None
    tolerance: int = 50 * MILLISECOND
    timing: PeerTiming = field(default_factory=PeerTiming)
    most_waiting: int | None = None
    """jobs, before some are dropped; None: what the build says"""
    when_full: WhenFull = WhenFull.SHED
    subscriber: Address | None = None
    resume: bool = False
    """started again in the middle of a run: what has already arrived is gone"""
    most_kept: int = 4096
    """frames for a peer that is away"""
    checkpoint: int = SECOND
    """between two checkpoints beside the outputs; 0: none is made"""
    live: bool = False
    """how it stands is written down beside the outputs while it runs, for who watches"""


class NodeProcess:
    """Made, then ready (listening, first arrival known), then run to the end."""

    def __init__(
        self, part: NodeSlice, settings: NodeSettings, machine: Machine = THIS_MACHINE
    ) -> None:
        self.part, self.settings, self.machine = part, settings, machine
        folder = settings.outputs
        path = None if folder is None else folder / f"{part.node}.events.jsonl"
        self.log = EventLog(part.node, path, append=settings.resume, machine=machine)
        self._dropped: dict[str, Counter[str]] = {}
        """kind -> operator or source -> tuples"""
        self._policy = part.make_policy()
        most = part.room.most if settings.most_waiting is None else settings.most_waiting
        self._room = replace(part.room, most=most, when_full=settings.when_full)
        sent = [stream for stream, _ in part.sends]
        plan = part.plan
        tasks = plan.scheduled(trains=self._policy.fuse)
        self._program = assemble(
            plan, self._policy, tasks, part.order, apart=apart(plan), leaving=sent
        )
        self._arrivals = self._recording()
        self._first = next(self._arrivals, None)
        self._listener = machine.listen(settings.addresses[part.node])
        self._keeping_up = KeepingUp(tolerance=settings.tolerance, on_behind=self._behind)
        self._time: WallTime | None = None
        self._others: OtherNodes | None = None
        self._peers: Peers | None = None
        self._resumption = Resumption(believed=False)
        self._state = self._find_state()
        self._live_counts: LiveCounts | None = None
        if settings.live and folder is not None:
            self._live_counts = LiveCounts(machine, folder, part)
        self.stopped = False
        self._asked: dict[str, int] = {}

    def _find_state(self) -> NodeState | None:
        """Where what is kept of the node lies; None where nothing is."""
        part, settings = self.part, self.settings
        if settings.outputs is None or not settings.checkpoint:
            return None
        if part.reserved is not None:
            self.log.note("state not kept", reason="the books of a policy that reserves are not")
            return None
        state = NodeState(
            self.machine,
            settings.outputs,
            part.node,
            part.fingerprint,
            self.log,
            settings.checkpoint,
        )
        if settings.resume:
            state.read({stream.name: stream for stream in part.wire_streams()})
            believed = state.kept is not None
            self._resumption = Resumption(believed=believed, damage=state.damage)
            for what in state.damage:
                self.log.note("kept state is damaged" if believed else "no kept state", what=what)
        else:
            state.begin_anew()
        return state

    @property
    def taken_up(self) -> bool:
        """Whether it goes on where a process that was killed has been."""
        return self._resumption.believed

    @property
    def kept_clock(self) -> tuple[int, int] | None:
        """What ties the engine's time to the machine's clock in the run that is taken up: the
        engine's time when that clock shows a moment, as :meth:`run` takes them."""
        if self._state is None or self._state.kept is None:
            return None
        kept = self._state.kept.checkpoint
        monotonic, calendar = kept.seen
        start = kept.start
        if self.machine.now() < monotonic:  # the machine has been started anew
            gone = self.machine.calendar() - calendar
            start += self.machine.now() - gone - monotonic
        return kept.epoch, start

    @property
    def first_arrival(self) -> int | None:
        """The engine's time (ns) of the first tuple of its recording."""
        return None if self._first is None else self._first.time

    def _recording(self) -> Iterator[Arrival]:
        names = set(self.part.own_sources)
        sources = [source for source in self.part.plan.query.sources if source.name in names]
        if self.settings.inputs is None or not sources:
            return
        from headway.sources.recordings import read_recording

        recording = read_recording(self.settings.inputs, sources, self.settings.vehicle)
        for arrived_at, source, row, _ in recording:
            yield Arrival(arrived_at * MICROSECOND, source, row)

    def run(self, epoch: int, start: int) -> dict[str, Any]:
        """Runs until all inputs have ended; the engine's time is ``epoch`` when the machine's
        monotonic clock shows ``start``. Gives the exit report."""
        try:
            return self._run(epoch, start)
        finally:
            if self._state is not None:
                self._state.leave()

    def _run(self, epoch: int, start: int) -> dict[str, Any]:
        part, settings = self.part, self.settings
        state = self._state
        keeper = None if state is None else state.keeper
        pace = PacedClock(self.machine.clock, epoch, start, settings.speed)
        if keeper is not None:
            pace = KeptPace(self.machine.clock, epoch, start, settings.speed, keeper)
        self._pace = pace
        kept = None if state is None else state.kept
        remote = {stream for stream, _ in part.receives}
        fed = set(part.own_sources) if settings.inputs is None else set()
        outputs = NodeOutputs(
            part.plan,
            settings.outputs,
            settings.form,
            self._publish,
            append=settings.resume,
            machine=self.machine,
            before=self._before_output,
            kept=None if kept is None else kept.checkpoint.node["outputs"],
        )
        peers = self._peers = self._make_peers()
        run = self._time = WallTime(
            part.plan,
            self._program,
            self._policy,
            pace=pace,
            sinks=outputs.sinks,
            on_drop=self._drop,
            trace=Trace(kept=False),
            keeping_up=self._keeping_up,
            room=self._room,
            live=frozenset(remote | fed),
            outside=self._see_others,
            keeper=keeper,
        )
        assert self._others is not None
        self._others.reservations = self._reserve(run)
        if state is not None:
            self._keep(state, run, self._others, outputs)
        self.log.note("running", epoch=epoch, start=start, resumed=settings.resume)
        peers.start()
        if self.stopped:
            run.post(self._stop)
        run.run(self._due(run, pace))
        if settings.subscriber is not None:
            for output in part.plan.query.outputs:
                self._send_out(OUTPUT + output.name, None)
        peers.finish()
        if peers.failure is not None:
            self._end(peers.failure)
        outputs.close()
        self.log.note("finished")
        report = exit_report(
            part.node,
            run,
            self._others,
            peers,
            outputs,
            self._keeping_up,
            self.log,
            self.machine.now(),
        )
        report |= {
            "missed_while_down": sum(self._resumption.missed.values()),
            "missed_at": dict(sorted(self._resumption.missed.items())),
            "checkpoints": 0 if keeper is None else keeper.checkpoints,
            "longest_checkpoint_ns": 0 if keeper is None else keeper.worst_pause,
            "resumed": self._resumed(state, outputs),
            "stopped": self.stopped,
            "dropped": {kind: at.total() for kind, at in sorted(self._dropped.items())},
            "dropped_at": {
                kind: dict(sorted(at.items())) for kind, at in sorted(self._dropped.items())
            },
        }
        self.log.close()
        if settings.outputs is not None:
            path = settings.outputs / f"{part.node}.report.json"
            with written_to(path):
                self.machine.write_text(path, json.dumps(report, indent=1) + "\n")
        if state is not None:
            state.close()
        return report

    def _reserve(self, run: WallTime) -> Reservations | None:
        if self.part.reserved is None:
            return None
        from headway.engine.reservations import Reservations
        from headway.schedule.online.reservation import ReservationPolicy

        assert isinstance(self._policy, ReservationPolicy)
        return Reservations(self.part.reserved, run, self._policy, most_held_back=self._room.most)

    def _see_others(self, run: WallTime) -> OtherNodes:
        assert self._peers is not None
        self._others = OtherNodes(self.part, run, self._send_out)
        return self._others

    def _due(self, run: WallTime, pace: PacedClock) -> Iterator[Arrival]:
        """What of the recording is still to be taken in."""
        if self._first is None:
            return
        arrivals = chain((self._first,), self._arrivals)
        if not self.settings.resume:
            yield from arrivals
        elif self._state is not None and self._state.kept is not None:
            yield from islice(arrivals, run.replayed, None)
        else:  # what came before is gone, whether it had been taken in or not
            since = PacedClock.now(pace)  # no reading that a run done over again would ask for
            for arrival in arrivals:
                if arrival.time >= since:
                    yield arrival
                else:
                    run.replayed += 1  # nor does one that is taken up later take it in
                    self._miss({arrival.source: 1})

    def _miss(self, counts: Mapping[str, int]) -> None:
        missed = self._resumption.missed
        for source, count in counts.items():
            missed[source] = missed.get(source, 0) + count

    # ---------------------------------------------------------------- kept and taken up

    def _keep(
        self, state: NodeState, run: WallTime, others: OtherNodes, outputs: NodeOutputs
    ) -> None:
        keeper, peers, kept = state.keeper, self._peers, state.kept
        assert peers is not None
        keeper.know(
            {
                "rows": others.take_rows,
                "mark": others.take_mark,
                "end": others.take_end,
                "loss": others.take_loss,
                "return": others.take_return,
                "give up": self._give_up,
                "stop": self._stop,
            },
            {"rows": others.take_rows_again},
        )
        keeper.can_be_kept = lambda: run.can_be_kept

        def taken_in(safe: bool) -> None:
            copied = {name: (i, dict(p)) for name, (i, p) in others.positions.items()}
            peers.incoming.safe = copied if safe else None

        keeper.on_kept = taken_in
        keeper.on_live = lambda: self._live(state, run, others)

        def snapshot() -> dict[str, Any]:
            self._resumption.given_only_once += state.left_over() + outputs.left_over()
            return {
                "epoch": self._pace.epoch,
                "start": self._pace.start,
                "run": run.snapshot(),
                "node": {
                    "others": others.snapshot(),
                    "outputs": outputs.snapshot(),
                    "dropped": {kind: dict(at) for kind, at in self._dropped.items()},
                    "behind": self._keeping_up.snapshot(),
                    "missed": self._resumption.missed,
                },
                "senders": {name: (i, dict(p)) for name, (i, p) in others.positions.items()},
            }

        with written_to(state.path):
            state.begin(run.post, peers, snapshot)
        if kept is None:
            taken_in(safe=False)
            return
        node = kept.checkpoint.node
        try:
            run.restore(kept.checkpoint.run)
            others.restore(node["others"], kept.checkpoint.senders)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            what = f"this state cannot be taken up: {type(error).__name__}: {error}"
            want = "start the node without --resume"
            raise FileError(Problem(what, place=Place(str(state.path)), want=want)) from error
        self._dropped = {kind: Counter(at) for kind, at in node["dropped"].items()}
        self._keeping_up.restore(node["behind"])
        self._resumption.missed = dict(node["missed"])
        self._resumption.checkpoint = kept.checkpoint.number
        self._resumption.taken_again = sum(one[0] == "post" for one in kept.taken.entries)
        with written_to(state.path):
            keeper.take_up(kept.taken, kept.checkpoint.number)

    def _live(self, state: NodeState, run: WallTime, others: OtherNodes) -> None:
        """What was kept has been done over again: from here on time is the machine's."""
        peers, now = self._peers, PacedClock.now(self._pace)
        assert peers is not None
        self._resumption.down = now - run.kernel.now
        before, passed = dict(self._resumption.missed), run.replayed
        self._miss(run.pass_over(now))
        missed = {s: n - before.get(s, 0) for s, n in self._resumption.missed.items()}
        for peer in others.lost:
            peers.when_packed(partial(peers.liveness.take_up, peer, self.machine.now()))
        self.log.note(
            "taken up",
            checkpoint=self._resumption.checkpoint,
            taken_again=self._resumption.taken_again,
            down_ns=self._resumption.down,
            missed=missed,
            arrivals_passed_over=[passed, run.replayed],
        )

    def _resumed(self, state: NodeState | None, outputs: NodeOutputs) -> dict[str, Any] | None:
        """How the node was taken up again, if it was."""
        if not self.settings.resume:
            return None
        found = self._resumption
        if state is not None:
            found.given_only_once += state.left_over() + outputs.left_over()
            found.not_given_again = state.not_again + outputs.not_again
            found.went_another_way = state.keeper.went_another_way
        told = asdict(found)
        del told["missed"]
        return told

    def _before_output(self, completed: int) -> int:
        """What an output follows from is written down first. One of a run that is done over again
        is completed now, if it was not then."""
        if self._state is not None:
            self._state.keeper.flush()
            if self._state.keeper.again:
                return PacedClock.now(self._pace)
        return completed

    def _send_out(self, stream: str, what: Sent | int | None) -> None:
        """To the peers, unless they had it before the process was killed."""
        if self._state is not None:
            self._state.keeper.flush()
            if not self._state.is_new(stream, what):
                return
        self._give(stream, what)

    def _give(self, stream: str, what: Sent | int | None) -> None:
        assert self._peers is not None
        self._peers.send(stream, what)

    def _make_peers(self) -> Peers:
        part, addresses = self.part, dict(self.settings.addresses)
        kept = None if self._state is None else self._state.kept
        sends: dict[str, list[str]] = {}
        for stream, receiver in part.sends:
            sends.setdefault(receiver, []).append(stream)
        if self.settings.subscriber is not None and part.plan.query.outputs:
            sends[SUBSCRIBER] = [OUTPUT + output.name for output in part.plan.query.outputs]
            addresses[SUBSCRIBER] = self.settings.subscriber
        return Peers(
            part.node,
            fingerprint=part.fingerprint,
            key=self.settings.key,
            streams=part.wire_streams(),
            sends=sends,
            senders={sender for _, sender in part.receives},
            addresses=addresses,
            handler=self,
            log=self.log,
            timing=self.settings.timing,
            listener=self._listener,
            most_kept=self.settings.most_kept,
            machine=self.machine,
            incarnation=kept.checkpoint.incarnation if kept is not None else "",
            frames=None if self._state is None else self._state.frames,
        )

    def stop(self) -> None:
        """From the handler of a signal: no more input; what is inside is finished."""
        self.stopped = True
        if self._time is not None:
            self._time.post_by_signal(self._stop)

    def _stop(self) -> None:
        assert self._time is not None
        self.log.note("stopping")
        self._time.stop()

    # ---------------------------------------------------------------- from the I/O thread

    def _running(self) -> tuple[WallTime, OtherNodes]:
        assert self._time is not None
        assert self._others is not None
        return self._time, self._others

    def rows(self, stream: str, rows: list[Sent], place: FramePlace) -> None:
        run, others = self._running()
        run.post(others.take_rows, stream, rows, place)

    def mark(self, stream: str, mark: int, place: FramePlace) -> None:
        run, others = self._running()
        run.post(others.take_mark, stream, mark, place)

    def ended(self, stream: str, place: FramePlace) -> None:
        run, others = self._running()
        run.post(others.take_end, stream, place)

    def lost(self, peer: str) -> None:
        run, others = self._running()
        run.post(others.take_loss, peer)

    def back(self, peer: str) -> None:
        run, others = self._running()
        run.post(others.take_return, peer)

    def tick(self, now: int) -> None:
        """A lost peer is given up when it stays away and all else has ended; who watches is told
        how the node stands."""
        assert self._peers is not None
        run, _ = self._running()
        if self._live_counts is not None:
            self._live_counts.tell(now, run, self._dropped)
        give_up = self.settings.timing.give_up
        for peer in {sender for _, sender in self.part.receives}:
            since = self._peers.liveness.lost_since(peer)
            if since is not None and now - max(since, self._asked.get(peer, since)) > give_up:
                self._asked[peer] = now - give_up * 3 // 4
                run.post(self._give_up, peer)

    def failed(self, error: BaseException) -> None:
        """A node that can neither send nor receive is no node: the run ends at once."""
        run, _ = self._running()
        run.post(self._end, error)

    def _end(self, error: BaseException) -> None:
        raise NodeFailed(
            f"node {self.part.node!r}: the thread of its connections has died: {error!r}"
        ) from error

    def _give_up(self, peer: str) -> None:
        _, others = self._running()
        if others.give_up(peer):
            self.log.note("peer given up", peer=peer)

    # ---------------------------------------------------------------- from the kernel

    def _publish(self, output: str, row: Row, completed: int) -> None:
        if self.settings.subscriber is not None:
            assert self._peers is not None
            self._send_out(OUTPUT + output, Sent(row, completed, False))

    def _drop(self, dropped: Dropped, now: int) -> None:
        at = self._dropped.setdefault(dropped.kind.value, Counter())
        at[dropped.where] += 1
        if at[dropped.where] <= NOTED:
            facts = {"where": dropped.where, "reason": dropped.reason}
            facts["row"] = repr(dropped.row)[:MOST_TEXT]
            self.log.note("dropped", kind=dropped.kind.value, engine_time=now, **facts)

    def _behind(self, behind: Behind) -> None:
        if self._keeping_up.warnings <= NOTED:
            self.log.note("behind", lag_ns=behind.lag, backlog=behind.backlog, what=str(behind))
