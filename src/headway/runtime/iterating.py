"""An output of a virtual-time run as an iterator: the run goes on as its reader asks for more."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator

from headway.model.quantities import MICROSECOND
from headway.runtime.operators.base import Row
from headway.runtime.results import OutputTuple

AHEAD = 256
"""tuples that a run may be ahead of its reader"""


class _Enough(BaseException):
    """The reader has gone; no handler of ordinary errors may catch this."""


class Handover:
    """Between the thread of a run and the reader of one of its outputs. Virtual time stands still
    while the reader is slow, so nothing is lost and the order is that of the run."""

    def __init__(self, output: str, deadline: int) -> None:
        self._output, self._deadline = output, deadline
        self._queue: queue.Queue[OutputTuple | BaseException | None] = queue.Queue(AHEAD)
        self._gone = threading.Event()

    def take(self, output: str, row: Row, completed: int) -> None:
        """For the engine's ``on_output``."""
        if output == self._output:
            self._put(OutputTuple(row, completed, row[0] * MICROSECOND + self._deadline))

    def _put(self, given: OutputTuple | BaseException | None) -> None:
        while not self._gone.is_set():
            try:
                self._queue.put(given, timeout=0.1)
                return
            except queue.Full:
                pass
        raise _Enough

    def read(self, run: Callable[[], object]) -> Iterator[OutputTuple]:
        """Runs, and yields what comes; an error of the run is raised here."""

        def work() -> None:
            try:
                try:
                    run()
                except Exception as error:  # noqa: BLE001 - handed over to the reader
                    self._put(error)
                self._put(None)
            except _Enough:
                pass

        thread = threading.Thread(target=work, name=f"run for {self._output}", daemon=True)
        thread.start()
        try:
            while (given := self._queue.get()) is not None:
                if isinstance(given, BaseException):
                    raise given
                yield given
        finally:
            self._gone.set()
            thread.join()
