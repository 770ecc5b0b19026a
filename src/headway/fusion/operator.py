"""The sensor data fusion operator (SDFO): the windows, the right order, and what is refused.

A subclass says what a row means (:meth:`SensorFusion.read`), how an estimate starts, moves and
learns (``first``, ``predict``, ``update``) and what goes out (``emit``). It keeps nothing of an
object outside the object's :class:`FilterState`, so that replaying measurements gives the same
numbers again.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Generic

from headway.errors import QueryError
from headway.fusion.association import Association
from headway.fusion.columns import check_keys, window
from headway.fusion.refused_tuples import RefusalReason, Refusals, Refused
from headway.fusion.snapshots import pack_track, unpack_track
from headway.fusion.state import FilterState, TrackState, believed
from headway.fusion.track import Key, Measurement, Reading, Track, Unused
from headway.model.user_operator import (
    ItemByItem,
    OperatorContext,
    Row,
    State,
    UserOperator,
    run_to_end,
)

SINGLE_OBJECT = ""


class SensorFusion(UserOperator, Generic[Reading]):
    """Fuses measurements object by object, each with the right earlier estimate.

    ``too_late``, ``unusable`` and ``unstarted`` count the tuples in no estimate; :meth:`take_late`
    hands them over.
    """

    takes_correlated: ClassVar[bool] = False
    """whether the class can fuse reports whose errors are not independent (``correlated``)"""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        check_keys(context)
        self._rear = window(context, "rear")
        # What is older than the rear window is never fused again, so it need not be kept.
        self._front = min(window(context, "front"), self._rear)
        self._places = {
            port: tuple(
                None if key is None else schema.names.index(key) + 1
                for key in (context.windows.get("object_key"), context.windows.get("sensor_key"))
            )
            for port, schema in context.inputs.items()
        }
        self._tracks: dict[Key, Track[Reading]] = {}
        self._newest: int | None = None
        self._next_drop: int | None = None
        self._arrivals = 0
        self._refusals = Refusals()
        self._association = self._associating(context)
        self.correlated = bool(context.windows.get("correlated"))
        if self.correlated and not self.takes_correlated:
            raise QueryError(
                f"{type(self).__name__} takes no reports whose errors are correlated",
                at="correlated",
                want="leave it out, or use headway.fusion.surroundings:SurroundingsFusion",
            )

    def _associating(self, context: OperatorContext) -> Association[Reading] | None:
        gate = context.windows.get("gate")
        if gate is None:
            return None
        if type(self).distance is SensorFusion.distance:
            raise QueryError(
                f"{type(self).__name__} cannot have a gate: it does not say how far a measurement "
                "is from an estimate",
                at="gate",
                want="define its method 'distance', or leave the gate out",
            )
        return Association(self, gate.accept, gate.confirm, self._rear)

    # -------------------------------------------------------------- what a subclass says

    @abstractmethod
    def read(self, port: str, row: Row) -> Reading | None:
        """What the row measures; None when it is unusable."""

    @abstractmethod
    def first(self, object: Key, measurement: Measurement[Reading]) -> FilterState | None:
        """The estimate that a measurement of an unknown object gives; None when it cannot start
        one."""

    @abstractmethod
    def predict(self, state: FilterState, to: int) -> FilterState:
        """The estimate for a later moment (microseconds)."""

    @abstractmethod
    def update(self, state: FilterState, measurement: Measurement[Reading]) -> FilterState:
        """The estimate, knowing the measurement too; ``state`` is for the measurement's moment."""

    def distance(
        self, state: FilterState, measurement: Measurement[Reading]
    ) -> tuple[float, int] | None:
        """The squared Mahalanobis distance of the measurement from what the estimate, which is for
        its moment, lets expect, and of how many measured numbers (1 to 4) it is; None for one that
        does not tell where its object is. Only a query with a ``gate`` asks."""
        return None

    @abstractmethod
    def emit(self, at: int, measured: Sequence[Key]) -> Iterable[Row]:
        """The output of one execution: ``at`` is the time of its newest measurement, ``measured``
        are the objects it measured, in the order of their keys."""

    # -------------------------------------------------------------- one execution

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return run_to_end(self.in_items(inputs, now, timed_out=False))

    def in_items(
        self, inputs: Mapping[str, Sequence[Row]], now: int, *, timed_out: bool
    ) -> ItemByItem:
        """Reads and sorts what has come, fuses it measurement by measurement, then emits; others
        may go first between any two of these."""
        fused: dict[Key, list[Measurement[Reading]]] = {}
        newest = self._newest
        oldest_of_unknown = None if newest is None else newest - self._rear
        for object, measurement in self._measurements(inputs):
            track = self._tracks.get(object)
            oldest = track.newest - self._front if track else oldest_of_unknown
            if oldest is not None and measurement.timestamp < oldest:
                self._refuse(RefusalReason.LATE, measurement)
            else:
                fused.setdefault(object, []).append(measurement)
        if not fused:
            return ()
        yield
        for object, batch in fused.items():
            yield from self._fuse(object, batch)
        at = max(batch[-1].timestamp for batch in fused.values())
        self._newest = at if newest is None else max(at, newest)
        rows = list(self.emit(at, sorted(fused)))
        self._drop_unseen()
        return rows

    def _measurements(
        self, inputs: Mapping[str, Sequence[Row]]
    ) -> list[tuple[Key, Measurement[Reading]]]:
        """The usable tuples in the order (timestamp, sensor, arrival), each with its object."""
        found: list[tuple[Key, Measurement[Reading]]] = []
        for port, (object_place, sensor_place) in self._places.items():
            for row in inputs.get(port, ()):
                object = SINGLE_OBJECT if object_place is None else row[object_place]
                sensor = port if sensor_place is None else row[sensor_place]
                self._arrivals += 1
                reading = self.read(port, row)
                if reading is None or object is None or sensor is None or row[0] is None:
                    self._refusals.add(RefusalReason.UNUSABLE, port, row)
                else:
                    found.append(
                        (object, Measurement(row[0], sensor, self._arrivals, port, row, reading))
                    )
        if len(found) > 1:
            found.sort(key=lambda pair: pair[1][:3])
        return found

    def _fuse(self, object: Key, batch: list[Measurement[Reading]]) -> Iterator[None]:
        track = self._tracks.get(object)
        if track is None:
            track = self._tracks[object] = Track(object)
        yield from track.fuse(batch, self._association or self)
        for unused in track.prune(self._front, self._rear):
            self._refuse_unused(unused)

    def step(
        self, object: Key, state: TrackState | None, measurement: Measurement[Reading]
    ) -> TrackState | None:
        """What is known of an object after one more measurement, without a gate. On an estimate
        older than the rear window nothing is built: the object is met anew."""
        timestamp = measurement.timestamp
        if state is None or timestamp - state.timestamp > self._rear:
            return self.first(object, measurement)
        return self.update(self.predict(believed(state), timestamp), measurement)

    def _drop_unseen(self) -> None:
        """Forgets objects whose estimates nothing that may still come in time could be built upon.

        A measurement may come as late as the rear window is long, and builds on an estimate at most
        as old as that again: so after twice its length.
        """
        newest = self._newest
        if newest is None or (self._next_drop is not None and newest <= self._next_drop):
            return
        kept = 2 * self._rear
        unseen = [track for track in self._tracks.values() if track.newest < newest - kept]
        if self._association is not None:
            # What is told of them has the same order after a restart, which sorts them by key.
            unseen.sort(key=lambda track: track.object)
        for track in unseen:
            for unused in track.unused():
                self._refuse_unused(unused)
            del self._tracks[track.object]
        # Newest times only grow, and a new object is at most a rear window old.
        self._next_drop = min(
            [track.newest + kept for track in self._tracks.values()] + [newest + self._rear]
        )

    # -------------------------------------------------------------- what can be asked

    def estimate(self, object: Key, at: int) -> FilterState | None:
        """The object's estimate for a moment, by what was measured up to then; None when unknown or
        not measured for longer than the rear window."""
        track = self._tracks.get(object)
        state = track.state_at(at) if track else None
        if state is None or at - state.timestamp > self._rear:
            return None
        return self.predict(believed(state), at)

    def front_window(self, object: Key, sensor: Key) -> list[Row]:
        """The rows of one sensor about one object that are kept, in their order."""
        track = self._tracks.get(object)
        return [m.row for m in track.measurements if m.sensor == sensor] if track else []

    def rear_window(self, object: Key) -> list[FilterState]:
        """The estimates of an object that are kept, oldest first."""
        track = self._tracks.get(object)
        return [believed(state) for state in track.states if state is not None] if track else []

    @property
    def objects(self) -> list[Key]:
        """The objects that are kept, in the order of their keys."""
        return sorted(self._tracks)

    # -------------------------------------------------------------- what is in no estimate

    @property
    def too_late(self) -> int:
        return self._refusals.counts[RefusalReason.LATE]

    @property
    def unusable(self) -> int:
        return self._refusals.counts[RefusalReason.UNUSABLE]

    @property
    def unstarted(self) -> int:
        return self._refusals.counts[RefusalReason.UNSTARTED]

    @property
    def outside(self) -> int:
        """Only with a gate."""
        return self._refusals.counts[RefusalReason.OUTSIDE]

    def _refuse_unused(self, unused: Unused[Reading]) -> None:
        reason = RefusalReason.OUTSIDE if unused.outside else RefusalReason.UNSTARTED
        self._refuse(reason, unused.measurement)

    def _refuse(self, reason: RefusalReason, measurement: Measurement[Reading]) -> None:
        self._refusals.add(reason, measurement.port, measurement.row)

    def take_refused(self) -> list[Refused]:
        """The tuples in no estimate, with the reason and the port, since the last call."""
        return self._refusals.take()

    def take_late(self) -> list[Row]:
        """The rows of :meth:`take_refused`, for an output that does not ask why."""
        return [refused.row for refused in self.take_refused()]

    # -------------------------------------------------------------- state as plain data

    def snapshot(self) -> State:
        return {
            "newest": self._newest,
            "arrivals": self._arrivals,
            "refusals": self._refusals.pack(),
            "tracks": [pack_track(self._tracks[object]) for object in self.objects],
        }

    def restore(self, state: State) -> None:
        self._newest = state["newest"]
        self._next_drop = None
        self._arrivals = state["arrivals"]
        self._refusals.unpack(state["refusals"])
        tracks = [unpack_track(packed, self.read) for packed in state["tracks"]]
        self._tracks = {track.object: track for track in tracks}
