"""``headway pipeline``: a query as a project of Spark Declarative Pipelines."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from headway.cli.named_plan import runnable_plan
from headway.cli.terminal import NoPythonOption, QueryArgument, show, table, write
from headway.report.plan.plan_tables import Table
from headway.spark.pipelines.pipeline_datasets import Dataset, DatasetKind
from headway.spark.pipelines.pipeline_project import write_project


def pipeline(
    query: QueryArgument,
    out: Annotated[Path, typer.Option(metavar="DIR", help="where the project goes")],
    source_folder: Annotated[
        str | None,
        typer.Option(
            "--input",
            metavar="DIR",
            help="where the sources' files are; left out: tables of the sources' names",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="replace a project that was written before")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print what was written as JSON instead of a table")
    ] = False,
    no_python: NoPythonOption = False,
) -> None:
    """Write a query as a Spark Declarative Pipelines project, which spark-pipelines runs.

    \b
    Example:
      headway pipeline examples/hello/query.yaml --input examples/hello/recording
          --out build/pipeline
      cd build/pipeline && spark-pipelines run

    Each output is a dataset, and so is each stream that several read: streaming tables where no
    state is needed, else materialized views. The project carries the compiled plan and your own
    modules; what runs it needs Headway installed with `pip install 'headway[spark,connect]'`.
    """
    prepared = runnable_plan(query, None, zero_cost=True, python=not no_python)
    with prepared.placing():
        project = write_project(
            prepared.plan, out, source_folder=_absolute(source_folder), force=force
        )
    if json:
        data = {
            "folder": str(project.folder),
            "files": [str(path) for path in project.files],
            "datasets": {one.name: _data(one) for one in project.datasets},
            "command": project.command,
        }
        write(json_format.dumps(data, indent=1) + "\n")
        return
    show([table(_table(project.datasets)), f"wrote {out}", f"run it with: {project.command}"])


def _absolute(folder: str | None) -> str | None:
    """Seen from the project's folder; what has a scheme is so already."""
    return folder if folder is None or "://" in folder else str(Path(folder).absolute())


def _data(dataset: Dataset) -> dict[str, object]:
    return {
        "kind": dataset.kind.value,
        "streams": list(dataset.streams),
        "output": None if dataset.output is None else dataset.output.name,
        "reads": [*dataset.sources, *dataset.reads],
        "operators": list(dataset.operators),
    }


def _table(datasets: tuple[Dataset, ...]) -> Table:
    kinds = {
        DatasetKind.STREAMING_TABLE: "streaming table",
        DatasetKind.MATERIALIZED_VIEW: "materialized view",
    }
    return Table(
        title="Datasets",
        headers=["dataset", "kind", "holds", "reads"],
        rows=[
            [
                one.name,
                kinds[one.kind],
                ", ".join(one.streams),
                ", ".join((*one.sources, *one.reads)),
            ]
            for one in datasets
        ],
    )
