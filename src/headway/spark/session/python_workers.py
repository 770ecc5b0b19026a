"""Spark's Python workers: what a function does first in one, and which of them step back.

Spark keeps workers apart by the environment that their functions ask for. Soft outputs that run
beside hard ones get workers of their own: a hard micro-batch never finds the workers it used before
taken and waits for new ones to start, and the kernel gives soft workers the processor time that
nobody else wants. A slot that is reserved is of no use while its core is taken.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, KeysView, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHANGING = threading.Lock()
STEP_BACK = "HEADWAY_NICE"
"""in a worker's environment: how far it steps back, as for nice(1)"""
FAR = 10


class ThreadsEnvironment(dict[str, str]):
    """What Spark's context asks for its workers, with something of each thread's own: streams hand
    functions to Spark in every micro-batch, several of them at the same time."""

    def __init__(self, shared: Mapping[str, str]) -> None:
        super().__init__(shared)
        self.own = threading.local()

    def _added(self) -> dict[str, str]:
        found: dict[str, str] = getattr(self.own, "added", {})
        return found

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return {**dict(super().items()), **self._added()}.keys()

    def __getitem__(self, name: str) -> str:
        added = self._added()
        return added[name] if name in added else super().__getitem__(name)


@contextmanager
def modest_workers(spark: SparkSession) -> Iterator[None]:
    """Functions that this thread hands to Spark in this block run in workers that step back."""
    context = spark.sparkContext
    with _CHANGING:
        if not isinstance(context.environment, ThreadsEnvironment):
            context.environment = ThreadsEnvironment(context.environment)
    own = context.environment.own
    own.added = {STEP_BACK: str(FAR)}
    try:
        yield
    finally:
        own.added = {}


def step_back() -> None:
    """In a worker, or in the process that starts them: once, if its environment says so."""
    if how_far := os.environ.pop(STEP_BACK, None):
        os.nice(int(how_far))


def enter(paths: Sequence[str]) -> None:
    """What a function does first in a worker: ``paths`` are where the driver finds modules."""
    step_back()
    sys.path.extend(path for path in paths if path not in sys.path)
