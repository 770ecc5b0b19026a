"""What Spark throws, in Headway's words, and which failures are over when it starts again.

An error is one line that says what to do, instead of a stack. Restarting a stream is safe: a
micro-batch that was not committed is computed again and replaces its own files. It is no use where
the same input would fail in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

import headway.errors as errors
from headway.errors import EnvironmentMissing, FileError, HeadwayError, InputError
from headway.sources.parquet_file import NOT_PARQUET

_OURS = re.compile(r"headway\.errors\.(\w+): (.*)")
_PATH = re.compile(r"(?:file:)?/*(/[^\s'\"]+?\.parquet)\b")
_DISK = ("No space left on device", "Disk quota exceeded")
_HALF = ("is not a Parquet file", "FAILED_READ_FILE", "CANNOT_READ_FILE", "footer",
         "Could not read")  # fmt: skip


@contextmanager
def translated() -> Iterator[None]:
    """Spark's exceptions raised inside come out as Headway's."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise explained(error) from error


def explained(error: BaseException) -> HeadwayError:
    """The error in Headway's words; what is not known is quoted by its first lines."""
    text = str(error)
    if (found := _OURS.search(text)) is not None:
        kind = getattr(errors, found[1], InputError)
        return InputError(found[2]) if not issubclass(kind, InputError) else kind(found[2])
    if any(sign in text for sign in _DISK):
        return EnvironmentMissing(
            "The disk of the output, the checkpoint or Spark's own files is full. What was "
            "committed is whole; make room and run the same command again, it continues."
        )
    path = _PATH.search(text)
    if path is not None and any(sign in text for sign in _HALF):
        return FileError(
            NOT_PARQUET,
            place=errors.Place(path[1]),
            want="write files under another name and rename them when they are complete",
        )
    if "shut down" in text or "stopped SparkContext" in text:
        return EnvironmentMissing(f"Spark went away while the query ran: {_first_lines(text)}")
    return SparkFailed(f"Spark could not run the query: {_first_lines(text)}")


class SparkFailed(HeadwayError):
    """Spark failed in a way that Headway has no better words for."""


def _first_lines(text: str) -> str:
    told = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in told if not line.startswith(("at ", "File ", "Traceback", "===", ":"))]
    return " ".join(told[:3])[:600] or "it gave no reason"


PASSING = (
    "OptionalDataException",  # seen rarely when Spark reads its own checkpoint after a kill
    "Connection refused",
    "Connection reset",
    "ExecutorLostFailure",
    "Python worker exited unexpectedly",
    "Python worker failed to connect back",  # Spark gives it ten seconds, whatever else runs
    "worker lost",
)


def passes(failure: str) -> bool:
    """Whether the same may work when it is tried again."""
    return any(sign in failure for sign in PASSING)
