"""``headway build`` for nodes that run native code: a folder of C++ for each, and its program.

The folder of a build holds ``NODE/`` with all source of the node, the runtime library's headers
that it uses, the application that is linked in, ``CMakeLists.txt`` and ``build.sh``; the program is
``NODE/bin/NODE``. Nodes that stay Python have their ``NODE.pyz`` beside. ``deployment.json`` and
``nodes.key`` are those of every build, so nodes of both kinds find and trust each other.

The folder appears whole or not at all and is known as Headway's by its summary
(:mod:`headway.engine.run_folder`): a second build into it needs ``force``, and never touches what
Headway did not write.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from headway.engine.nodes.executables import (
    FIRST_PORT,
    Executable,
    build_executables,
    deployment_of,
    slices_of,
)
from headway.engine.nodes.node_key import KEY_FILE, new_key, write_key
from headway.engine.nodes.node_slice import (
    DEPLOYMENT,
    SLICE,
    WHOLE_PLAN,
    NodeSlice,
    slice_to_json,
)
from headway.engine.run_folder import RunFolder, unwritable
from headway.errors import FileError, InputError, Place, Problem
from headway.model.codec import plan_to_json
from headway.model.plan import Plan
from headway.native.build_files import CMAKE, SCRIPT, cmake_text, program_path, script_text
from headway.native.cpp_process import Carrier, carriers_of
from headway.native.program_size import ProgramSize, program_size
from headway.native.source_files import write_tree
from headway.native.source_tree import node_sources
from headway.native.toolchain import Family, Target, Toolchain, compile_program, find_toolchain

APP = "app"
"""the folder of the application, inside that of its node"""
PYTHON = "python"
"""the target of a node that has a bundle and no program"""
_COMPILED = (".cpp", ".cc", ".cxx", ".c++")
_HEADERS = (".hpp", ".h", ".hh", ".hxx", ".inc", ".ipp")


@dataclass(frozen=True, slots=True)
class BuiltNode:
    """``files`` and ``lines`` of its source. ``size`` is None where nothing was compiled, or where
    programs are no ELF files; ``stack`` where the compiler does not tell."""

    node: str
    target: Target
    files: int
    lines: int
    program: str | None
    size: ProgramSize | None
    stack: int | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuiltCar:
    """All nodes of a build: those with a program, those with a bundle, and who compiled."""

    native: tuple[BuiltNode, ...]
    python: tuple[Executable, ...]
    compilers: tuple[str, ...]
    deployment: Path


def build_car(
    plan: Plan,
    out: Path,
    *,
    targets: Mapping[str, Target | None],
    policy: str = "s-edf",
    first_port: int = FIRST_PORT,
    apps: Mapping[str, Sequence[Path]] | None = None,
    tcp: bool = False,
    emit_only: bool = False,
    force: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> BuiltCar:
    """Builds all nodes into ``out``. ``targets``: node -> what it is compiled for, None for a
    Python bundle. ``apps``: node -> files of the application that is linked into it. ``tcp``:
    all take connections, though no peer of theirs is a Python node: for drivers and subscribers.
    ``progress`` is told, in words, what is being done."""
    parts = [part for part in slices_of(plan, policy) if part.node in targets]
    native = {node: target for node, target in targets.items() if target is not None}
    toolchains = {} if emit_only else {t: find_toolchain(t) for t in set(native.values())}
    progress("writing the source")
    apps = apps or {}
    trees = [
        _tree(
            plan,
            part,
            native[part.node],
            policy,
            apps.get(part.node, ()),
            carriers_of(part, targets, tcp=tcp),
        )
        for part in parts
        if part.node in native
    ]
    bundles = build_executables(plan, policy, targets.keys() - native.keys())
    with RunFolder(out, force=force) as folder:
        places = [_write(folder.part(tree.node), tree) for tree in trees]
        built = _compile_all(trees, places, toolchains, progress)
        _write_beside(folder, plan, policy, parts, built, bundles, first_port)
    return BuiltCar(
        native=tuple(built),
        python=tuple(bundles),
        compilers=tuple(sorted({one.name for one in toolchains.values()})),
        deployment=out / DEPLOYMENT,
    )


# -------------------------------------------------------------------- the source of a node


@dataclass(frozen=True, slots=True)
class _Tree:
    """All files of a node's folder, those of them that are compiled, and where those of the
    application are from."""

    node: str
    target: Target
    files: Mapping[str, str]
    sources: tuple[str, ...]
    origins: Mapping[str, Path]


def _tree(
    plan: Plan,
    part: NodeSlice,
    target: Target,
    policy: str,
    app: Sequence[Path],
    carriers: Collection[Carrier],
) -> _Tree:
    node = part.node
    application = _application(app)
    compiled = tuple(name for name in application if name.endswith(_COMPILED))
    made = node_sources(plan, node, policy, app=compiled, carriers=carriers)
    sources = (made.main, *compiled)
    files = {
        **made.files,
        **application,
        SLICE: slice_to_json(part),
        CMAKE: cmake_text(node, target, sources),
        SCRIPT: script_text(node, target, sources),
    }
    origins = {f"{APP}/{path.name}": path for path in app}
    return _Tree(node, target, files, sources, origins)


def _write(folder: Path, tree: _Tree) -> Path:
    write_tree(folder, tree.files)
    try:
        (folder / SCRIPT).chmod(0o755)
    except OSError as error:
        raise unwritable(folder, error) from None
    return folder.resolve()


_ODD = re.compile(r'[\x00-\x1f\x7f"$;\\]')
"""what neither a shell nor CMake takes as it stands, even between quotation marks"""


def _application(paths: Sequence[Path]) -> dict[str, str]:
    """Name in the node's folder -> text. The files lie beside each other, so they include each
    other by their names."""
    found: dict[str, str] = {}
    for path in paths:
        name = f"{APP}/{path.name}"
        if not path.name.endswith((*_COMPILED, *_HEADERS)):
            raise _bad_app(path, "not a C++ file", f"give one that ends in {', '.join(_COMPILED)}")
        if _ODD.search(path.name):
            raise _bad_app(path, "a file name that CMake cannot take", "rename it")
        if name in found:
            raise _bad_app(path, "two files of the application have this name", "rename one")
        try:
            found[name] = path.read_text(encoding="utf-8")
        except OSError as error:
            raise _bad_app(path, f"cannot be read: {error.strerror or error}") from None
        except ValueError:
            raise _bad_app(path, "not text in UTF-8", "save it as UTF-8") from None
    if found and not any(name.endswith(_COMPILED) for name in found):
        raise _bad_app(
            paths[0],
            "an application of headers only",
            f"name its sources too ({', '.join(_COMPILED)})",
        )
    return found


def _bad_app(path: Path, what: str, want: str = "") -> FileError:
    return FileError(what, at="--app", place=Place(str(path)), want=want)


def app_nodes(plan: Plan, nodes: Sequence[str], given: Sequence[str]) -> dict[str, list[Path]]:
    """Which node each file of an application belongs to. ``given`` as on the command line:
    ``NODE=FILE``, or ``FILE`` where only one of the nodes gives outputs."""
    found: dict[str, list[Path]] = {}
    for one in given:
        node, equals, path = one.partition("=")
        if not (equals and node in nodes):
            node, path = _only_node(plan, nodes, one), one
        found.setdefault(node, []).append(Path(path))
    return found


def _only_node(plan: Plan, nodes: Sequence[str], given: str) -> str:
    giving = [query.node for query in plan.node_queries if query.outputs and query.node in nodes]
    candidates = giving or list(nodes)
    if len(candidates) != 1:
        raise InputError(
            "which node is the application for?",
            at="--app",
            got=given,
            want=f"write NODE={given}; there are {', '.join(candidates) or 'no native nodes'}",
        )
    return candidates[0]


# -------------------------------------------------------------------- programs


def _compile_all(
    trees: Sequence[_Tree],
    places: Sequence[Path],
    toolchains: Mapping[Target, Toolchain],
    progress: Callable[[str], None],
) -> list[BuiltNode]:
    """As many at once as there are processors."""
    if not toolchains:
        return [_described(tree) for tree in trees]
    waiting = [tree.node for tree in trees]
    zig = any(one.family is Family.ZIG for one in toolchains.values())
    patience = " (the first program for a target takes a minute or two)" if zig else ""

    def compiled(tree: _Tree, place: Path) -> BuiltNode:
        node = _compiled(tree, place, toolchains[tree.target])
        waiting.remove(tree.node)
        if waiting:
            progress(f"compiling {', '.join(waiting)}{patience}")
        return node

    progress(f"compiling {', '.join(waiting)}{patience}")
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(compiled, trees, places))


def _described(tree: _Tree) -> BuiltNode:
    return BuiltNode(
        node=tree.node,
        target=tree.target,
        files=len(tree.files),
        lines=sum(text.count("\n") for text in tree.files.values()),
        program=None,
        size=None,
        stack=None,
        warnings=(),
    )


def _compiled(tree: _Tree, place: Path, toolchain: Toolchain) -> BuiltNode:
    path = place / program_path(tree.node)
    try:
        made = compile_program(
            [Path(source) for source in tree.sources],
            path,
            toolchain,
            include=[Path()],
            strict=False,  # a compiler newer than ours, and an application, may be warned of more
            folder=place,
        )
    except FileError as error:
        raise FileError(_of_node(problem, tree) for problem in error.problems) from None
    return replace(
        _described(tree),
        program=f"{tree.node}/{program_path(tree.node)}",
        size=program_size(path),
        stack=made.stack,
        warnings=made.warnings,
    )


def _of_node(problem: Problem, tree: _Tree) -> Problem:
    """With the node, and an application's file where the user has it."""
    place = problem.place
    if place is not None and (origin := tree.origins.get(place.file)) is not None:
        place = replace(place, file=str(origin))
    return replace(problem, at=f"node {tree.node}", place=place)


