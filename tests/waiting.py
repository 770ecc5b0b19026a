"""Waiting for what must happen some time, on a machine that may have other things to do.

No test asks how long something took. The limits here only end a test that has failed already, so
they are far beyond what a busy machine needs.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0
"""below the limit of pytest-timeout, which would end the whole process"""


def until(condition: Callable[[], object], every: float = 0.01) -> None:
    """Returns when the condition holds; it is looked at every so many seconds."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, f"it did not happen in {PATIENCE_S:g} s"
        time.sleep(every)
