"""A checkpoint and the outputs it stands for: they are of one run, or nothing is started.

Files of a stream are named after micro-batches, and a micro-batch that is repeated replaces its own
file: that is what makes results exact. So batches of another run must never be written beside
them, and a checkpoint that has lost a file must not be taken for a younger one.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from headway.engine.run_folder import SUMMARY, files_of_run, remove, unwritable
from headway.errors import FileError, Place
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.spark.accounting import now
from headway.spark.state.batch_manifest import STATES

MARK = "_headway.json"
_AFRESH = (
    "start afresh with a new --checkpoint and a new --output, or throw the results away with "
    "--force; the inputs are read again from the beginning, nothing is lost"
)


@dataclass(frozen=True)
class CheckpointedRun:
    """``began`` is when the first of its processes started, in microseconds."""

    id: str
    began: int
    resumed: bool


def open_run(
    plan: Plan, checkpoint: Path, output: Path, about: Mapping[str, str], *, afresh: bool = False
) -> CheckpointedRun:
    """Takes up the run in the checkpoint, or begins one. FileError if checkpoint, output and query
    do not belong together. ``about`` is what must stay besides the query: where the input comes
    from, how outputs are written. ``afresh`` throws an earlier stream's results away."""
    mine = {"query": _fingerprint(plan), "name": plan.query.name, **about}
    there, written = _read(checkpoint), _read(output)
    if afresh and written is not None:
        _throw_away(checkpoint, output, written["run"])
        return _begin(checkpoint, output, mine)
    if there is None:
        _refuse_leftovers(checkpoint, output, written)
        return _begin(checkpoint, output, mine)
    _refuse_another(checkpoint, there["about"], mine)
    if written is None or written["run"] != there["run"]:
        raise _refused(
            output,
            "this folder does not hold the results that belong to the checkpoint",
            got="another run's" if written else "nothing",
            want=f"name the folder of that run, or {_AFRESH}",
        )
    for group in sorted(path for path in checkpoint.iterdir() if path.is_dir()):
        _check_log(group)
    return CheckpointedRun(there["run"], there["began"], resumed=True)


def _begin(checkpoint: Path, output: Path, about: Mapping[str, str]) -> CheckpointedRun:
    run = CheckpointedRun(uuid.uuid4().hex, now(), resumed=False)
    for folder in (output, checkpoint):
        _write(folder, {"run": run.id, "began": run.began, "about": dict(about)})
    return run


def _fingerprint(plan: Plan) -> str:
    """By content: the same name with another threshold is another query."""
    return sha256(plan_to_json(plan).encode()).hexdigest()[:16]


def _refuse_another(checkpoint: Path, there: Mapping[str, str], mine: Mapping[str, str]) -> None:
    for key in mine:
        if there.get(key) == mine[key]:
            continue
        if key in ("query", "name"):
            what = f"the checkpoint is of another query, called {there.get('name')!r}"
            if there.get("name") == mine["name"]:
                what = f"the checkpoint is of another query of the name {mine['name']!r}"
            raise _refused(checkpoint, what, want=f"run the query as it was, or {_AFRESH}")
        raise _refused(
            checkpoint,
            f"the checkpoint is of another {key}",
            got=mine[key],
            want=f"use {there.get(key)!r} as before, or {_AFRESH}",
        )


def _throw_away(checkpoint: Path, output: Path, run: str) -> None:
    """The checkpoint and the results of an earlier stream; nothing else that lies there."""
    there = _read(checkpoint)
    if there is not None and there["run"] != run:
        raise _refused(checkpoint, "the checkpoint is of results elsewhere",
                       want="name the checkpoint of the results that are to go")  # fmt: skip
    listed = files_of_run(output / SUMMARY)
    if (output / SUMMARY).exists() and SUMMARY not in listed:
        raise _refused(output / SUMMARY, "here lies something that no run of Headway wrote",
                       want="move it away, or name another folder")  # fmt: skip
    try:
        if there is not None:
            for group in [path for path in checkpoint.iterdir() if _is_of_spark(path)]:
                remove(group)
            remove(checkpoint / STATES)
            remove(checkpoint / MARK)
            if not any(checkpoint.iterdir()):
                remove(checkpoint)
        for name in (*listed, MARK):
            remove(output / name)
    except OSError as error:
        raise unwritable(output, error) from None


def _is_of_spark(path: Path) -> bool:
    """Whether it is the log of a streaming query, which Spark begins with these."""
    return path.is_dir() and any((path / name).exists() for name in ("metadata", "offsets"))


def _refuse_leftovers(checkpoint: Path, output: Path, written: dict[str, Any] | None) -> None:
    if written is not None:
        raise _refused(output, "the folder holds results of a run whose checkpoint is gone",
                       want=f"name the checkpoint of that run, or {_AFRESH}")  # fmt: skip
    for folder in (checkpoint, output):
        others = [p.name for p in folder.iterdir() if p != checkpoint] if folder.is_dir() else []
        if others:
            raise _refused(folder, "the folder is not empty, and not of an earlier stream",
                           got=", ".join(sorted(others)[:5]), want="name another one")  # fmt: skip


def _check_log(group: Path) -> None:
    """Spark numbers batches; it writes what a batch will read (offsets), then that it is done
    (commits). A number that is missing in between was deleted by somebody."""
    offsets, commits = _numbers(group / "offsets"), _numbers(group / "commits")
    missing = [group / "metadata"] if offsets and not (group / "metadata").exists() else []
    begun, done = max(offsets | commits, default=-1), max(commits, default=-1)
    if begun - done > 1:  # only the last batch may have been begun and not be done
        missing.append(group / "commits" / str(begun - 1))
    for name, numbers, last in (("offsets", offsets, begun), ("commits", commits, done)):
        if last >= 0:
            first = min(numbers, default=last)
            wanted = set(range(first, last + 1))
            missing += [group / name / str(number) for number in sorted(wanted - numbers)]
    if missing:
        raise _refused(missing[0], "a file of the checkpoint is gone",
                       want=f"put it back from a copy, or {_AFRESH}")  # fmt: skip


def _numbers(folder: Path) -> set[int]:
    if not folder.is_dir():
        return set()
    return {int(path.name) for path in folder.iterdir() if path.name.isdecimal()}


def _read(folder: Path) -> dict[str, Any] | None:
    try:
        text = (folder / MARK).read_text(encoding="utf-8")
        data = json.loads(text)
        about = {str(key): str(value) for key, value in dict(data["about"]).items()}
        return {"run": str(data["run"]), "began": int(data["began"]), "about": about}
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _refused(folder / MARK, f"cannot be read: {error}", want=_AFRESH) from None


def _write(folder: Path, data: dict[str, Any]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f".{MARK}.part"
        part.write_text(json.dumps(data) + "\n", encoding="utf-8")
        part.replace(folder / MARK)
    except (OSError, ValueError) as error:
        raise unwritable(folder, error) from None


def _refused(path: Path, what: str, *, want: str, got: str = "") -> FileError:
    return FileError(what, place=Place(str(path)), got=got, want=want)
