"""Two runs into one folder: the second is refused and told who is there; the dead hold nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.storage.hadoop_places import BUCKET, VIEWFS, mount

from headway.errors import FileError
from headway.spark.storage.file_stores import LocalStore
from headway.spark.storage.locations import Location
from headway.spark.streams.run_lock import EXPIRES_S, LOCK, Holder, Lease, claimed


class Time:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_second_is_refused_and_told_who_is_there(tmp_path: Path) -> None:
    output, checkpoint = Location.of(tmp_path / "out"), Location.of(tmp_path / "mark")
    with claimed([output, checkpoint]):
        for places in ([output], [checkpoint], [checkpoint, Location.of(tmp_path / "new")]):
            with (
                pytest.raises(FileError, match="another run writes here") as refused,
                claimed(places),
            ):
                pass
        assert f"process {os.getpid()} on " in str(refused.value)
        assert ", since 20" in str(refused.value)
        assert not (tmp_path / "new").exists()
    with claimed([output, checkpoint]):
        pass
    assert not output.path.exists(), "made for the lock, and nothing was written"


def test_what_was_there_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with claimed([Location.of(tmp_path)]):
        assert sorted(path.name for path in tmp_path.iterdir()) == [LOCK, "mine.txt"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_one_folder_by_two_names_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with claimed([Location.of("out"), Location.of(tmp_path / "out")]) as locks:
        assert len(locks) == 1


HOLDING = """
import sys
from headway.spark.storage.locations import Location
from headway.spark.streams.run_lock import claimed
with claimed([Location.of(sys.argv[1])]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_run_holds_nothing(tmp_path: Path) -> None:
    place = Location.of(tmp_path / "out")
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING, place.text],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(FileError, match=f"process {other.pid} on "), claimed([place]):
            pass
        other.send_signal(signal.SIGKILL)
        other.wait()
        assert (place.path / LOCK).exists()
        with claimed([place]):
            pass


# -------------------------------------------------------------------- leases


def lease(folder: Path, clock: Time) -> Lease:
    return Lease.take(Location.of(folder), LocalStore(), clock, beats=False)


def test_a_lease_is_for_one(tmp_path: Path) -> None:
    clock = Time()
    first = lease(tmp_path, clock)
    clock.now += EXPIRES_S / 2
    with pytest.raises(FileError, match="another run writes here") as refused:
        lease(tmp_path, clock)
    assert "; free in 30 s if it is dead; wait for its end" in str(refused.value)
    first.release()
    lease(tmp_path, clock).release()
    assert not list(tmp_path.iterdir())


def test_a_lease_that_is_renewed_does_not_expire(tmp_path: Path) -> None:
    clock = Time()
    first = lease(tmp_path, clock)
    for _ in range(3):
        clock.now += EXPIRES_S / 2
        first.beat()
    with pytest.raises(FileError, match="another run writes here"):
        lease(tmp_path, clock)


def test_a_lease_that_expired_is_taken_over_and_its_holder_is_told(tmp_path: Path) -> None:
    clock = Time()
    first = lease(tmp_path, clock)
    first.check()
    clock.now += EXPIRES_S + 1
    second = lease(tmp_path, clock)
    first.beat()
    with pytest.raises(FileError, match="another run has taken this folder over"):
        first.check()
    first.release()
    second.beat()
    second.check()
    assert [path.name for path in tmp_path.iterdir()] == [LOCK], "it is the second's"


def test_a_lease_of_a_dead_process_of_this_host_is_free_at_once(tmp_path: Path) -> None:
    clock = Time()
    with subprocess.Popen([sys.executable, "-c", ""]) as over:
        over.wait()
    here = Holder.here(clock())
    dead = Holder(here.host, over.pid, here.since, "dead", here.beat)
    (tmp_path / LOCK).write_text(dead.text())
    lease(tmp_path, clock).release()
    elsewhere = Holder("another.host", over.pid, here.since, "dead", here.beat)
    (tmp_path / LOCK).write_text(elsewhere.text())
    with pytest.raises(FileError, match=f"process {over.pid} on another.host"):
        lease(tmp_path, clock)


@pytest.mark.parametrize("content", ["", "{", '{"host": 1}'])
def test_a_lease_that_nobody_can_read_is_nobodys(tmp_path: Path, content: str) -> None:
    (tmp_path / LOCK).write_text(content)
    lease(tmp_path, Time()).release()


class Quicker(LocalStore):
    """Another run takes the lease over just before this one does."""

    def rename(self, at: Location, to: Location) -> None:
        if at.name == LOCK and to.name != LOCK:
            taken = Holder("another.host", 7, 0.0, "quicker", 1e12)
            at.path.write_text(taken.text())
        super().rename(at, to)


def test_of_two_who_take_over_one_gets_it(tmp_path: Path) -> None:
    clock = Time()
    lease(tmp_path, clock)
    clock.now += EXPIRES_S + 1
    with pytest.raises(FileError, match=r"process 7 on another\.host"):
        Lease.take(Location.of(tmp_path), Quicker(), clock, beats=False)
    assert Holder.read((tmp_path / LOCK).read_text()) == Holder(
        "another.host", 7, 0.0, "quicker", 1e12
    )


@pytest.mark.parametrize("scheme", [VIEWFS, BUCKET])
def test_on_file_systems_of_hadoop(spark: SparkSession, tmp_path: Path, scheme: str) -> None:
    place = Location.of(f"{mount(spark, scheme, tmp_path / 'held')}/out")
    with claimed([place], spark):
        assert (tmp_path / "held" / "out" / LOCK).exists()
        with pytest.raises(FileError, match=f"process {os.getpid()} on "), claimed([place], spark):
            pass
    assert not (tmp_path / "held" / "out" / LOCK).exists()
    with claimed([place], spark):
        pass
