"""``headway policies``: the run-time scheduling policies there are."""

from __future__ import annotations

import json as json_format
from typing import Annotated

import typer

from headway.cli.terminal import show, table, write, write_problem
from headway.report.plan.plan_tables import Table
from headway.schedule.online import EVERY, OVERLOAD_POLICIES, POLICIES


def policies(
    json: Annotated[bool, typer.Option("--json", help="print them as JSON, for programs")] = False,
) -> None:
    """List the scheduling policies of the vehicle engine, and the papers they are from.

    Installed packages add policies; one that cannot be used is told of.

    All run with `headway run --engine vehicle --policy NAME` and in executables for nodes, those
    for overload also on task sets with `headway loadtest`. Those that reserve processor time
    (er-edf, rop-edf, cbs) run on nodes with one core; in wall-clock time each needs a process.

    \b
    Example:
      headway policies
    """
    rows = [[policy.name, policy.summary, policy.paper] for policy in POLICIES.values()]
    more = [[one.name, one.summary, one.paper] for one in OVERLOAD_POLICIES.values()]
    if json:
        listed = [dict(zip(("name", "summary", "paper"), row, strict=True)) for row in rows + more]
        write(json_format.dumps(listed, indent=1, ensure_ascii=False) + "\n")
    else:
        headers = ["Name", "What it does", "From"]
        title = "Policies for overload"
        shown = Table(title="Policies", headers=headers, rows=rows)
        show([table(shown), table(Table(title=title, headers=headers, rows=more))])
    for refused in EVERY.refused().values():
        write_problem(f"warning: {refused}")
