"""Fixtures shared by the whole suite."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from headway.spark.session.spark_session import local_session
from tests import exploring

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.studies.quick_run import QuickRun

exploring.load_profile()

MINUTES = (
    "tests/spark/test_cluster.py",
    "tests/spark/test_benchmarks.py::test_all_programs",
    "tests/spark/test_kills.py::test_a_kill_leaves_no_trace[tyre",
    "tests/contract/test_pipelines.py::test_a_second_run",
    "tests/contract/test_pipelines.py::test_an_example_as_a_pipeline",
    # Compiled with sanitizers once more; smaller ones of their kind are always run.
    "tests/contract/test_native_sanitized.py",
    "tests/native/test_native_trace.py::test_random_plans_under_sanitizers",
    "tests/native/test_native_fusion.py::test_memory_is_used_as_it_should[around_gated]",
    "tests/native/test_native_fusion.py::test_memory_is_used_as_it_should[around_named]",
    "tests/native/test_native_fusion.py::test_memory_is_used_as_it_should[around_plain]",
    "tests/native/test_native_fusion.py::test_memory_is_used_as_it_should[around_texts]",
    "tests/native/test_native_fusion.py::test_memory_is_used_as_it_should[own_keyed]",
    "tests/native/test_native_fusion.py::test_memory_is_used_as_it_should[own_plain]",
    # More of the same as tests that are always run: other seeds, targets and carriers.
    "tests/contract/test_native.py::test_random_queries[13",
    "tests/contract/test_native.py::test_random_queries[22",
    "tests/contract/test_native.py::test_random_queries[41",
    "tests/contract/test_native.py::test_random_queries[42",
    "tests/native/test_arm_tuples.py::test_every_function_of_expressions",
    "tests/native/test_arm_tuples.py::test_the_collision_warning_in_virtual_time",
    "tests/native/test_native_trace.py::test_random_plans[1-2",
    "tests/native/test_native_trace.py::test_random_plans[2",
    "tests/native/test_native_trace.py::test_random_plans_full_of_windows[1]",
    "tests/native/test_size_budgets.py::test_the_collision_warning[a",
    "tests/native/nodes/test_native_collision_warning.py::test_the_same_tuples_over_a_stand_in",
)


FIRST = {"spark": 0, "studies": 1}
"""groups of tests that begin before all others"""


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for all tests: starting one takes seconds, and a process has only one Spark."""
    session = local_session(cores=2, app_name="headway-tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def quick_run(tmp_path_factory: pytest.TempPathFactory) -> QuickRun:
    """Every study once, by the command on a Spark of its own, killed half way and resumed. Where
    tests run in several processes, the first that asks makes it for all."""
    from tests.studies.quick_run import shared_run  # all studies: few tests need them

    base = tmp_path_factory.getbasetemp()
    return shared_run(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


def pytest_configure(config: pytest.Config) -> None:
    """pytest-xdist tells its workers a width of 80; output to a pipe is not folded at all. What a
    shell starts in the background ignores Ctrl-C, and so would processes that tests interrupt. Java
    for Spark is started, by tests and by what they start, so that little work costs little time; no
    process compiles again what another one has."""
    config.addinivalue_line("markers", "xdist_group: in one process; also without pytest-xdist")
    os.environ.pop("COLUMNS", None)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parent / "spark" / "conf"))


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that need Spark, so that ``-m "not spark"`` is the quick run. When there are
    several processes, those that share a session are kept in one, and so are those that share the
    run of all studies, which may be another one: both take long, so they begin first. Of the rest,
    each file stays together, so that what its tests share is made once."""
    for item in items:
        needed = getattr(item, "fixturenames", ())
        if "quick_run" in needed:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("studies"))
        elif "spark" in needed or "tests/spark/" in item.nodeid:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group("spark"))
        elif item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem.removeprefix("test_")))
        if any(name in item.nodeid for name in MINUTES) and "HEADWAY_SLOW" not in os.environ:
            reason = "takes long: set HEADWAY_SLOW=1 to run it"
            item.add_marker(pytest.mark.skip(reason=reason))
    items.sort(key=lambda item: FIRST.get(_group(item), len(FIRST)))


def _group(item: pytest.Item) -> str:
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else ""


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """What exploring found is told with how to keep it."""
    if exploring.TIMES and terminalreporter.stats.get("failed"):
        terminalreporter.section("what to do with it")
        seed = config.getoption("--hypothesis-seed")
        told = exploring.HOW_TO_PIN.format(seed=seed, times=exploring.TIMES)
        terminalreporter.write_line(told)
