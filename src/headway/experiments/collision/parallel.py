"""Trials side by side in processes of their own, results in the order of the tasks."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    function: Callable[[Task], Result], tasks: Sequence[Task], workers: int
) -> Iterator[Result]:
    """``function`` of every task; with one worker, or one task, in this process.

    Processes are started afresh (spawn), so a worker shares nothing with its parent, and a run
    with many workers gives what a run with one gives.
    """
    if workers <= 1 or len(tasks) <= 1:
        yield from map(function, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=context) as pool:
        try:
            yield from pool.map(function, tasks)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
