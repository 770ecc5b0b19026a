"""What of a checkpoint and its results is gone or damaged, found before a stream goes on.

Spark numbers micro-batches: it writes what a batch will read (``offsets``), which files that means
(``sources``), and that it is done (``commits``); Headway writes a record of it with the sizes of
what was written and of the state (:mod:`headway.spark.state.batch_manifest`). All are small and
written in one step, so a kill damages none: a file that is cut short or gone tells of a disk, a
copy or a person, and going on would give wrong results or a stack trace.
"""

from __future__ import annotations

import json

from headway.errors import FileError, Place
from headway.spark.state.batch_manifest import STATES, BatchRecord, BatchRecords
from headway.spark.storage.file_stores import FileStore
from headway.spark.storage.locations import Location

AFRESH = (
    "start afresh with a new --checkpoint and a new --output, or throw the results away with "
    "--force; the inputs are read again from the beginning, nothing is lost"
)
_COPY = f"put it back from a copy, or {AFRESH}"
LOOKED_AT = 3
"""the last files of a log, whose content is read: older ones are not needed any more"""


def refuse_damage(
    store: FileStore, checkpoint: Location, results: FileStore, output: Location
) -> None:
    """FileError that names what is wrong and what can be done."""
    for name in query_folders(store, checkpoint):
        if name == STATES:
            continue
        _check_numbers(store, checkpoint / name)
        _check_contents(store, checkpoint / name)
    for group in store.entries(checkpoint / STATES):
        folder = checkpoint / STATES / group.name
        last = BatchRecords(folder, store).newest()
        if last is not None:
            _check_states(store, folder, last)
            _check_results(results, output, last)


def _check_states(store: FileStore, folder: Location, record: BatchRecord) -> None:
    """The segments that the next micro-batch goes on from. Where tasks do not reach the file
    system they are inside files of Spark."""
    if not folder.is_local:
        return
    there = {entry.name: entry.size for entry in store.entries(folder)}
    for segment in (one for part in record.states for one in part):
        size = there.get(segment.name)
        if size != segment.size:
            raise FileError(
                "a state in the checkpoint is " + ("gone" if size is None else "damaged"),
                place=Place((folder / segment.name).text),
                got="" if size is None else f"{size} bytes instead of {segment.size}",
                want=_COPY,
            )


def _check_results(results: FileStore, output: Location, record: BatchRecord) -> None:
    """What the last micro-batch wrote. One that is gone under both of its names is found when it
    is published again; one of another size was cut short, or changed by somebody."""
    for one in record.files:
        there = results.status(output / one.final)
        if there is not None and not there.is_folder and there.size != one.size:
            raise FileError(
                "a file of the results is damaged",
                place=Place((output / one.final).text),
                got=f"{there.size} bytes instead of {one.size}",
                want=_COPY,
            )


def query_folders(store: FileStore, checkpoint: Location) -> list[str]:
    """The logs of streaming queries, which Spark begins with these, and the states."""
    found = []
    for entry in store.entries(checkpoint):
        if entry.name == STATES:
            found.append(entry.name)
        elif entry.is_folder:
            inside = {one.name for one in store.entries(checkpoint / entry.name)}
            if inside & {"metadata", "offsets", "commits"}:
                found.append(entry.name)
    return found


def batches_done(store: FileStore, checkpoint: Location) -> dict[str, int]:
    """The last micro-batch that each query of Spark has committed."""
    done = {
        name: max(_numbers(store, checkpoint / name / "commits"), default=-1)
        for name in query_folders(store, checkpoint)
        if name != STATES
    }
    return {name: number for name, number in done.items() if number >= 0}


def _check_numbers(store: FileStore, group: Location) -> None:
    """A number that is missing in between was deleted by somebody."""
    offsets, commits = (_numbers(store, group / name) for name in ("offsets", "commits"))
    no_metadata = offsets and not store.exists(group / "metadata")
    missing = [group / "metadata"] if no_metadata else []
    begun, done = max(offsets | commits, default=-1), max(commits, default=-1)
    if begun - done > 1:  # only the last batch may have been begun and not be done
        missing.append(group / "commits" / str(begun - 1))
    for name, numbers, last in (("offsets", offsets, begun), ("commits", commits, done)):
        if last >= 0:
            first = min(numbers, default=last)
            wanted = set(range(first, last + 1))
            missing += [group / name / str(number) for number in sorted(wanted - numbers)]
    if missing:
        raise FileError(
            "a file of the checkpoint is gone", place=Place(missing[0].text), want=_COPY
        )


def _check_contents(store: FileStore, group: Location) -> None:
    """Spark's logs begin with a version; each line after it is a value of JSON."""
    if store.exists(group / "metadata") and not _is_json(store, group / "metadata"):
        raise _damaged(group / "metadata", _COPY)
    offsets, commits = (_numbers(store, group / name) for name in ("offsets", "commits"))
    for number in sorted(commits)[-LOOKED_AT:]:
        if not _is_log(store, group / "commits" / str(number)):
            last = number == max(commits)
            raise _damaged(
                group / "commits" / str(number),
                "remove this file: the batch is repeated and replaces its own results"
                if last
                else _COPY,
            )
    for number in sorted(offsets)[-LOOKED_AT:]:
        if not _is_log(store, group / "offsets" / str(number)):
            raise _damaged(group / "offsets" / str(number), _COPY)
    for source in store.entries(group / "sources"):
        log = group / "sources" / source.name
        names = {
            int(entry.name.removesuffix(".compact")): entry.name
            for entry in store.entries(log)
            if entry.name.removesuffix(".compact").isdecimal()
        }
        for number in sorted(names)[-LOOKED_AT:]:
            if not _is_log(store, log / names[number]):
                raise _damaged(log / names[number], _COPY)


def _damaged(at: Location, want: str) -> FileError:
    return FileError("a file of the checkpoint is damaged", place=Place(at.text), want=want)


def _is_json(store: FileStore, at: Location) -> bool:
    try:
        json.loads(store.read_text(at))
    except (ValueError, FileError):
        return False
    return True


def _is_log(store: FileStore, at: Location) -> bool:
    try:
        version, *lines = store.read_text(at).splitlines() or [""]
        for line in lines:
            if line != "-":  # a source that has given nothing yet
                json.loads(line)
    except (ValueError, FileError):
        return False
    return version.startswith("v") and version[1:].isdecimal()


def _numbers(store: FileStore, folder: Location) -> set[int]:
    return {int(entry.name) for entry in store.entries(folder) if entry.name.isdecimal()}
