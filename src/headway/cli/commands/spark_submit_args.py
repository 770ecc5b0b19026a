"""``headway spark-submit-args``: a query packaged for a Spark cluster."""

from __future__ import annotations

import json as json_format
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import ConfOption, MasterOption, QueryArgument, write, write_problem
from headway.errors import InputError
from headway.spark.session.spark_session import parse_options
from headway.spark.session.spark_submit import prepare


def spark_submit_args(
    query: QueryArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="where the package goes")],
    run_options: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- RUN OPTIONS", help="options for `headway run`, after --"),
    ] = None,
    master: MasterOption = "yarn",
    conf: ConfOption = None,
    json: Annotated[bool, typer.Option("--json", help="print all of it as JSON")] = False,
) -> None:
    """Package a query for a cluster and print the spark-submit command that runs it there.

    \b
    Example:
      headway spark-submit-args examples/hello/query.yaml --out build/submit
          --master spark://head:7077 -- --input /data/hello --output /data/out

    The zip holds Headway and your own modules. What they need in turn must be installed on the
    cluster's Pythons: the command says what, on standard error.
    """
    _check_run_options(query, master, run_options or [])
    prepared = runnable_plan(query, None, zero_cost=True)
    settings = parse_options(conf or [], "--conf")
    with prepared.placing():
        submission = prepare(prepared.plan, out, master, settings, run_options or [])
    if json:
        data = {
            "command": list(submission.command),
            "files": [str(path) for path in submission.files],
            "needs": list(submission.needs),
        }
        write(json_format.dumps(data, indent=1) + "\n")
        return
    write(submission.line + "\n")
    write_problem(f"note: the cluster's Pythons need {', '.join(submission.needs)}")


def _check_run_options(query: Path, master: str, options: Sequence[str]) -> None:
    """InputError for options that `headway run` would refuse, before anything is on a cluster."""
    from headway.cli.commands.run import run

    alone = typer.Typer(add_completion=False)
    alone.command(name="run")(run)
    command: Any = typer.main.get_command(alone)
    words = [str(query), "--engine", "spark", "--master", master, *options]
    try:
        command.make_context("headway run", words, resilient_parsing=False).close()
    except typer.Exit:
        raise InputError("options of a run do not ask for help", got=" ".join(options)) from None
    except Exception as error:
        told = getattr(error, "format_message", None)
        if told is None:
            raise
        want = "after -- stand options of `headway run`: `headway run --help`"
        raise InputError(
            f"headway run: {told().rstrip('.')}", got=" ".join(options), want=want
        ) from None
