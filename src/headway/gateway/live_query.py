"""A query fed by messages, whose outputs are messages, for as long as wanted.

The engine runs in the caller's thread, in wall-clock time. Every source is live; what comes at its
address goes through an :class:`~headway.gateway.inlet.Inlet`. Every output has a thread that speaks
its tuples and writes them down, piece by piece, so that memory does not grow with the run.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from headway.engine.kernel import Kernel
from headway.engine.live_run import LiveRun
from headway.engine.operator_counts import counts_of_kernel, dropped_at
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.output_sinks import OutputSink, ParquetSink, TableWriter
from headway.engine.result_tables import (
    SIDE_SCHEMA,
    free_name,
    output_schema,
    output_table,
    side_table,
)
from headway.engine.results import OutputRecord, SideOutput
from headway.engine.run_folder import RunFolder
from headway.engine.waiting_room import WhenFull
from headway.engine.wall_engine import Subscription, WallEngine
from headway.errors import InputError, Problem
from headway.gateway.addresses import Address
from headway.gateway.gateway_base import Listener, MessageGateway, Speaker, Spoken, address_of
from headway.gateway.inlet import Inlet, InletCounts
from headway.gateway.message_columns import message_names
from headway.model.plan import Plan
from headway.model.query import Criticality, Output, Source
from headway.model.schema import Schema

QUARANTINE = "_quarantine"
WAITING = 65_536
"""tuples of an output that may wait to be spoken; more are counted and not spoken"""
PIECE_ROWS, PIECE_S = 5_000, 5.0
"""an output is written down when so many tuples are there, or so long after the last time"""
PATIENCE_S = 10.0
"""that a broker gets at the end for its acknowledgements"""


@dataclass(frozen=True, kw_only=True)
class Links:
    """Addresses of sources and outputs, by name, looked up and checked: InputError for all that is
    wrong with them at once. Every source needs one; outputs without are only written down."""

    sources: Mapping[str, tuple[MessageGateway, Address]]
    outputs: Mapping[str, tuple[MessageGateway, Address]]

    @classmethod
    def of(cls, plan: Plan, sources: Mapping[str, str], outputs: Mapping[str, str]) -> Links:
        query = plan.query
        known = {
            "source": ([one.name for one in query.sources], sources),
            "output": ([one.name for one in query.outputs], outputs),
        }
        problems = [
            Problem(f"there is no {kind} {name!r}", want=f"there are {', '.join(names)}")
            for kind, (names, given) in known.items()
            for name in given
            if name not in names
        ]
        problems += [
            Problem(f"source {one.name!r} has no address", want=f"add --source {one.name}=ADDRESS")
            for one in query.sources
            if one.name not in sources
        ]
        found: dict[str, tuple[MessageGateway, Address]] = {}
        for name, text in [*sources.items(), *outputs.items()]:
            try:
                found[text] = address_of(text)
            except InputError as error:
                problems += [one.within(name) for one in error.problems]
        if problems:
            raise InputError(problems)
        return cls(
            sources={name: found[text] for name, text in sources.items()},
            outputs={name: found[text] for name, text in outputs.items()},
        )


@dataclass(slots=True)
class OutputCounts:
    """Tuples of an output: ``missed`` their deadline; ``unspoken`` because too many waited; what
    became of the others as messages. Latencies in ns."""

    tuples: int = 0
    missed: int = 0
    latency_max: int = 0
    unspoken: int = 0
    spoken: Spoken | None = None
    error: str = ""


@dataclass(frozen=True)
class LiveOutcome:
    """What a live run came to."""

    sources: Mapping[str, InletCounts]
    outputs: Mapping[str, OutputCounts]
    dropped: Mapping[str, Mapping[str, int]]
    """kind -> where -> how many"""
    interrupted: bool

    def hard_misses(self, plan: Plan) -> list[str]:
        hard = [o.name for o in plan.query.outputs if o.criticality is Criticality.HARD]
        return [name for name in hard if self.outputs[name].missed]

    def data(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "sources": {
                name: {
                    "taken": one.taken,
                    "refused": dict(sorted(one.refused.items())),
                    "again": one.again,
                }
                for name, one in self.sources.items()
            },
            "outputs": {name: _output_data(one) for name, one in self.outputs.items()},
            "dropped_at": {kind: dict(at) for kind, at in self.dropped.items()},
            "interrupted": self.interrupted,
        }


def _output_data(one: OutputCounts) -> dict[str, Any]:
    data: dict[str, Any] = {
        "tuples": one.tuples,
        "missed": one.missed,
        "latency_max_ns": one.latency_max,
    }
    if one.spoken is not None:
        data |= {
            "given": one.spoken.given,
            "acknowledged": one.spoken.acknowledged,
            "refused": one.spoken.refused,
        }
        if one.spoken.why:
            data["refused_because"] = one.spoken.why
    if one.unspoken:
        data["unspoken"] = one.unspoken
    if one.error:
        data["error"] = one.error
    return data


@dataclass(kw_only=True)
class LiveQuery:
    """One run. ``sink`` writes outputs down in ``folder``; ``on_event`` is told of connections."""

    plan: Plan
    links: Links
    folder: RunFolder
    policy: str = "s-edf"
    most_waiting: int | None = None
    when_full: WhenFull = WhenFull.SHED
    sink: OutputSink = field(default_factory=lambda: ParquetSink({}))
    watch: LiveRun | None = None
    on_event: Callable[[str, str], None] = lambda where, what: None

    def __post_init__(self) -> None:
        self._stopping = threading.Event()
        self.listening = False
        """all sources are listened to"""
        self.inlets: dict[str, Inlet] = {}
        """by source, while it runs and after"""
        self._drops = _DropWriter(self.plan, self.folder)
        self._engine = WallEngine(
            plan=self.plan,
            policy=self.policy,
            live=frozenset(source.name for source in self.plan.query.sources),
            most_waiting=self.most_waiting,
            when_full=self.when_full,
            on_drop=self._drops.take,
            watch=self.watch,
            keep_trace=False,
            keep_outputs=False,
        )

    def stop(self) -> None:
        """Takes no more messages and finishes what is inside; from any thread, or the handler of a
        signal."""
        self._stopping.set()

    def interrupt(self) -> None:
        """Ends the run at the next border of an operator."""
        self._stopping.set()
        self._engine.interrupt()

    def run(self, stop_after: float | None = None) -> LiveOutcome:
        """Until it is stopped, or for so many seconds."""
        schemas = dict(self.plan.schemas)
        with ExitStack() as open_now:
            outlets = [
                self._outlet(output, schemas[output.stream], open_now)
                for output in self.plan.query.outputs
            ]
            open_now.callback(self._drops.close)
            for source in self.plan.query.sources:
                self.inlets[source.name] = self._inlet(source)
            listening: list[Listener] = []
            stopper = threading.Thread(
                target=self._stop_in_time, args=(listening, stop_after), daemon=True
            )
            try:
                for name, inlet in self.inlets.items():
                    gateway, address = self.links.sources[name]
                    listening.append(gateway.listen(address, inlet))
                self.listening = True
                stopper.start()
                result = self._engine.run()
            finally:
                self._stopping.set()
                if stopper.is_alive():
                    stopper.join()
                else:
                    for one in listening:
                        one.close()
                for outlet in outlets:
                    outlet.finish()
            assert isinstance(result.kernel, Kernel)
            counts = counts_of_kernel(result.kernel, self._drops.counts)
        return LiveOutcome(
            sources={name: inlet.counts() for name, inlet in self.inlets.items()},
            outputs={outlet.name: outlet.counts for outlet in outlets},
            dropped=dropped_at(counts),
            interrupted=result.lost is not None,
        )

    def _inlet(self, source: Source) -> Inlet:
        _, address = self.links.sources[source.name]
        return Inlet(
            source,
            self._engine.feed,
            self.folder.folder / QUARANTINE,
            on_event=self._event,
            names=message_names(address, source.schema),
            stamped_here=address.one_of("stamp", "sent", "arrival") == "arrival",
            once=address.whole("once", 0, 0, 10_000_000),
        )

    def _outlet(self, output: Output, schema: Schema, open_now: ExitStack) -> _Outlet:
        link = self.links.outputs.get(output.name)
        speaker = None if link is None else link[0].speak(link[1], output.name, schema)
        if speaker is not None:
            open_now.callback(speaker.close, PATIENCE_S)
        writer = self.sink.open(output.name, output_schema(schema), self.folder)
        open_now.callback(writer.close)
        subscription = self._engine.applications.subscribe(output.name, size=WAITING)
        return _Outlet(output, schema, subscription, writer, speaker)

    def _stop_in_time(self, listening: list[Listener], stop_after: float | None) -> None:
        self._stopping.wait(stop_after)
        for one in listening:
            one.close()
        self._engine.close()

    def _event(self, where: str, what: str) -> None:
        if self.watch is not None:
            self.watch.event(where, what)
        self.on_event(where, what)


class _Outlet:
    """The thread of an output."""

    def __init__(
        self,
        output: Output,
        schema: Schema,
        subscription: Subscription,
        writer: TableWriter,
        speaker: Speaker | None,
    ) -> None:
        self.name = output.name
        self.counts = OutputCounts(spoken=None if speaker is None else speaker.spoken)
        self._output, self._schema, self._subscription = output, schema, subscription
        self._writer, self._speaker = writer, speaker
        self._names = [field.name for field in schema.columns]
        self._thread = threading.Thread(target=self._work, name=f"output {self.name}", daemon=True)
        self._thread.start()

    def _work(self) -> None:
        """What fails ends the output's writing and speaking, not the run: the summary tells."""
        deadline, hard = self._output.deadline or 0, self._output.criticality is Criticality.HARD
        piece = OutputRecord(self.name, deadline, self._output.weight, hard)
        counts, written = self.counts, time.monotonic()
        try:
            for given in self._subscription:
                counts.tuples += 1
                counts.missed += given.missed
                counts.latency_max = max(counts.latency_max, given.latency)
                if self._speaker is not None:
                    self._speaker.say(dict(zip(self._names, given.row, strict=True)))
                piece.rows.append(given.row)
                piece.completed.append(given.completed)
                if len(piece) >= PIECE_ROWS or time.monotonic() - written >= PIECE_S:
                    self._write(piece)
                    written = time.monotonic()
            self._write(piece)
        except Exception as error:  # noqa: BLE001 - a full disk, a broker's refusal
            counts.error = f"{type(error).__name__}: {error}"

    def _write(self, piece: OutputRecord) -> None:
        if piece.rows:
            self._writer.write_table(output_table(piece, self._schema))
            piece.rows.clear()
            piece.completed.clear()

    def finish(self) -> None:
        """All that the engine gave is spoken and written."""
        self._subscription.close()
        self._thread.join()
        self.counts.unspoken = self._subscription.overflowed


class _DropWriter:
    """What left its way, counted and written down piece by piece, in the engine's thread."""

    def __init__(self, plan: Plan, folder: RunFolder) -> None:
        self._plan = plan
        self.counts: Counter[tuple[str, str]] = Counter()
        self._piece = SideOutput()
        taken = {output.name for output in plan.query.outputs}
        self._writers = {
            kind: ParquetSink({}).open(free_name(kind.value, taken), SIDE_SCHEMA, folder)
            for kind in DropKind
        }

    def take(self, dropped: Dropped, now: int) -> None:
        self.counts[dropped.where, dropped.kind] += 1
        self._piece.take(dropped, now)
        if len(self._piece.dropped) >= PIECE_ROWS:
            self._write()

    def _write(self) -> None:
        for kind, writer in self._writers.items():
            table = side_table(self._piece, kind, self._plan)
            if table.num_rows:
                writer.write_table(table)
        self._piece.dropped.clear()

    def close(self) -> None:
        self._write()
        for writer in self._writers.values():
            writer.close()
