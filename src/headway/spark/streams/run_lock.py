"""One run at a time into an output or a checkpoint: the second is refused, and told who is there.

On this machine's disks the kernel keeps the lock (``flock``): it is gone with its process, however
that ended. On other file systems it is a lease: a file that only one can make, which its holder
renews; one that is not renewed any more, or whose process on this host is gone, is taken over. So
nobody ever has to clean up after a kill.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from headway.engine.run_folder import unwritable
from headway.errors import FileError, Place
from headway.spark.storage.file_stores import AlreadyThere, FileStore, NotThere, file_store
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: a lease there too
    fcntl = None  # type: ignore[assignment]

LOCK = "_headway_lock.part"
"""hidden from Spark, and by its ending from who looks whether a folder is empty"""
BEAT_S = 10.0
EXPIRES_S = 60.0
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
Clock = Callable[[], float]
"""seconds since the epoch"""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who runs there. ``beat`` is when it was last seen, for a lease."""

    host: str
    pid: int
    since: float
    id: str
    beat: float

    @classmethod
    def here(cls, now: float) -> Holder:
        return cls(socket.gethostname(), os.getpid(), now, uuid.uuid4().hex, now)

    @classmethod
    def read(cls, text: str) -> Holder | None:
        """None for what is no lock, or was being written when its process ended."""
        try:
            data = json.loads(text)
            return cls(str(data["host"]), int(data["pid"]), float(data["since"]),
                       str(data["id"]), float(data["beat"]))  # fmt: skip
        except (ValueError, KeyError, TypeError):
            return None

    def text(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.pid} on {self.host}, since {since}"


class Lock(Protocol):
    """Held until it is released."""

    def check(self) -> None:
        """FileError if another run has taken it over: this one was not seen for too long."""

    def release(self) -> None: ...


@contextmanager
def claimed(
    places: Iterable[Location], spark: SparkSession | None = None, *, clock: Clock = time.time
) -> Iterator[list[Lock]]:
    """Holds the locks of some folders, which are made where they are not there and removed again
    where they stay empty. FileError, naming the holder, if another run has one of them."""
    with ExitStack() as held:
        locks: list[Lock] = []
        # In one order, so that of two runs into the same two folders one gets both.
        for place in sorted(dict.fromkeys(place.absolute for place in places)):
            lock = _taken(place, spark, clock)
            held.callback(lock.release)
            locks.append(lock)
        yield locks


def _taken(folder: Location, spark: SparkSession | None, clock: Clock) -> Lock:
    if folder.is_local and fcntl is not None:
        try:
            return FileLock.take(folder, clock)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise unwritable(folder.path, error) from None
    return Lease.take(folder, file_store(folder, spark), clock)


def _refused(folder: Location, holder: Holder | None, more: str = "") -> FileError:
    return FileError(
        "another run writes here",
        place=Place(folder.text),
        got=(str(holder) if holder is not None else "one that has just begun") + more,
        want="wait for its end, stop it, or name another folder",
    )


# ---------------------------------------------------------------- on this machine's disks


@dataclass(frozen=True)
class FileLock:
    """A file that the kernel locks for this process."""

    folder: Location
    file: int
    made: bool
    """whether the folder was made for it"""

    @classmethod
    def take(cls, folder: Location, clock: Clock) -> FileLock:
        made = not folder.path.exists()
        folder.path.mkdir(parents=True, exist_ok=True)
        path = folder.path / LOCK
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not _is_at(file, path):  # its holder went, and took the name with it
                    os.close(file)
                    continue
                os.ftruncate(file, 0)
                os.pwrite(file, Holder.here(clock()).text().encode(), 0)
            except BlockingIOError:
                holder = Holder.read(os.pread(file, 10_000, 0).decode(errors="replace"))
                os.close(file)
                raise _refused(folder, holder) from None
            except OSError:
                os.close(file)
                raise
            return cls(folder, file, made)

    def check(self) -> None:
        """The kernel takes it from nobody."""

    def release(self) -> None:
        with suppress(OSError):
            (self.folder.path / LOCK).unlink(missing_ok=True)
        os.close(self.file)
        if self.made:
            with suppress(OSError):  # something is in it now
                self.folder.path.rmdir()


def _is_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return False


# ---------------------------------------------------------------- anywhere else


@dataclass
class Lease:
    """A file that says who holds it and when it was last seen."""

    folder: Location
    store: FileStore
    clock: Clock
    mine: Holder
    made: bool = False
    """whether the folder was made for it"""
    lost: Holder | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def take(cls, folder: Location, store: FileStore, clock: Clock, *, beats: bool = True) -> Lease:
        made = not store.exists(folder)
        if made:
            store.make_folder(folder)
        lease = cls(folder, store, clock, Holder.here(clock()), made)
        try:
            store.write_whole(folder / LOCK, lease.mine.text(), new=True)
        except AlreadyThere:
            lease._take_over()
        except FileError as error:  # people know the folder, not the lock
            place = Place(folder.text)
            raise FileError(replace(one, place=place) for one in error.problems) from None
        if beats:
            threading.Thread(target=lease._beats, name="headway lease", daemon=True).start()
        return lease

    def _take_over(self) -> None:
        """From one that is gone; refused where it is not, or where another was quicker."""
        there = self._read()
        if there is not None and not self._is_gone(there):
            left = max(1, round(there.beat + EXPIRES_S - self.clock()))
            raise _refused(self.folder, there, f"; free in {left} s if it is dead")
        aside = self.folder / f".{LOCK}.{self.mine.id}"
        try:
            # Of several who come at once, one gets hold of the old file.
            self.store.rename(self.folder / LOCK, aside)
            taken = Holder.read(self.store.read_text(aside))
            if there is not None and taken is not None and taken.id != there.id:
                self.store.rename(aside, self.folder / LOCK)  # another one's, in the meantime
                raise _refused(self.folder, taken)
        except NotThere:
            pass  # it was released, or another one has it: the next line decides
        self.store.remove(aside)
        try:
            self.store.write_whole(self.folder / LOCK, self.mine.text(), new=True)
        except AlreadyThere:
            raise _refused(self.folder, self._read()) from None

    def _is_gone(self, holder: Holder) -> bool:
        if self.clock() - holder.beat > EXPIRES_S:
            return True
        return holder.host == self.mine.host and not _lives(holder.pid)

    def _read(self) -> Holder | None:
        try:
            return Holder.read(self.store.read_text(self.folder / LOCK))
        except NotThere:
            return None

    def _beats(self) -> None:
        while not self._over.wait(BEAT_S):
            with suppress(FileError):  # the store may be back before the lease is over
                self.beat()

    def beat(self) -> None:
        """Shows that the run is there; finds out whether another has taken over."""
        there = self._read()
        if there is not None and there.id != self.mine.id:
            self.lost = there
            self._over.set()
            return
        self.mine = replace(self.mine, beat=self.clock())
        self.store.write_whole(self.folder / LOCK, self.mine.text())

    def check(self) -> None:
        if self.lost is not None:
            raise FileError(
                "another run has taken this folder over: this one was not seen for "
                f"{EXPIRES_S:.0f} s",
                place=Place(self.folder.text),
                got=str(self.lost),
                want="what this run has committed is whole; stop one of them",
            )

    def release(self) -> None:
        self._over.set()
        with suppress(FileError):
            there = self._read()
            if there is not None and there.id == self.mine.id:
                self.store.remove(self.folder / LOCK)
            if self.made and not self.store.entries(self.folder):
                self.store.remove(self.folder)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's, but there
    return True
