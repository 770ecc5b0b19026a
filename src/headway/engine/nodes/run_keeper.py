"""Keeps the run of a node, so that after a kill it is taken up where it was.

All that decides what a run does is what its clock shows and what comes to it, in their order
(:mod:`headway.engine.wall_time`). Both are written down before anything that follows from them
leaves the process. So the run can be done over again from its last checkpoint, operator by
operator, and gives what it gave; what was given already is not given twice
(:mod:`headway.engine.nodes.kept_links`). Then the clock is the machine's again.

A frame is acknowledged when it is written down here: one that the process had only received when it
was killed is still kept by the peer that sent it, and sent again.

A checkpoint is made between two jobs, once an interval, and when there has been no moment without
work for two of them, between jobs that wait. Its first half is the state of the run, taken in the
run's thread; its second the frames that peers have not acknowledged, added in the I/O thread when
that has come as far (:mod:`headway.engine.nodes.kept_links`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from headway.engine.clock import PacedClock
from headway.engine.nodes.kept_files import Journal, after_mark
from headway.engine.nodes.node_machine import Machine
from headway.engine.nodes.node_records import EventLog
from headway.engine.wall_time import Post

MOST_TIMES = 256
"""readings of the clock in one entry"""
NONE = -1
SHARE = 50
"""a checkpoint may take this part of the time: where it takes longer, there are fewer"""


class KeptRun(NamedTuple):
    """What was written down since a checkpoint. ``damage``: why there is no more of it."""

    entries: list[list[Any]]
    journal: int
    """which of the two journals is being written; NONE: neither can be believed"""
    alone: bool
    """whether the mark of the checkpoint is in that one"""
    last: int
    """the number of the last checkpoint that was begun"""
    damage: str


def read_taken(machine: Machine, folder: Path, node: str, checkpoint: int) -> KeptRun:
    """What a node took in since a checkpoint."""
    found = []
    for number, written in enumerate(journals(machine, folder, node)):
        entries, damage = written.read()
        if entries and entries[0][0] == "checkpoint":
            found.append((entries[0][1], number, entries, damage))
        elif damage:  # of its first line
            found.append((checkpoint, number, [], damage))
    found.sort(key=lambda one: one[:2])
    damaged = next((place for place, one in enumerate(found) if one[3]), len(found) - 1)
    for _, number, _, _ in found[damaged + 1 :]:  # what follows a hole is of no use
        machine.remove(journals(machine, folder, node)[number].path)
    found = found[: damaged + 1]
    damage = found[-1][3] if found else ""
    after = after_mark([entry for one in found for entry in one[2]], checkpoint)
    if after is None:
        missing = f"{folder / node}.taken.*: nothing since checkpoint {checkpoint}"
        return KeptRun([], NONE, True, checkpoint, damage or missing)
    _, journal, newest, _ = found[-1]
    last = max(entry[1] for entry in newest if entry[0] == "checkpoint")
    return KeptRun(after, journal, after_mark(newest, checkpoint) is not None, last, damage)


def journals(machine: Machine, folder: Path, node: str) -> list[Journal]:
    return [Journal(machine, folder / f"{node}.taken.{number}") for number in (0, 1)]


@dataclass(frozen=True)
class KeptPace(PacedClock):
    """The clock of a run that is kept; while one is done over again, what it showed then."""

    keeper: RunKeeper | None = field(default=None, repr=False)

    def now(self) -> int:
        assert self.keeper is not None
        shown = self.keeper.shown()
        if shown is not None:
            return shown
        return self.keeper.note_time(PacedClock.now(self))

    def work(self, duration: int) -> None:
        assert self.keeper is not None
        if not self.keeper.again:
            PacedClock.work(self, duration)


@dataclass(kw_only=True)
class RunKeeper:
    """``functions``: what may be posted to the run, by name. ``make``: a checkpoint of that number
    is to be made; it calls :meth:`committed` in the end. ``forget``: no checkpoint is to be
    believed. ``on_live``: what was kept has been done over again. ``on_kept``: what was
    taken in so far is written down."""

    machine: Machine
    folder: Path
    node: str
    interval: int
    log: EventLog
    functions: dict[str, Callable[..., None]] = field(default_factory=dict)
    can_be_kept: Callable[[], bool] = lambda: True
    make: Callable[[int], None] = lambda number: None
    forget: Callable[[], None] = lambda: None
    on_live: Callable[[], None] = lambda: None
    on_kept: Callable[[bool], None] = lambda kept: None
    number: int = 0
    """of the last checkpoint begun"""
    done: int = 0
    """of the last one that is on disk"""
    checkpoints: int = 0
    worst_pause: int = 0
    failures: int = 0
    differed: bool = False
    """the run that is done over again did not ask for the same things"""
    went_another_way: bool = False

    def __post_init__(self) -> None:
        self._journals = journals(self.machine, self.folder, self.node)
        self._current = 0
        self._alone = True
        """whether the mark of the last checkpoint on disk is in the current journal"""
        self._writes = False
        self._fresh = False
        """something was taken from the inbox since the last flush"""
        self._times: list[int] = []
        self._entries: deque[Any] = deque()
        """of the run that is to be done over again: times, and posts"""
        self.again = False
        self._due = 0
        self._names: dict[Callable[..., None], str] = {}

    def know(
        self,
        functions: Mapping[str, Callable[..., None]],
        again: Mapping[str, Callable[..., None]],
    ) -> None:
        """What may be posted, by name, and what takes it as it was written down where that is not
        the same."""
        self.functions = {**functions, **again}
        self._names = {function: name for name, function in functions.items()}

    # ---------------------------------------------------------------- beginning

    def take_up(self, kept: KeptRun, checkpoint: int) -> None:
        """Does over again what was kept since a checkpoint."""
        self.number = self.done = max(checkpoint, kept.last)
        self._current, self._alone = max(kept.journal, 0), kept.alone
        if kept.journal == NONE:
            self._journals[self._current].begin(checkpoint)
        else:
            self._journals[self._current].go_on()
        self._writes = True
        for entry in kept.entries:
            if entry[0] == "clock":
                self._entries.extend(entry[1:])
            else:
                self._entries.append(entry)
        self.again = True
        self._due = self.machine.now()

    # ---------------------------------------------------------------- the clock

    def shown(self) -> int | None:
        """What the clock showed here; None when it is to be looked at."""
        if not self.again:
            return None
        if self._entries and isinstance(self._entries[0], int):
            time: int = self._entries.popleft()
            return time
        if self._entries:  # it went another way: what came is not forgotten, but the times are
            self.differed = self.went_another_way = True
            self._entries = deque(one for one in self._entries if not isinstance(one, int))
            return None
        self.again = False
        self.on_live()
        return None

    def note_time(self, time: int) -> int:
        if self._writes and not self.differed:
            self._times.append(time)
            if len(self._times) >= MOST_TIMES:
                self._end_times()
        return time

    def _end_times(self) -> None:
        if self._times:
            self._journals[self._current].add(["clock", *self._times])
            self._times.clear()

    # ---------------------------------------------------------------- the inbox

    def next_post(self, inbox: deque[Post]) -> Post | None:
        if self.again:
            if self._entries and not isinstance(self._entries[0], int):
                _, name, *arguments = self._entries.popleft()
                return self.functions[name], tuple(arguments)
            if self._entries or not self.differed:
                return None
        if not inbox:
            return None
        function, arguments = inbox.popleft()
        name = self._names.get(function)
        if name is not None and self._writes:
            self._end_times()
            self._journals[self._current].add(["post", name, *arguments])
            self._fresh = True
        return function, arguments

    # ---------------------------------------------------------------- leaving

    def flush(self) -> None:
        """Something leaves the process: what it follows from is written down first."""
        if not self._writes or self.again:
            return
        self._end_times()
        try:
            self._journals[self._current].flush()
        except OSError as error:
            self.fail(error)
            return
        if self._fresh:
            self._fresh = False
            self.on_kept(True)

    def before_wait(self) -> bool:
        if self.again:
            return False
        self.flush()
        return True

    def fail(self, error: OSError) -> None:
        """What is kept cannot be written: then none is believed, until a checkpoint can be made."""
        self.failures += 1
        self._writes = False
        self._times.clear()
        self.done, self._alone = self.number, True
        self._due = self.machine.now() + self.interval
        self.forget()
        self.log.note_some("state not kept", reason=str(error))
        self.on_kept(False)

    # ---------------------------------------------------------------- checkpoints

    def between_jobs(self, *, idle: bool) -> None:
        if self.again or self.done != self.number:
            return
        now = self.machine.now()
        if now < self._due or not (idle or now >= self._due + self.interval):
            return
        if not self.can_be_kept():
            return
        self.flush()
        self.number += 1
        try:
            self._begin_piece()
        except OSError as error:
            self.fail(error)
            return
        self._writes, self.differed = True, False
        self.on_kept(True)
        self.make(self.number)
        pause = self.machine.now() - now
        self.worst_pause = max(self.worst_pause, pause)
        self._due = now + max(self.interval, SHARE * pause)

    def _begin_piece(self) -> None:
        """In the other journal, unless that one is still needed for the last checkpoint."""
        if not self._alone:
            self._journals[self._current].mark(self.number)
            self._journals[self._current].flush()
            return
        following = 1 - self._current
        self._journals[following].begin(self.number)
        self._journals[self._current].close()
        self._current = following

    def is_wanted(self, number: int) -> bool:
        """Whether a checkpoint that was begun may still be believed."""
        return self._writes and number == self.number

    def committed(self, number: int) -> None:
        """The checkpoint is on disk (called in the I/O thread)."""
        self._alone, self.done = True, number
        self.checkpoints += 1

    def close(self) -> None:
        for journal in self._journals:
            journal.close()

    def remove(self) -> None:
        for journal in self._journals:
            self.machine.remove(journal.path)
