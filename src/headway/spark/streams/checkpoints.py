"""A checkpoint and the outputs it stands for: they are of one run, or nothing is started.

Files of a stream are named after micro-batches, and a micro-batch that is repeated replaces its own
file: that is what makes results exact. So batches of another run must never be written beside
them, and a query that has changed goes on only where its user says so: the mark of the checkpoint
holds what its answers depend on (:mod:`headway.spark.streams.run_identity`), the plans it was run
with, and what was adopted when.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.engine.run_folder import SUMMARY, names_in_summary
from headway.errors import FileError, InputError, Place, Problem
from headway.model.codec import plan_from_json, plan_to_json
from headway.model.plan import Plan
from headway.spark.accounting import now
from headway.spark.storage.file_stores import FileStore, NotThere, file_store
from headway.spark.storage.locations import Location
from headway.spark.streams.checkpoint_damage import (
    AFRESH,
    batches_done,
    query_folders,
    refuse_damage,
)
from headway.spark.streams.run_identity import (
    IDENTITY_VERSION,
    Changed,
    Identity,
    changes,
    identity_data,
    identity_from,
    identity_of,
)
from headway.spark.streams.run_lock import LOCK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = "_headway.json"
PLANS = "_plans"
"""in the checkpoint: every plan it was run with, numbered"""
VERSION = 2
"""of the mark; one more when what it says changes. 1 had none."""


@dataclass(frozen=True)
class Adoption:
    """A change of the query that its user took over."""

    at: int
    """microseconds"""
    batches: Mapping[str, int]
    """the last micro-batch of each query of Spark under the rules before it"""
    changes: tuple[str, ...]

    def data(self) -> dict[str, Any]:
        return {"at": self.at, "batches": dict(self.batches), "changes": list(self.changes)}


@dataclass(frozen=True)
class CheckpointedRun:
    """``began`` is when the first of its processes started, in microseconds; ``adopted`` are the
    changes that begin with this process, in words; ``earlier`` the plans that states in the
    checkpoint may be of, the last one first."""

    id: str
    began: int
    resumed: bool
    adopted: tuple[str, ...] = ()
    earlier: tuple[Plan, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user must be told."""
        if not self.adopted:
            return ()
        return ("adopted from here on: " + "; ".join(self.adopted),)


@dataclass(frozen=True)
class _Mark:
    """What a folder says of the run it belongs to; an output's mark has no identity."""

    run: str
    began: int
    about: dict[str, str]
    identity: Identity | None = None
    plan: int = 0
    adopted: tuple[Adoption, ...] = ()

    def text(self) -> str:
        data: dict[str, Any] = {
            "version": VERSION,
            "run": self.run,
            "began": self.began,
            "about": self.about,
        }
        if self.identity is not None:
            data |= {
                "identity_version": IDENTITY_VERSION,
                "identity": identity_data(self.identity),
                "plan": self.plan,
                "adopted": [one.data() for one in self.adopted],
            }
        return json.dumps(data) + "\n"


@dataclass(frozen=True)
class Checkpoint:
    """Where a stream keeps what it goes on from, and where its results are. ``spark`` is needed
    for URIs."""

    folder: Location
    output: Location
    spark: SparkSession | None = None

    @property
    def store(self) -> FileStore:
        return file_store(self.folder, self.spark)

    @property
    def results(self) -> FileStore:
        return file_store(self.output, self.spark)

    @property
    def both_local(self) -> bool:
        """Whether it can be looked at before Spark is there."""
        return self.folder.is_local and self.output.is_local


def refuse_run(
    plan: Plan,
    checkpoint: Checkpoint,
    about: Mapping[str, str],
    *,
    afresh: bool = False,
    adopt: bool = False,
) -> None:
    """What :func:`open_run` refuses; writes nothing."""
    _examined(plan, checkpoint, about, afresh=afresh, adopt=adopt)


def open_run(
    plan: Plan,
    checkpoint: Checkpoint,
    about: Mapping[str, str],
    *,
    afresh: bool = False,
    adopt: bool = False,
) -> CheckpointedRun:
    """Takes up the run in the checkpoint, or begins one. FileError if checkpoint, output and query
    do not belong together. ``about`` is what must stay besides the query: where the input comes
    from, how outputs are written. ``adopt`` goes on from here with a query that has changed;
    ``afresh`` throws an earlier stream's results away."""
    there, found = _examined(plan, checkpoint, about, afresh=afresh, adopt=adopt)
    mine = {"name": plan.query.name, **about}
    if there is None:
        if afresh:
            _throw_away(checkpoint)
        return _begin(plan, checkpoint, mine)
    words = tuple(map(str, found))
    number, earlier = _keep_plan(plan, checkpoint, there.plan)
    adopted = there.adopted
    if words:
        adopted += (Adoption(now(), batches_done(checkpoint.store, checkpoint.folder), words),)
    if words or number != there.plan:
        mark = _Mark(there.run, there.began, mine, identity_of(plan), number, adopted)
        checkpoint.store.write_whole(checkpoint.folder / MARK, mark.text())
    return CheckpointedRun(there.run, there.began, resumed=True, adopted=words, earlier=earlier)


