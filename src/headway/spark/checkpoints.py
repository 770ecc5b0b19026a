"""A checkpoint and the outputs it stands for: they are of one run, or nothing is started.

Files of a stream are named after micro-batches, and a micro-batch that is repeated replaces its own
file: that is what makes results exact. So batches of another run must never be written beside
them, and a checkpoint that has lost a file must not be taken for a younger one.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from headway.errors import FileError, Place, Problem
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.spark.accounting import now
from headway.spark.output_folder import unwritable

MARK = "_headway.json"
_AFRESH = (
    "start afresh with a new --checkpoint and a new --output; the inputs are read again from the "
    "beginning, nothing is lost"
)


@dataclass(frozen=True)
class Run:
    """``began`` is when the first of its processes started, in microseconds."""

    id: str
    began: int
    resumed: bool


def open_run(plan: Plan, checkpoint: Path, output: Path, *, holds: bool) -> Run:
    """Takes up the run in the checkpoint, or begins one. FileError if checkpoint, output and query
    do not belong together."""
    query = sha256(f"{plan_to_json(plan)}{holds}".encode()).hexdigest()[:16]
    there, written = _read(checkpoint), _read(output)
    if there is None:
        _refuse_leftovers(checkpoint, output, written)
        run = Run(uuid.uuid4().hex, now(), resumed=False)
        for folder in (output, checkpoint):
            _write(folder, {"run": run.id, "began": run.began, "query": query})
        return run
    if there["query"] != query:
        raise _refused(checkpoint, "the checkpoint is of another query, or of another kind of run",
                       want=f"use its own query and options, or {_AFRESH}")  # fmt: skip
    if written is None or written["run"] != there["run"]:
        raise _refused(
            output,
            "this folder does not hold the results that belong to the checkpoint",
            got="another run's" if written else "nothing",
            want=f"name the folder of that run, or {_AFRESH}",
        )
    for group in sorted(path for path in checkpoint.iterdir() if path.is_dir()):
        _check_log(group)
    return Run(there["run"], there["began"], resumed=True)


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
        return {"run": str(data["run"]), "began": int(data["began"]), "query": str(data["query"])}
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
    return FileError(Problem(what, place=Place(str(path)), got=got, want=want))
