"""Fixtures shared by the whole suite."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from headway.spark.session import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MINUTES = (
    "tests/spark/test_cluster.py",
    "tests/spark/test_kills.py::test_a_kill_leaves_no_trace[tyre",
)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: starting one takes seconds, and a process has only one Spark."""
    session = local_session(cores=2, app_name="headway-tests")
    yield session
    session.stop()


def pytest_configure() -> None:
    """pytest-xdist tells its workers a width of 80; output to a pipe is not folded at all."""
    os.environ.pop("COLUMNS", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need Spark, so that ``-m "not spark"`` is the quick run, and keeps them
    in one process when there are several: they share a session."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) or "tests/spark/" in item.nodeid:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
        if any(name in item.nodeid for name in MINUTES) and "HEADWAY_SLOW" not in os.environ:
            reason = "takes a minute or two: set HEADWAY_SLOW=1 to run it"
            item.add_marker(pytest.mark.skip(reason=reason))