def _examined(
    plan: Plan, checkpoint: Checkpoint, about: Mapping[str, str], *, afresh: bool, adopt: bool
) -> tuple[_Mark | None, list[Changed]]:
    """The run to go on with, none if one begins; and what has changed since."""
    written = _read(checkpoint.results, checkpoint.output, formed=False)
    if afresh and written is not None:
        _refuse_throwing(checkpoint, written)
        return None, []
    there = _read(checkpoint.store, checkpoint.folder)
    if there is None:
        _refuse_leftovers(checkpoint, written)
        return None, []
    assert there.identity is not None
    _refuse_another(checkpoint.folder, there.about, about)
    found = changes(there.identity, identity_of(plan))
    if found:
        _refuse_changes(checkpoint.folder, there, plan.query.name, found, adopt=adopt)
    if written is None or written.run != there.run:
        raise _refused(
            checkpoint.output,
            "this folder does not hold the results that belong to the checkpoint",
            got="another run's" if written else "nothing",
            want=f"name the folder of that run, or {AFRESH}",
        )
    refuse_damage(checkpoint.store, checkpoint.folder, checkpoint.results, checkpoint.output)
    return there, found


# ---------------------------------------------------------------- a run that begins


def _begin(plan: Plan, checkpoint: Checkpoint, about: Mapping[str, str]) -> CheckpointedRun:
    run = CheckpointedRun(uuid.uuid4().hex, now(), resumed=False)
    mark = _Mark(run.id, run.began, dict(about))
    checkpoint.results.write_whole(checkpoint.output / MARK, mark.text())
    checkpoint.store.write_whole(_plan_file(checkpoint, 0), plan_to_json(plan))
    whole = _Mark(run.id, run.began, dict(about), identity_of(plan))
    checkpoint.store.write_whole(checkpoint.folder / MARK, whole.text())
    return run


def _refuse_leftovers(checkpoint: Checkpoint, written: _Mark | None) -> None:
    if written is not None:
        raise _refused(
            checkpoint.output,
            "the folder holds results of a run whose checkpoint is gone",
            want=f"name the checkpoint of that run, or {AFRESH}",
        )
    inside = checkpoint.folder.absolute
    for store, folder in (
        (checkpoint.store, checkpoint.folder),
        (checkpoint.results, checkpoint.output),
    ):
        names = [entry.name for entry in store.entries(folder) if LOCK not in entry.name]
        others = [name for name in names if (folder / name).absolute != inside]
        if others:
            raise _refused(
                folder,
                "the folder is not empty, and not of an earlier stream",
                got=", ".join(sorted(others)[:5]),
                want="name another one",
            )


# ---------------------------------------------------------------- a run that goes on


def _refuse_another(folder: Location, there: Mapping[str, str], about: Mapping[str, str]) -> None:
    for key, value in about.items():
        if there.get(key) != value:
            raise _refused(
                folder,
                f"the checkpoint is of another {key}",
                got=value,
                want=f"use {there.get(key)!r} as before, or {AFRESH}",
            )


def _refuse_changes(
    folder: Location, there: _Mark, name: str, found: Sequence[Changed], *, adopt: bool
) -> None:
    """With the list of what changed; nothing where the user adopts it and that can be done."""
    forming = [one for one in found if one.forms]
    if adopt and not forming:
        return
    before = there.about.get("name")
    if before == name:
        what = f"the checkpoint is of another query of the name {name!r}"
    else:
        what = f"the checkpoint is of another query, called {before!r}"
    if forming:
        want = f"its states and files do not fit what changed: run the query as it was, or {AFRESH}"
    else:
        want = f"add --adopt to go on from here with what changed, run it as it was, or {AFRESH}"
    listed = [
        Problem(_told(one), at=one.path, want="does not fit" if one.forms else "")
        for one in (*forming, *(one for one in found if not one.forms))
    ]
    raise FileError([Problem(what, place=Place(folder.text), want=want), *listed])


def _told(changed: Changed) -> str:
    return str(changed).removeprefix(f"{changed.path}: ")


KEPT_PLANS = 10


