"""``headway build``: an executable for each node of a plan, and how they find each other.

The plan is cut into the parts of its nodes. A ``NODE.pyz`` holds the node's part, the modules of
Headway that its operators need and the user's own modules; ``deployment.json`` says where the nodes
are found and in which order to start them. The same plan gives the same bytes; only the key by
which the nodes of a build know each other is new each time, and lies beside them.

Which modules are needed is read off their imports, without running them. Of Headway, what is
imported at the top of a module counts; what is imported inside a function is for those who need it,
and named here. A package of Headway that is only on the way to a module is left empty. Of the
user's own modules all imports count.
"""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import importlib.util
import io
import json
import sys
import sysconfig
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import chain
from pathlib import Path
from typing import Any

from headway.engine.nodes.node_key import new_key, write_key
from headway.engine.nodes.node_slice import (
    DEPLOYMENT,
    OUTPUT,
    WHOLE_PLAN,
    NodeSlice,
    slice_to_json,
)
from headway.engine.path_tasks import PathTasks
from headway.engine.program import build_program, tasks_for
from headway.engine.reserved_paths import ReservedPaths
from headway.engine.run_folder import unwritable, write_whole
from headway.engine.waiting_room import waiting_room
from headway.errors import Problem, QueryError
from headway.extensions import Entry
from headway.model.codec import plan_to_json
from headway.model.expression import PythonCall
from headway.model.operator_kinds import GROUP, KINDS, VEHICLE, kind_of, module_of
from headway.model.plan import Plan
from headway.model.query import Source
from headway.schedule.online import Policy, engine_policy_named


def slices_of(plan: Plan, policy: str = "s-edf") -> list[NodeSlice]:
    """The parts of all nodes that have something to do, in the plan's order."""
    chosen = engine_policy_named(policy)
    tasks, order = tasks_for(plan, chosen)
    paths = _reserved(plan, chosen)
    fingerprint = hashlib.sha256(f"{policy}\n{plan_to_json(plan)}".encode()).hexdigest()[:16]
    names = [name for name, _ in plan.schemas]
    names += [OUTPUT + output.name for output in plan.query.outputs]
    streams = tuple((name, number) for number, name in enumerate(names, start=1))
    parts = []
    for query in plan.node_queries:
        if not (query.sources or query.operators):
            continue
        mine = [task for task in tasks if task.node == query.node]
        parts.append(
            NodeSlice(
                node=query.node,
                fingerprint=fingerprint,
                policy=f"{type(chosen).__module__}:{type(chosen).__qualname__}",
                plan=_slice(plan, query.node),
                order=order.of([task.name for task in mine]),
                streams=streams,
                sends=query.sends,
                receives=query.receives,
                room=waiting_room(plan, mine),
                reserved=None if paths is None else paths.on(query.node),
            )
        )
    return parts


def _reserved(plan: Plan, policy: Policy) -> ReservedPaths | None:
    """What is reserved on all nodes, under a policy that does; computed here, so that no node
    needs the compiler."""
    if not policy.guarded:
        return None
    return PathTasks(plan, build_program(plan, policy)).tables()


def _slice(plan: Plan, node: str) -> Plan:
    """The plan as the node sees it: other nodes' streams enter as sources."""
    (query,) = [one for one in plan.node_queries if one.node == node]
    schemas = dict(plan.schemas)
    incoming = list(dict.fromkeys(stream for stream, _ in query.receives))
    sources = [source for source in plan.query.sources if source.name in query.sources]
    sources += [Source(name=stream, schema=schemas[stream]) for stream in incoming]
    steps = [step for step in plan.query.steps if step.name in query.operators]
    known = {*(source.name for source in sources), *query.operators}
    vehicle = plan.vehicle
    return replace(
        plan,
        query=replace(
            plan.query,
            sources=tuple(sources),
            steps=tuple(steps),
            outputs=tuple(o for o in plan.query.outputs if o.name in query.outputs),
            components=(),
        ),
        vehicle=replace(
            vehicle,
            nodes=tuple(one for one in vehicle.nodes if one.name == node),
            buses=(),
            gateways=(),
            links=(),
            sensors=tuple((s, at) for s, at in vehicle.sensors if s in query.sources),
            pins=(),
        ),
        schemas=tuple((name, schema) for name, schema in plan.schemas if name in known),
        placement=tuple((name, node) for name in sorted(known)),
        node_queries=(query,),
        crossings=tuple(c for c in plan.crossings if c.sender == node),
        tasks=tuple(task for task in plan.tasks if task.node == node),
        operator_tasks=tuple(task for task in plan.operator_tasks if task.node == node),
        verdict=None,
    )


