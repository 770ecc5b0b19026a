"""``headway compare``: one recording on both engines."""

from __future__ import annotations

import json as json_format
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import terminal
from headway.cli.named_plan import runnable_plan
from headway.report.plan.plan_tables import BROKEN, KEPT, Table, sign
from headway.spark.session.spark_session import check_master, owned_session


def compare(
    query: terminal.QueryArgument,
    input: Annotated[Path, typer.Option(metavar="DIR", help="the recording")],
    master: terminal.MasterOption = terminal.LOCAL,
    json: Annotated[
        bool, typer.Option("--json", help="print the counts as JSON instead of a table")
    ] = False,
) -> None:
    """Run a recording on the vehicle engine and on Spark, and count the tuples they agree on.

    \b
    Example:
      headway compare examples/tyre_watch/query.yaml --input examples/tyre_watch/recording

    Exit code: 0 they agree on all, 1 they do not, 2 bad input.
    """
    prepared = runnable_plan(query, None, zero_cost=True)
    check_master(master)
    with owned_session(master, "headway compare") as spark:
        from headway.spark.batch.compare_engines import agreements

        with prepared.placing():
            found = agreements(spark, prepared.plan, input)
    holds = all(one.holds for one in found)
    if json:
        terminal.write(json_format.dumps([asdict(one) for one in found], indent=1) + "\n")
    else:
        rows = [
            [one.output, f"{one.equal:,}", f"{one.vehicle_only:,}", f"{one.spark_only:,}",
             sign(one.holds)]
            for one in found
        ]  # fmt: skip
        headers = ["Output", "On both", "Vehicle engine only", "Spark only", "Agree"]
        equal = sum(one.equal for one in found)
        said = f"{KEPT} Both engines agree on all {equal:,} tuples."
        if not holds:
            said = f"{BROKEN} The engines differ."
        title = f"{prepared.plan.query.name}: vehicle engine and Spark"
        shown = Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3))
        terminal.show([terminal.table(shown), terminal.sentence(said)])
    if not holds:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))
