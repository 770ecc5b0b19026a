"""The process that Spark starts its Python workers from, with their modules already loaded.

Spark's own loads nothing, so every worker that starts, also in the middle of a stream, spends about
a second of processor time on imports. Its reason is that threads do not survive a fork; of what is
loaded here only the allocator of Arrow has one, and it starts that again in the child.
"""

from __future__ import annotations

import gc

import pyspark.worker
from pyspark.daemon import manager

import headway.spark.sources.checked_files
import headway.spark.state.task_files
from headway.spark.session.python_workers import step_back

LOADED = (pyspark.worker, headway.spark.sources.checked_files, headway.spark.state.task_files)

if __name__ == "__main__":
    step_back()
    # Spark's workers collect garbage after every task. Without this they would look through all
    # that is loaded here each time, 50 ms, while the next task waits.
    gc.freeze()
    manager()
