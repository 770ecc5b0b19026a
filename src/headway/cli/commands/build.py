"""``headway build``: an executable for each node of a plan."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import (
    ForceOption,
    NoPythonOption,
    show,
    table,
    working,
    write,
    write_problem,
)
from headway.engine.nodes.executables import FIRST_PORT, Executable, build_executables, write_build
from headway.errors import InputError
from headway.report.plan.plan_tables import Table

# What compiles is imported where something is compiled.
if TYPE_CHECKING:
    from headway.front_door.runnable_plan import RunnablePlan
    from headway.native.native_build import BuiltNode
    from headway.native.toolchain import Target

PYTHON = "python"


def build(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.json|QUERY.yaml", help="a compiled plan, or a query")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="where the executables go")],
    vehicle: Annotated[
        Path | None,
        typer.Option(metavar="VEHICLE.yaml", help="the vehicle, for a query that is not compiled"),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NODE=]TARGET",
            help="python (a bundle that needs an interpreter), native (C++ for this machine), "
            "aarch64 or armv7 (C++ for ARM with Linux); several times for nodes that differ",
            show_default=PYTHON,
        ),
    ] = None,
    emit_only: Annotated[
        bool, typer.Option("--emit-only", help="write the C++ and stop before compiling it")
    ] = False,
    app: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NODE=]APP.cpp",
            help="a file of the application that is linked into a native node; repeatable",
        ),
    ] = None,
    tcp: Annotated[
        bool,
        typer.Option(
            "--tcp",
            help="native nodes also take connections where no Python node needs them: for drivers "
            "that feed sources and for subscribers",
        ),
    ] = False,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="how jobs are scheduled: see `headway policies`")
    ] = "s-edf",
    first_port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65000, help="of the first node on loopback")
    ] = FIRST_PORT,
    force: ForceOption = False,
    json: Annotated[
        bool, typer.Option("--json", help="print what was built as JSON instead of a table")
    ] = False,
    no_python: NoPythonOption = False,
) -> None:
    """Build one self-contained executable for each node of a plan: a Python bundle or native code.

    \b
    Example:
      headway compile examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml --out build
      headway build build/plan.json --out build/nodes
      python build/nodes/NODE.pyz --help
    \b
    The same as native code, for this machine and for an ARM board:
      headway build build/plan.json --target native --out build/native
      headway build build/plan.json --target armv7 --out build/arm
    \b
    One node native with an application linked in, the others Python; or only the C++, to read it
    and to compile it elsewhere (NODE/build.sh, or cmake):
      headway build build/plan.json --target NODE=native --app NODE=brake.cpp --out build/mixed
      headway build build/plan.json --target native --emit-only --out build/source

    A bundle (.pyz) holds the node's part of the plan, the modules of Headway that its operators
    need and your own modules that they name; other packages must be installed where it runs, and it
    says which. A native node has a folder with its C++17, all that builds it without Headway, and
    its program; the table shows what that takes of memory. The compiler is the one that CXX names,
    else the system's, else the Python package ziglang (pip install 'headway[native]'), which also
    compiles for ARM: its first program for a target takes a minute or two.

    deployment.json holds the nodes' addresses and the order to start them in; nodes.key is how they
    know each other: new with each build, and for its owner only.
    """
    prepared = runnable_plan(plan, vehicle, zero_cost=False, python=not no_python)
    targets = _targets(prepared, target or [])
    if any(targets.values()):
        _build_native(
            prepared, out, targets, app or [], policy, first_port, tcp, emit_only, force, json
        )
        return
    _refuse_native_options(emit_only=emit_only, app=app or [], tcp=tcp)
    with prepared.placing():
        built = build_executables(prepared.plan, policy)
    written = write_build(prepared.plan, built, out, policy=policy, first_port=first_port)
    if json:
        data = {one.part.node: _bundle_data(one) for one in built}
        write(json_format.dumps(data, indent=1) + "\n")
        return
    show([table(_bundle_table(built)), f"wrote {written[-1]}"])


# ---------------------------------------------------------------- targets


def _targets(prepared: RunnablePlan, given: Sequence[str]) -> dict[str, Target | None]:
    """Node -> what it is compiled for, None for a bundle; one without a node is for all that are
    not named."""
    from headway.native.toolchain import Target

    queries = prepared.plan.node_queries
    nodes = [query.node for query in queries if query.sources or query.operators]
    for_all = PYTHON
    named: dict[str, str] = {}
    for one in given:
        node, equals, target = one.rpartition("=")
        if target not in (PYTHON, *Target):
            raise InputError(
                "not a target", at="--target", got=one, want=f"use {', '.join([PYTHON, *Target])}"
            )
        if equals and node not in nodes:
            raise InputError(
                f"no node {node!r} has something to do",
                at="--target",
                got=one,
                want=f"name one of {', '.join(nodes)}",
            )
        if equals:
            named[node] = target
        else:
            for_all = target
    chosen = {node: named.get(node, for_all) for node in nodes}
    return {node: None if name == PYTHON else Target(name) for node, name in chosen.items()}


def _refuse_native_options(*, emit_only: bool, app: Sequence[str], tcp: bool) -> None:
    options = {"--emit-only": emit_only, "--app": bool(app), "--tcp": tcp}
    for option, used in options.items():
        if used:
            raise InputError(
                f"{option} is for native nodes",
                at=option,
                want="add --target native, or leave it out",
            )


# ---------------------------------------------------------------- native nodes


def _build_native(
    prepared: RunnablePlan,
    out: Path,
    targets: dict[str, Target | None],
    app: Sequence[str],
    policy: str,
    first_port: int,
    tcp: bool,
    emit_only: bool,
    force: bool,
    json: bool,
) -> None:
    from headway.native.native_build import app_nodes, build_car, node_data

    native = [node for node, target in targets.items() if target is not None]
    apps = app_nodes(prepared.plan, native, app)
    with prepared.placing(), working(shown=not json) as progress:
        car = build_car(
            prepared.plan,
            out,
            targets=targets,
            policy=policy,
            first_port=first_port,
            apps=apps,
            tcp=tcp,
            emit_only=emit_only,
            force=force,
            progress=progress,
        )
    for one in car.native:
        for warning in one.warnings:
            write_problem(f"note: node {one.node}: {warning}")
    if json:
        data = {one.node: node_data(one) for one in car.native}
        data |= {one.part.node: _bundle_data(one) for one in car.python}
        write(json_format.dumps(data, indent=1) + "\n")
        return
    tables = [_source_table(car.native) if emit_only else _program_table(car.native)]
    tables += [_bundle_table(car.python)] if car.python else []
    compilers = [f"compiled by {name}: NODE/bin/NODE" for name in car.compilers]
    show([*map(table, tables), *compilers, f"wrote {car.deployment}"])


def _program_table(built: Sequence[BuiltNode]) -> Table:
    """Constants count as code: both can stay in read-only memory."""
    sizes = [(one, one.size) for one in built]
    return Table(
        title="Programs (bytes)",
        headers=["node", "target", "code", "static data", "stack", "file"],
        rows=[
            [
                one.node,
                str(one.target),
                _bytes(size.code + size.constants if size else None),
                _bytes(size.static_data if size else None),
                _bytes(one.stack),
                _bytes(size.file if size else None),
            ]
            for one, size in sizes
        ],
        numeric=(2, 3, 4, 5),
    )


def _bytes(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _source_table(built: Sequence[BuiltNode]) -> Table:
    return Table(
        title="Source",
        headers=["node", "target", "files", "lines", "compile it with"],
        rows=[
            [one.node, str(one.target), f"{one.files}", f"{one.lines:,}", f"{one.node}/build.sh"]
            for one in built
        ],
        numeric=(2, 3),
    )


# ---------------------------------------------------------------- Python bundles


def _bundle_table(built: Sequence[Executable]) -> Table:
    return Table(
        title="Executables",
        headers=["node", "file", "bytes", "modules", "needs"],
        rows=[
            [
                one.part.node,
                one.name,
                f"{len(one.content):,}",
                f"{len(one.modules)}",
                ", ".join([*one.requires, *(f"{p} ({why})" for p, why in one.optional.items())]),
            ]
            for one in built
        ],
        numeric=(2, 3),
    )


def _bundle_data(one: Executable) -> dict[str, object]:
    return {
        "file": one.name,
        "bytes": len(one.content),
        "modules": list(one.modules),
        "requires": list(one.requires),
        "optional": one.optional,
    }
