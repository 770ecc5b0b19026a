"""``headway compare``: one recording on two engines."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli import terminal
from headway.cli.named_plan import runnable_plan
from headway.front_door.runnable_plan import RunnablePlan
from headway.report.plan.plan_tables import BROKEN, KEPT, Table, sign
from headway.spark.session.spark_session import check_master, owned_session
from headway.spark.storage.locations import Location

if TYPE_CHECKING:
    from headway.native.compare_native import NativeAgreement
    from headway.spark.batches.compare_engines import OutputAgreement


class OtherEngine(StrEnum):
    SPARK = "spark"
    NATIVE = "native"


NAMES = {OtherEngine.SPARK: "Spark", OtherEngine.NATIVE: "native engine"}


def compare(
    query: terminal.QueryArgument,
    input: Annotated[str, typer.Option(metavar="DIR", help="the recording")],
    engine: Annotated[
        OtherEngine,
        typer.Option(help="what is held against the vehicle engine: Spark, or its compiled twin"),
    ] = OtherEngine.SPARK,
    master: terminal.MasterOption = terminal.LOCAL,
    json: Annotated[
        bool, typer.Option("--json", help="print the counts as JSON instead of a table")
    ] = False,
) -> None:
    """Run a recording on the vehicle engine and on another, and count the tuples they agree on.

    \b
    Example:
      headway compare examples/tyre_watch/query.yaml --input examples/tyre_watch/recording
      headway compare examples/tyre_watch/query.yaml --input examples/tyre_watch/recording
          --engine native

    Exit code: 0 they agree on all, 1 they do not, 2 bad input.
    """
    prepared = runnable_plan(query, None, zero_cost=True)
    found = _agreements(prepared, Location.of(input).path, engine, master)
    holds = all(one.holds for one in found)
    if json:
        terminal.write(json_format.dumps([asdict(one) for one in found], indent=1) + "\n")
    else:
        rows = [
            [one.output, f"{one.equal:,}", f"{one.vehicle_only:,}", f"{one.other_only:,}",
             sign(one.holds)]
            for one in found
        ]  # fmt: skip
        other = NAMES[engine]
        headers = [
            "Output",
            "On both",
            "Vehicle engine only",
            f"{other[0].upper()}{other[1:]} only",
            "Agree",
        ]
        equal = sum(one.equal for one in found)
        said = f"{KEPT} Both engines agree on all {equal:,} tuples."
        if not holds:
            said = f"{BROKEN} The engines differ."
        title = f"{prepared.plan.query.name}: vehicle engine and {other}"
        shown = Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3))
        terminal.show([terminal.table(shown), terminal.sentence(said)])
    if not holds:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _agreements(
    prepared: RunnablePlan, recording: Path, engine: OtherEngine, master: str
) -> Sequence[NativeAgreement | OutputAgreement]:
    if engine is OtherEngine.NATIVE:
        from headway.native.compare_native import native_agreements

        with prepared.placing():
            return native_agreements(prepared.plan, recording)
    check_master(master)
    with owned_session(master, "headway compare") as spark:
        from headway.spark.batches.compare_engines import agreements

        with prepared.placing():
            return agreements(spark, prepared.plan, recording)
