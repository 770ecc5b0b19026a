"""When a streaming query that failed is started again: later each time, and not for ever.

Restarting is safe, since a micro-batch that was not committed is computed again and replaces its
own files. It helps where the failure passes (:data:`headway.spark.session.spark_failures.PASSING`):
a cluster that just lost a machine is given longer each time. A query that has done well for a while
has healed: failures days apart do not add up to the last one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from headway.spark.session.spark_failures import passes

MOST_RESTARTS = 5
"""in a row"""
FIRST_WAIT_S = 1.0
LONGEST_WAIT_S = 60.0
GOOD_BATCHES = 20
"""micro-batches without a failure after which none counts any more"""


@dataclass
class Restarts:
    """Of one query. ``total`` is for the summary; ``in_a_row`` is what heals."""

    clock: Callable[[], float] = time.monotonic
    total: int = 0
    in_a_row: int = 0
    _due: float | None = None
    _batches: int = 0
    """done when it was last started"""

    def note(self, batches: int) -> None:
        """It runs, and has done so many micro-batches in all."""
        if self.in_a_row and batches - self._batches >= GOOD_BATCHES:
            self.in_a_row = 0

    def failed(self, failure: str) -> bool:
        """Whether it is to be started again, at the time that :meth:`is_due` tells."""
        if self._due is not None:
            return True
        if self.in_a_row >= MOST_RESTARTS or not passes(failure):
            return False
        self._due = self.clock() + self.wait_s
        return True

    @property
    def wait_s(self) -> float:
        """Before the next start."""
        return min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0**self.in_a_row)

    @property
    def is_due(self) -> bool:
        return self._due is not None and self.clock() >= self._due

    def started(self, batches: int) -> None:
        """It was started again, having done so many micro-batches before."""
        self._due, self._batches = None, batches
        self.total += 1
        self.in_a_row += 1