# -------------------------------------------------------------------- beside the nodes


def _write_beside(
    folder: RunFolder,
    plan: Plan,
    policy: str,
    parts: Sequence[NodeSlice],
    built: Sequence[BuiltNode],
    bundles: Sequence[Executable],
    first_port: int,
) -> None:
    """The bundles, the key, the deployment and the summary that marks the folder as Headway's."""
    needed = {one.part.node: one.requires for one in bundles}
    programs = {
        one.node: (f"{one.node}/{program_path(one.node)}", str(one.target)) for one in built
    }
    deployment = deployment_of(
        plan,
        policy,
        [(part, needed.get(part.node, ())) for part in parts],
        first_port,
        programs,
    )
    try:
        for one in bundles:
            path = folder.part(one.name)
            path.write_bytes(one.content)
            path.chmod(0o755)
        write_key(folder.folder, new_key(), folder.part(KEY_FILE).name)
    except OSError as error:
        raise unwritable(folder.folder, error) from None
    folder.write_text(WHOLE_PLAN, plan_to_json(plan))
    folder.write_text(DEPLOYMENT, json.dumps(deployment, indent=1) + "\n")
    folder.write_summary(
        {"query": plan.query.name, "policy": policy, "nodes": {b.node: node_data(b) for b in built}}
    )


def node_data(one: BuiltNode) -> dict[str, object]:
    """As JSON has it; None for what is not known."""
    size = one.size
    return {
        "target": str(one.target),
        "program": one.program,
        "bytes": size.file if size else None,
        "machine": size.machine if size else None,
        "code": size.code if size else None,
        "constants": size.constants if size else None,
        "data": size.data if size else None,
        "zeroed": size.zeroed if size else None,
        "stack": one.stack,
        "source_files": one.files,
        "source_lines": one.lines,
        "warnings": list(one.warnings),
    }