# -------------------------------------------------------------------- deployment.json


FIRST_PORT = 47100


def deployment_of(
    plan: Plan,
    policy: str,
    parts: list[tuple[NodeSlice, tuple[str, ...]]],
    first_port: int,
    programs: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, Any]:
    """Addresses on loopback, one port after the other; each part with the packages it needs.
    ``programs``: of the nodes that are no Python, their executable and what it was compiled for."""
    programs = programs or {}
    return {
        "query": plan.query.name,
        "policy": policy,
        "fingerprint": parts[0][0].fingerprint if parts else "",
        "nodes": {
            part.node: {
                "address": f"127.0.0.1:{first_port + place}",
                **_executable_of(part.node, programs.get(part.node)),
                "sources": list(part.own_sources),
                "outputs": [output.name for output in part.plan.query.outputs],
                "requires": list(requires),
            }
            for place, (part, requires) in enumerate(parts)
        },
        "start_order": _start_order([part for part, _ in parts]),
    }


def _executable_of(node: str, program: tuple[str, str] | None) -> dict[str, str]:
    if program is None:
        return {"executable": f"{node}.pyz"}
    return {"executable": program[0], "target": program[1]}


def _start_order(parts: list[NodeSlice]) -> list[str]:
    """Receivers before senders, unless they send to each other; else the plan's order."""
    order: list[str] = []
    waiting = {part.node: {receiver for _, receiver in part.sends} for part in parts}
    while waiting:
        free = [node for node, receivers in waiting.items() if receivers <= set(order)]
        order.append(free[0] if free else next(iter(waiting)))
        del waiting[order[-1]]
    return order


# -------------------------------------------------------------------- the start of an executable


MAIN = '''"""Starts a node of Headway; written by headway build."""

import importlib.util
import json
import sys
from itertools import chain
from pathlib import Path
from zipimport import zipimporter


def start():
    executable = Path(sys.argv[0]).resolve()
    archive = zipimporter(str(executable))
    manifest = json.loads(archive.get_data("manifest.json"))
    problems = []
    if sys.version_info < (3, 11):
        problems.append("needs Python 3.11 or later, this is " + sys.version.split()[0])
    for package, wanted in manifest["requires"].items():
        if importlib.util.find_spec(package) is None:
            problems.append("needs the package %r: pip install %r" % (package, wanted))
    for package, entry in manifest["optional"].items():
        used = any(
            argument in option.split() or argument.split("=")[0] in option.split()
            for option in entry["for"].split(" and ")
            for argument in sys.argv[1:]
        )
        if used and importlib.util.find_spec(package) is None:
            problems.append(
                "needs the package %r for %s: pip install %r"
                % (package, entry["for"], entry["requirement"])
            )
    if problems:
        for problem in problems:
            sys.stderr.write("%s: %s\\n" % (executable.name, problem))
        return 2
    from headway.engine.nodes.node_command import main

    return main(archive.get_data("slice.json").decode(), executable)


if __name__ == "__main__":
    sys.exit(start())
'''


# -------------------------------------------------------------------- executables


_MOMENT = (1980, 1, 1, 0, 0, 0)
_COMMAND = "headway.engine.nodes.node_command"
_RESERVING = "headway.engine.reservations"
_OFFER = "headway_node-0.dist-info"
_READING = (
    "headway.sources.recordings",
    "headway.sources.parquet_file",
    "headway.sources.csv_file",
    "headway.sources.jsonl_file",
)
_WRITING = ("headway.sources.parquet_file",)


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


def build_executables(
    plan: Plan, policy: str = "s-edf", nodes: Collection[str] | None = None
) -> list[Executable]:
    """One for each node that has something to do, or for those of them that are named."""
    parts = slices_of(plan, policy)
    return [_executable(part) for part in parts if nodes is None or part.node in nodes]


