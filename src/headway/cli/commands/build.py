"""``headway build``: an executable for each node of a plan."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import NoPythonOption, show, table, write
from headway.engine.nodes.executables import FIRST_PORT, Executable, build_executables, write_build
from headway.report.plan.plan_tables import Table


def build(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN.json|QUERY.yaml", help="a compiled plan, or a query")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="where the executables go")],
    vehicle: Annotated[
        Path | None,
        typer.Option(metavar="VEHICLE.yaml", help="the vehicle, for a query that is not compiled"),
    ] = None,
    policy: Annotated[
        str, typer.Option(metavar="NAME", help="how jobs are scheduled: see `headway policies`")
    ] = "s-edf",
    first_port: Annotated[
        int, typer.Option(metavar="PORT", min=1, max=65000, help="of the first node on loopback")
    ] = FIRST_PORT,
    json: Annotated[
        bool, typer.Option("--json", help="print what was built as JSON instead of a table")
    ] = False,
    no_python: NoPythonOption = False,
) -> None:
    """Build one self-contained executable (.pyz) for each node of a plan.

    \b
    Example:
      headway compile examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml --out build
      headway build build/plan.json --out build/nodes
      python build/nodes/NODE.pyz --help

    Each holds the node's part of the plan, the modules of Headway that its operators need and your
    own modules that they name; other packages must be installed where it runs, and it says which.
    deployment.json holds the nodes' addresses and the order to start them in; nodes.key is how they
    know each other: new with each build, and for its owner only.
    """
    prepared = runnable_plan(plan, vehicle, zero_cost=False, python=not no_python)
    with prepared.placing():
        built = build_executables(prepared.plan, policy)
    written = write_build(prepared.plan, built, out, policy=policy, first_port=first_port)
    if json:
        data = {one.part.node: _data(one) for one in built}
        write(json_format.dumps(data, indent=1) + "\n")
        return
    content = Table(
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
    show([table(content), f"wrote {written[-1]}"])


def _data(one: Executable) -> dict[str, object]:
    return {
        "file": one.name,
        "bytes": len(one.content),
        "modules": list(one.modules),
        "requires": list(one.requires),
        "optional": one.optional,
    }
