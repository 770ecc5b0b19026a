"""``headway spark-submit-args``: a query packaged for a Spark cluster."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import ConfOption, MasterOption, QueryArgument, write, write_problem
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