def write_build(
    plan: Plan,
    built: list[Executable],
    folder: Path,
    *,
    policy: str = "s-edf",
    first_port: int = FIRST_PORT,
) -> list[Path]:
    """Writes the executables, a new key and ``deployment.json``; FileError when that cannot be
    done."""
    parts = [(one.part, one.requires) for one in built]
    deployment = json.dumps(deployment_of(plan, policy, parts, first_port), indent=1) + "\n"
    written = write_whole(folder, {one.name: one.content for one in built})
    try:
        for path in written:
            path.chmod(0o755)
        written.append(write_key(folder, new_key()))
    except OSError as error:
        raise unwritable(folder, error) from None
    beside = {WHOLE_PLAN: plan_to_json(plan).encode(), DEPLOYMENT: deployment.encode()}
    return [*written, *write_whole(folder, beside)]


def _executable(part: NodeSlice) -> Executable:
    needed = {_COMMAND, part.policy.partition(":")[0]}
    needed |= set(operator_modules(part.plan))
    needed |= set(user_modules(part.plan))
    if part.reserved is not None:
        needed.add(_RESERVING)
    start = modules_of(needed)
    _check_users(part, start)
    later: dict[tuple[str, ...], str] = {}
    if part.own_sources:
        later[_READING] = "--input"
    if part.plan.query.outputs:
        later[_WRITING] = "--format parquet"
    everything = modules_of([*needed, *chain.from_iterable(later)])
    optional: dict[str, list[str]] = {}
    for modules, option in later.items():
        for package in modules_of(modules).requires - start.requires:
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
        lines = [f"[{GROUP}]", *(f"{entry.name} = {entry.reference}" for entry in outside)]
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
    yield from (module_of(entry.reference) for entry in _kinds_from_outside(plan))


def _kinds_from_outside(plan: Plan) -> list[Entry]:
    used = {operator.kind for operator in plan.query.operators}
    return [KINDS.only(name) for name in KINDS.others if name in used]


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


# -------------------------------------------------------------------- modules carried along

OWN = "headway"
_INSTALLED = tuple(
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


@dataclass(slots=True)
class Modules:
    """``files``: module -> its source file. ``requires``: packages that must be installed."""

    files: dict[str, Path] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)
    """modules of ``files`` that are packages"""
    requires: set[str] = field(default_factory=set)

    def entries(self) -> dict[str, bytes]:
        """The files of an archive, with the empty packages on the way."""
        found: dict[str, bytes] = {}
        for name, path in self.files.items():
            base = name.replace(".", "/")
            found[base + ("/__init__.py" if name in self.packages else ".py")] = path.read_bytes()
        for name in self.files:
            parts = name.split(".")
            for end in range(1, len(parts)):
                found.setdefault("/".join(parts[:end]) + "/__init__.py", b"")
        return found


def modules_of(roots: Iterable[str]) -> Modules:
    """The roots and all that they import, and what must be installed."""
    modules = Modules()
    pending = list(roots)
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if name in modules.files or top in sys.stdlib_module_names:
            continue
        found = _source(name)
        if found is None:
            if not _is_folder(name):
                modules.requires.add(top)
            continue
        path, is_package = found
        modules.files[name] = path
        if is_package:
            modules.packages.add(name)
        if top != OWN and "." in name:
            pending.append(name.rpartition(".")[0])
        pending += _imports(name, path, is_package)
    return modules


def _source(name: str) -> tuple[Path, bool] | None:
    """The file of a module to be carried along: Headway's, or the user's own plain Python."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin).resolve()
    if name.partition(".")[0] != OWN and any(path.is_relative_to(place) for place in _INSTALLED):
        return None
    return path, spec.submodule_search_locations is not None


def _is_folder(name: str) -> bool:
    """Whether it is a package without a file of its own, on the way to a module."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is None


def _imports(name: str, path: Path, is_package: bool) -> Iterator[str]:
    tree = ast.parse(path.read_bytes(), str(path))
    own = name.partition(".")[0] == OWN
    for node in _at_top(tree) if own else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if _is_module(inner) else base


def _at_top(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements run on import, but for those that only a type checker sees."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            pending += ast.iter_child_nodes(node)


def _is_module(name: str) -> bool:
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    return _source(name) is not None
