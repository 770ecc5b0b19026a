"""Ctrl-C during a run by the wall clock: the run ends, and what it has given so far is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from headway.engine.jobs import Lost


@dataclass(frozen=True, kw_only=True)
class Interruption:
    """A signal has ended a run, and this is what it did not finish, in tuples and open groups of
    windows. ``not_taken_in``: arrivals of the recording that were not even begun."""

    signal: signal.Signals
    waiting: int
    gathered: int
    open_groups: int
    not_taken_in: int

    @property
    def counts(self) -> dict[str, int]:
        return {name: count for name, count in asdict(self).items() if name != "signal"}

    def __str__(self) -> str:
        return (
            f"{self.waiting:,} tuples waited, {self.gathered:,} were being "
            f"gathered, {self.open_groups:,} groups of windows were open, "
            f"{self.not_taken_in:,} arrivals were not taken in"
        )


def interruption(by: signal.Signals, lost: Lost | None, not_taken_in: int) -> Interruption:
    """``lost``: of the vehicle that was under way, if one was."""
    lost = lost or Lost(0, 0, 0, 0)
    return Interruption(
        signal=by,
        waiting=lost.waiting,
        gathered=lost.gathered,
        open_groups=lost.groups,
        not_taken_in=not_taken_in,
    )


@contextmanager
def caught_once(
    signals: Sequence[signal.Signals], take: Callable[[signal.Signals], None]
) -> Iterator[None]:
    """The first of these signals is given to ``take``. After that they do what they did before, and
    so they do in threads other than the main one, where Python hears of none."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in signals}

    def restore() -> None:
        for one, handler in before.items():
            signal.signal(one, handler)

    def caught(number: int, frame: object) -> None:
        restore()
        take(signal.Signals(number))

    for one in before:
        signal.signal(one, caught)
    try:
        yield
    finally:
        restore()
