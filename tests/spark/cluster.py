"""A standalone Spark cluster on loopback: a master and workers as processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import pyspark
from tests.waiting import until

from headway.spark.session.java_runtime import java_home


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Cluster:
    """Use it in a ``with`` statement; all processes are gone at its end."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._count = workers

    def __enter__(self) -> Cluster:
        try:
            self.master = self._start(
                "master.Master", "--host", "127.0.0.1", "--port", str(self.port),
                "--webui-port", str(free_port()), log="master",
            )  # fmt: skip
            self._await("master.log", "I have been elected leader", 1)
            for number in range(self._count):
                self.workers.append(
                    self._start(
                        "worker.Worker", "--cores", "1", "--memory", "1g", "--host", "127.0.0.1",
                        "--webui-port", str(free_port()),
                        "--work-dir", str(self.folder / f"work{number}"), self.url,
                        log=f"worker{number}",
                    )
                )  # fmt: skip
            self._await("master.log", "Registering worker", self._count)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop()

    def kill_worker(self, number: int) -> None:
        """With its executors, which are of its process group."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()

    def _start(self, name: str, *arguments: str, log: str) -> subprocess.Popen[bytes]:
        home = Path(pyspark.__file__).parent
        environment = {
            **os.environ,
            "JAVA_HOME": str(java_home()),
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        }
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        with (self.folder / f"{log}.log").open("wb") as file:
            return subprocess.Popen(
                command, stdout=file, stderr=file, env=environment, start_new_session=True
            )

    def _await(self, log: str, sign: str, times: int) -> None:
        path = self.folder / log
        until(lambda: path.read_text(errors="replace").count(sign) >= times, every=0.2)

    def _stop(self) -> None:
        for process in [*self.workers, self.master]:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
