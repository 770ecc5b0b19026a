"""Options that several commands have, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

QueryArgument = Annotated[
    Path, typer.Argument(metavar="QUERY.yaml|PLAN.json", help="the query, or a compiled plan")
]
OutputOption = Annotated[Path, typer.Option(metavar="DIR", help="where the results go")]
VehicleOption = Annotated[
    Path | None, typer.Option(metavar="VEHICLE.yaml", help="the vehicle the query runs in")
]
ForceOption = Annotated[bool, typer.Option("--force", help="replace the results of an earlier run")]
JsonOption = Annotated[
    bool, typer.Option("--json", help="print the summary as JSON instead of tables")
]
MasterOption = Annotated[
    str, typer.Option(metavar="URL", help="Spark: local[*], spark://HOST:PORT, yarn, k8s://…")
]
ConfOption = Annotated[
    list[str] | None, typer.Option(metavar="K=V", help="Spark: a setting of the session")
]
LOCAL = "local[*]"
