"""``headway import``: a model of another tool as a query, a vehicle and a recording."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.terminal import heading, sentence, show, table, write_files, write_json
from headway.errors import InputError
from headway.files.amalthea_import import NUMBER, ImportedModel, activations, import_model
from headway.files.write_yaml import query_to_yaml, vehicle_to_yaml
from headway.report.plan.plan_tables import Table

if TYPE_CHECKING:
    from rich.console import RenderableType

QUERY, VEHICLE, REPORT = "query.yaml", "vehicle.yaml", "import.md"
MOST_SECONDS = 3600
MOST_LINES = 12


def import_amalthea(
    model: Annotated[Path, typer.Argument(metavar="MODEL.amxmi", help="an Amalthea model")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="the folder that gets it")],
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            min=0,
            max=MOST_SECONDS,
            help="how long a recording of activations to write; 0: none",
        ),
    ] = 2.0,
    json: Annotated[bool, typer.Option("--json", help="print what came of it as JSON")] = False,
) -> None:
    """Import an Amalthea model (APP4MC, WATERS challenges): its tasks as a query, its cores as a
    vehicle.

    \b
    Example:
      headway import examples/engine_control/model.amxmi --out build/engine
      headway compile build/engine/query.yaml --vehicle build/engine/vehicle.yaml
      headway run build/engine/query.yaml --vehicle build/engine/vehicle.yaml \\
        --input build/engine/recording --engine vehicle --output build/results

    Tasks become operators that read the last values of others by their clocks; event chains with
    their limits become outputs with 'age' and 'reaction'. What the model has and Headway does not
    is listed, here and in import.md.

    Exit code: 0 imported, 2 bad input.
    """
    if model.suffix.lower() in (".yaml", ".yml"):
        raise InputError(
            "this is no Amalthea model", got=str(model), want="a file written by APP4MC: .amxmi"
        )
    found = import_model(model)
    contents = {
        QUERY: query_to_yaml(found.query),
        VEHICLE: vehicle_to_yaml(found.vehicle),
        REPORT: report(found, model.name),
    }
    write_files(out, contents)
    if seconds:
        recording = {
            f"{source}.csv": _recorded(times)
            for source, times in activations(found, Decimal(repr(seconds)))
        }
        write_files(out / "recording", recording)
    if json:
        write_json(
            {
                "query": str(out / QUERY),
                "vehicle": str(out / VEHICLE),
                "taken": dict(found.taken),
                "left_out": list(found.left_out),
                "unused": [
                    {"element": what, "count": count, "first_line": line}
                    for what, count, line in found.unused
                ],
            }
        )
    else:
        show(_explained(found, model, out))


def _recorded(times: list[int]) -> str:
    rows = "".join(f"{time},{number},{time}\n" for number, time in enumerate(times))
    return f"timestamp,{NUMBER},arrived_at\n{rows}"


def taken_table(found: ImportedModel) -> Table:
    rows = [[what, f"{count:,}"] for what, count in found.taken]
    return Table(title="Imported", headers=["What", "How many"], rows=rows, numeric=(1,))


def unused_table(found: ImportedModel) -> Table:
    """The elements without a counterpart."""
    rows = [[what, f"{count:,}", str(line)] for what, count, line in found.unused]
    headers = ["Element", "How many", "First in line"]
    return Table(title="No counterpart in Headway", headers=headers, rows=rows, numeric=(1, 2))


def _explained(found: ImportedModel, model: Path, out: Path) -> Iterator[RenderableType]:
    yield heading(f"{model.name}: {found.query.name}")
    yield table(taken_table(found))
    if found.unused:
        yield table(unused_table(found))
    for line in found.left_out[:MOST_LINES]:
        yield sentence(f"Left out: {line}.")
    if (more := len(found.left_out) - MOST_LINES) > 0:
        yield sentence(f"Left out: {more:,} more, all in {out / REPORT}.")
    yield sentence(f"wrote {out / QUERY}, {out / VEHICLE} and {out / REPORT}")


def report(found: ImportedModel, name: str) -> str:
    """What was made of a model and what was not, in Markdown."""
    lines = [f"# {found.query.name}, imported from {name}", ""]
    for content in (taken_table(found), unused_table(found)):
        if content.rows:
            lines += [f"## {content.title}", "", f"| {' | '.join(content.headers)} |"]
            lines += [f"|{'---|' * len(content.headers)}"]
            lines += [f"| {' | '.join(row)} |" for row in content.rows]
            lines.append("")
    if found.left_out:
        lines += ["## Left out", "", *(f"- {one}" for one in found.left_out), ""]
    lines += [
        "## What was assumed",
        "",
        "- A task is one operator: its runnables run one after the other, its cost lies between",
        "  the sums of their least and greatest needs. Calls in branches that exclude each other",
        "  all count.",
        "- Tasks are scheduled earliest deadline first and not preempted inside an operator;",
        "  priorities and schedulers of the model are not used.",
        "- What a task reads it reads at its activation, what it writes is there when it ends. A",
        "  value is held twice the writer's period.",
        "- A deadline counts from the oldest data read: the holds on the way, and each task in its",
        "  period (or the response time that is required of it).",
        "- The shared memory is a bus of 100 Gbit/s; access times and contention are not counted.",
        "",
    ]
    return "\n".join(lines)
