"""Spark sessions: the master, the settings people type, and those that Headway's meaning needs."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from headway.errors import EnvironmentMissing, InputError, Problem
from headway.spark.session.java_runtime import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# ---------------------------------------------------------------- settings

MEANT = {
    # Headway's SQL is not ANSI: a division by zero or a bad cast is NULL, not the end.
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Spark would put the driver's environment and settings where a text says ${env:NAME}.
    "spark.sql.variable.substitute": "false",
    # A backslash in a literal is an escape, as the texts that are given to Spark use it.
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""The settings that Headway's SQL is defined by."""
PARTITIONS = "spark.sql.shuffle.partitions"
CHECKPOINTS = "spark.sql.streaming.checkpointFileManagerClass"
_BY_RENAMING = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def run_conf(policy: str, conf: Mapping[str, str]) -> dict[str, str]:
    """``edf`` needs pools, which are Spark's FAIR scheduler; the user's own settings win."""
    return {
        **({"spark.scheduler.mode": "FAIR"} if policy == "edf" else {}),
        # Half the time of a micro-batch goes into its checkpoint files otherwise.
        CHECKPOINTS: _BY_RENAMING,
        "spark.sql.streaming.metricsEnabled": "false",
        **conf,
    }


def parse_options(given: Iterable[str], option: str) -> dict[str, str]:
    """``['a=1']`` -> ``{'a': '1'}``; InputError where there is no ``=``."""
    pairs = [(text, text.partition("=")) for text in given]
    if wrong := [text for text, (key, sign, _) in pairs if not sign or not key.strip()]:
        raise InputError(
            Problem("not a setting", at=option, got=text, want="write KEY=VALUE") for text in wrong
        )
    return {key.strip(): value for _, (key, _, value) in pairs}


# ---------------------------------------------------------------- masters
# Checked before a session is asked for: Spark itself tries an absent standalone master for a minute
# and then fails with a stack trace.


_LOCAL = re.compile(r"local(\[(\*|[1-9]\d{0,3})(\s*,\s*\d{1,4})?\])?")
_CLUSTER = re.compile(r"local-cluster\[.+\]|yarn|k8s://.+")
_STANDALONE = re.compile(r"spark://(?P<nodes>[^/]+)")
_FORMS = "local[*], local[N], spark://HOST:PORT, yarn or k8s://HOST:PORT"
PATIENCE_S = 5.0


def check_master(master: str) -> None:
    """InputError if it is none; EnvironmentMissing if nobody listens at a standalone one."""
    if _LOCAL.fullmatch(master) or _CLUSTER.fullmatch(master):
        return
    standalone = _STANDALONE.fullmatch(master)
    addresses = [_address(node) for node in standalone["nodes"].split(",")] if standalone else []
    if not addresses or None in addresses:
        raise InputError(
            "this is no Spark master", at="--master", got=master, want=f"write {_FORMS}"
        )
    refusals = [refusal for address in addresses if address and (refusal := refusal_of(*address))]
    if len(refusals) == len(addresses):
        raise EnvironmentMissing(
            f"No Spark master answers at {master}: {'; '.join(refusals)}. Start one, or use "
            "--master local[*]."
        )


def is_local(master: str) -> bool:
    return _LOCAL.fullmatch(master) is not None


def _address(node: str) -> tuple[str, int] | None:
    host, _, port = node.rpartition(":")
    return (host, int(port)) if host and port.isdecimal() and int(port) < 65536 else None


def refusal_of(host: str, port: int) -> str:
    """Why nobody answers there; nothing if somebody does."""
    try:
        with socket.create_connection((host.strip("[]"), port), timeout=PATIENCE_S):
            return ""
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"


# ---------------------------------------------------------------- sessions


# protobuf is in the list because Spark without it only says "driver worker crashed".
_NEEDED = {
    "pyspark": "pyspark",
    "pandas": "pandas",
    "pyarrow": "pyarrow",
    "google.protobuf": "protobuf",
}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_DAEMON = "spark.python.daemon.module"
_WORKER_PATHS = "spark.executorEnv.PYTHONPATH"
_LOG_FILE = Path(__file__).with_name("log4j2.properties")


