"""``headway build``: an executable for each node of a plan, and how they find each other.

A ``NODE.pyz`` holds the node's part of the plan, the modules of Headway that its operators need and
the user's own modules. The same plan gives the same bytes.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint, PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from headway.errors import FileError, Place, Problem, QueryError
from headway.model.expression import PythonCall
from headway.model.operator_kinds import GROUP, VEHICLE, entry_points, kind_of, module_of
from headway.model.plan import Plan
from headway.runtime.bundle_main import MAIN
from headway.runtime.distributed.deployment import DEPLOYMENT, FIRST_PORT, deployment_of
from headway.runtime.distributed.node_slice import NodeSlice, slice_to_json
from headway.runtime.distributed.slicing import slices_of
from headway.runtime.modules import OWN, Modules, modules_of

_MOMENT = (1980, 1, 1, 0, 0, 0)
_COMMAND = "headway.runtime.distributed.command"
_OFFER = "headway_node-0.dist-info"
_READING = "headway.sources.recordings"
_WRITING = "headway.sources.parquet_file"


@dataclass(frozen=True, kw_only=True)
class Executable:
    """A node's archive. ``optional``: package -> the options that need it."""

    part: NodeSlice
    content: bytes
    modules: tuple[str, ...]
    requires: tuple[str, ...]
    optional: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.part.node}.pyz"


def build_executables(plan: Plan, policy: str = "s-edf") -> list[Executable]:
    """One for each node that has something to do."""
    return [_executable(part) for part in slices_of(plan, policy)]


def write_build(
    plan: Plan,
    built: list[Executable],
    folder: Path,
    *,
    policy: str = "s-edf",
    first_port: int = FIRST_PORT,
) -> list[Path]:
    """Writes the executables and ``deployment.json``; FileError when that cannot be done."""
    parts = [(one.part, one.requires) for one in built]
    deployment = json.dumps(deployment_of(plan, policy, parts, first_port), indent=1) + "\n"
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for executable in built:
            path = folder / executable.name
            path.write_bytes(executable.content)
            path.chmod(0o755)
            written.append(path)
        path = folder / DEPLOYMENT
        path.write_text(deployment, encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            Problem(
                f"cannot write here: {reason}",
                place=Place(str(folder)),
                want="name a folder that can be written to",
            )
        ) from None
    return [*written, path]


def _executable(part: NodeSlice) -> Executable:
    needed = {_COMMAND, part.policy.partition(":")[0]}
    needed |= set(operator_modules(part.plan))
    needed |= set(user_modules(part.plan))
    start = modules_of(needed)
    _check_users(part, start)
    later = {}
    if part.own_sources:
        later[_READING] = "--input"
    if part.plan.query.outputs:
        later[_WRITING] = "--format parquet"
    everything = modules_of([*needed, *later])
    optional: dict[str, list[str]] = {}
    for module, option in later.items():
        for package in modules_of([module]).requires - start.requires:
            optional.setdefault(package, []).append(option)
    described = {package: " and ".join(options) for package, options in sorted(optional.items())}
    wanted = tuple(sorted(start.requires))
    manifest = {
        "node": part.node,
        "headway": _version(OWN),
        "requires": {package: _requirement(package) for package in wanted},
        "optional": {p: {"requirement": _requirement(p), "for": o} for p, o in described.items()},
        "modules": sorted(everything.files),
    }
    entries = everything.entries()
    entries["__main__.py"] = MAIN.encode()
    entries["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    entries["slice.json"] = slice_to_json(part).encode()
    if outside := _kinds_from_outside(part.plan):
        # The archive offers them as the package did that has them here.
        lines = [f"[{GROUP}]", *(f"{point.name} = {point.value}" for point in outside)]
        entries[f"{_OFFER}/entry_points.txt"] = ("\n".join(lines) + "\n").encode()
        entries[f"{_OFFER}/METADATA"] = b"Metadata-Version: 2.1\nName: headway-node\nVersion: 0\n"
    return Executable(
        part=part,
        content=b"#!/usr/bin/env python3\n" + _archive(entries),
        modules=tuple(sorted(everything.files)),
        requires=wanted,
        optional=described,
    )


def _archive(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, _MOMENT)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, entries[name])
    return buffer.getvalue()


def operator_modules(plan: Plan) -> Iterator[str]:
    """The modules of the node's operators: what they are, what runs them, and for a kind of another
    package what describes it."""
    for operator in plan.query.operators:
        kind = kind_of(operator)
        for reference in (kind.model, kind.reference(VEHICLE)):
            if reference is not None:
                yield module_of(reference)
    yield from (point.module for point in _kinds_from_outside(plan))


def _kinds_from_outside(plan: Plan) -> list[EntryPoint]:
    used = {operator.kind for operator in plan.query.operators}
    return [point for point in entry_points() if point.name in used]


def user_modules(plan: Plan) -> Iterator[str]:
    """The modules of classes and functions that the node's operators and shedders name."""
    for item in _parts((plan.query.steps, plan.query.sources)):
        named = item.function if isinstance(item, PythonCall) else None
        named = named or getattr(item, "implementation", None)
        if isinstance(named, str):
            yield named.partition(":")[0]


def _parts(value: Any) -> Iterator[Any]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield value
        for one in dataclasses.fields(value):
            yield from _parts(getattr(value, one.name))
    elif isinstance(value, tuple):
        for inner in value:
            yield from _parts(inner)


def _check_users(part: NodeSlice, found: Modules) -> None:
    """A module that is neither here nor installed would fail on the node: say so now."""
    for name in user_modules(part.plan):
        top = name.partition(".")[0]
        if name not in found.files and _version(top) == "" and not _importable(top):
            raise QueryError(
                Problem(
                    f"module {name!r} cannot be found",
                    at=f"node {part.node}",
                    want="run 'headway build' where the module can be imported",
                )
            )


def _importable(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _requirement(package: str) -> str:
    """As Headway itself asks for it, or just its name."""
    try:
        wanted = requires(OWN) or []
    except PackageNotFoundError:
        wanted = []
    return next((one for one in wanted if one.partition(";")[0].startswith(package)), package)