def _keep_plan(plan: Plan, checkpoint: Checkpoint, last: int) -> tuple[int, tuple[Plan, ...]]:
    """The number under which the plan stands in the checkpoint now, and those before it, whose
    states it may meet. States are those of one of the last plans: older ones are removed."""
    store, text = checkpoint.store, plan_to_json(plan)
    folder = checkpoint.folder / PLANS
    numbers = sorted(
        int(stem)
        for entry in store.entries(folder)
        if (stem := entry.name.removesuffix(".json")).isdecimal() and int(stem) <= last
    )
    texts = {}
    for number in numbers[-KEPT_PLANS:]:
        try:
            texts[number] = store.read_text(_plan_file(checkpoint, number))
        except NotThere:
            continue
    number = last
    if texts.get(last) != text:
        number = last + 1
        store.write_whole(_plan_file(checkpoint, number), text)
        for old in numbers[:-KEPT_PLANS]:
            store.remove(_plan_file(checkpoint, old))
    earlier = []
    for old in sorted(texts.keys() - {number}, reverse=True):
        try:
            earlier.append(plan_from_json(texts[old], str(_plan_file(checkpoint, old))))
        except InputError:
            continue  # of another version of Headway: its states are refused by their own mark
    return number, tuple(earlier)


def _plan_file(checkpoint: Checkpoint, number: int) -> Location:
    return checkpoint.folder / PLANS / f"{number:04d}.json"


# ---------------------------------------------------------------- starting afresh


def _refuse_throwing(checkpoint: Checkpoint, written: _Mark) -> None:
    there = _read(checkpoint.store, checkpoint.folder, formed=False)
    if there is not None and there.run != written.run:
        raise _refused(
            checkpoint.folder,
            "the checkpoint is of results elsewhere",
            want="name the checkpoint of the results that are to go",
        )
    summary = checkpoint.output / SUMMARY
    if checkpoint.results.exists(summary) and SUMMARY not in _listed(checkpoint):
        raise _refused(
            summary,
            "here lies something that no run of Headway wrote",
            want="move it away, or name another folder",
        )


def _listed(checkpoint: Checkpoint) -> list[str]:
    """What the summary of the stream says it wrote."""
    try:
        return names_in_summary(checkpoint.results.read_bytes(checkpoint.output / SUMMARY))
    except FileError:
        return []


def _throw_away(checkpoint: Checkpoint) -> None:
    """The checkpoint and the results of an earlier stream; nothing else that lies there."""
    store, folder = checkpoint.store, checkpoint.folder
    if store.exists(folder / MARK):
        for name in query_folders(store, folder):
            store.remove(folder / name)
        store.remove(folder / PLANS)
        store.remove(folder / MARK)
        if not [entry for entry in store.entries(folder) if LOCK not in entry.name] and (
            folder.absolute != checkpoint.output.absolute
        ):
            store.remove(folder)
    for name in (*_listed(checkpoint), MARK):
        checkpoint.results.remove(checkpoint.output / name)


# ---------------------------------------------------------------- marks


def _read(store: FileStore, folder: Location, *, formed: bool = True) -> _Mark | None:
    """``formed``: its version counts, and it must say what the answers depend on."""
    at = folder / MARK
    try:
        data = json.loads(store.read_text(at))
        run, began = str(data["run"]), int(data["began"])
        about = {str(key): str(value) for key, value in dict(data["about"]).items()}
        version = data.get("version", 1)
        if not formed:
            return _Mark(run, began, about)
        if (version, data.get("identity_version")) != (VERSION, IDENTITY_VERSION):
            raise _of_another_version(at, version)
        return _Mark(
            run,
            began,
            about,
            identity_from(data["identity"]),
            int(data["plan"]),
            tuple(
                Adoption(
                    int(one["at"]),
                    {str(name): int(number) for name, number in one["batches"].items()},
                    tuple(map(str, one["changes"])),
                )
                for one in data["adopted"]
            ),
        )
    except NotThere:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _refused(
            at, f"cannot be read: {error}", want=f"put it back from a copy, or {AFRESH}"
        ) from None


def _of_another_version(at: Location, version: object) -> FileError:
    newer = isinstance(version, int) and version > VERSION
    whose = "a newer Headway" if newer else "an earlier Headway, which bound it to every byte"
    return _refused(
        at,
        f"the checkpoint was written by {whose}",
        got=f"version {version}",
        want=f"version {VERSION} is read here: finish the stream with the Headway that began it, "
        f"or {AFRESH}",
    )


def _refused(at: Location | Path, what: str, *, want: str, got: str = "") -> FileError:
    return FileError(what, place=Place(str(at)), got=got, want=want)