def local_session(
    cores: int | None = None,
    app_name: str = "headway",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session on this machine, with as many cores as the process may use unless told."""
    return spark_session(f"local[{cores or _usable_cores()}]", app_name, conf)


def spark_session(
    master: str,
    app_name: str = "headway",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A quiet session on ``master``; entries of ``conf`` win over Headway's own.

    A process has one Spark: when a session runs already it is returned, with the settings of
    ``conf`` that can change at run time applied to it. Asking for another master then is refused,
    because Spark would ignore it without a word.
    """
    check_packages()
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    if running is not None and running.sparkContext.master != master:
        raise EnvironmentMissing(
            f"A Spark session on {running.sparkContext.master} runs in this process already, so "
            f"none can be started on {master}. Stop that one first, or use its master."
        )
    _set_environment(local=is_local(master))
    builder = SparkSession.builder.master(master).appName(app_name)
    for key, value in session_conf(master, conf or {}).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@contextmanager
def owned_session(
    master: str, app_name: str = "headway", conf: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session for the time of a ``with`` block; one that ran before stays as it is."""
    check_packages()
    from pyspark.sql import SparkSession

    ran_before = SparkSession.getActiveSession() is not None
    with _quiet_java() if not ran_before else nullcontext():
        session = spark_session(master, app_name, conf)
    try:
        yield session
    finally:
        if not ran_before:
            session.stop()


@contextmanager
def _quiet_java() -> Iterator[None]:
    """Java, and the Python workers that it starts, write what they have to say into a file that is
    gone at the end: errors reach users as exceptions, the rest is noise. When Java does not even
    start, the end of it is shown."""
    sys.stderr.flush()
    terminal = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield
        except BaseException:
            log.seek(0)
            os.write(terminal, log.read()[-4000:])
            raise
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)


def session_conf(master: str, conf: Mapping[str, str]) -> dict[str, str]:
    """Headway's settings for ``master``, overridden by ``conf``."""
    quiet_log = f"-Dlog4j2.configurationFile={_LOG_FILE.as_uri()}"
    settings = {
        **MEANT,
        # Spark's own form has no zone, and other readers do not take it for UTC.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **conf,
    }
    # Both are wanted: a user's Java options must not bring the noise back.
    settings[_JAVA_OPTIONS] = f"{quiet_log} {conf.get(_JAVA_OPTIONS, '')}".strip()
    if is_local(master):
        # Spark's 200 partitions make a small aggregate take seconds.
        settings.setdefault(PARTITIONS, str(_local_cores(master)))
        settings |= _loaded_workers(conf)
    return settings


def _loaded_workers(conf: Mapping[str, str]) -> dict[str, str]:
    """Workers that start with their modules loaded (:mod:`headway.spark.session.worker_daemon`);
    forking after that is known to be safe on Linux only. A cluster's Pythons get Headway too
    late."""
    if sys.platform != "linux" or _DAEMON in conf:
        return {}
    settings = {_DAEMON: "headway.spark.session.worker_daemon"}
    home = Path(__file__).resolve().parents[3]
    if home.name not in ("site-packages", "dist-packages"):
        paths = [str(home), *filter(None, [conf.get(_WORKER_PATHS)])]
        settings[_WORKER_PATHS] = os.pathsep.join(paths)
    return settings


def _set_environment(*, local: bool) -> None:
    """Sets what Spark reads from the environment when it starts its Java and its workers."""
    os.environ["JAVA_HOME"] = str(java_home())
    if local:
        # A worker of another Python than the driver's cannot read what the driver sends.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def check_packages(otherwise: str = "") -> None:
    """EnvironmentMissing when something that Spark needs is not installed; ``otherwise`` is what
    can be done without it."""
    missing = [package for module, package in _NEEDED.items() if not _importable(module)]
    if missing:
        raise EnvironmentMissing(
            f"Running on Spark needs {', '.join(missing)}, not installed for {sys.executable}. "
            f"Install them with: pip install 'headway[spark]'{otherwise}"
        )


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False


def _local_cores(master: str) -> int:
    """The slots of a local master: local, local[n], local[n,failures], local[*]."""
    slots = master.removeprefix("local").strip("[]").split(",")[0]
    if slots == "*":
        return _usable_cores()
    return int(slots) if slots else 1


def _usable_cores() -> int:
    """Counts the cores this process may run on: a container often has fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
