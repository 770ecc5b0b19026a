"""Which options of `headway run` belong to which engine."""

from __future__ import annotations

from collections.abc import Collection

import typer

from headway.errors import InputError, Problem

VEHICLE_ONLY = frozenset({"clock", "zero_cost", "cores", "batching", "speed", "trace"})
SPARK_ONLY = frozenset(
    {
        "mode",
        "master",
        "conf",
        "checkpoint",
        "available_now",
        "files_per_batch",
        "late_ok",
        "format",
        "option",
        "topic",
        "input_option",
    }
)


def refuse_addresses(recording: str) -> None:
    """InputError for an input that only Spark can read."""
    if "://" in recording:
        raise InputError(
            Problem(
                "the vehicle engine reads recordings",
                at="--input",
                got=recording,
                want="name a folder, or choose --engine spark",
            )
        )


def refuse_strangers(context: typer.Context, names: Collection[str], belongs: str) -> None:
    """InputError for each option that was typed and belongs to the other engine."""
    typed = [name for name in context.params if name in names and _typed(context, name)]
    if typed:
        raise InputError(
            Problem(
                f"--{name.replace('_', '-')} belongs to {belongs}",
                want="leave it out, or choose that engine",
            )
            for name in typed
        )


def _typed(context: typer.Context, name: str) -> bool:
    """By its name: which click this is, typer's or another, depends on the version."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
