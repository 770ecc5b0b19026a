"""Which failures of a stream are over when it starts again.

Restarting is safe: a micro-batch that was not committed is computed again and replaces its own
files. It is no use where the same input would fail in the same way.
"""

from __future__ import annotations

MOST_RESTARTS = 5
PASSING = (
    "OptionalDataException",  # seen rarely when Spark reads its own checkpoint after a kill
    "Connection refused",
    "Connection reset",
    "ExecutorLostFailure",
    "Python worker exited unexpectedly",
    "worker lost",
)


def may_restart(failure: str, restarts: int) -> bool:
    return restarts < MOST_RESTARTS and any(sign in failure for sign in PASSING)
