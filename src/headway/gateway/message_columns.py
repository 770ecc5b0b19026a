"""What messages call the columns of a source, and whether signals of a VSS catalogue are what the
schema says: ``columns=v:Vehicle.Speed`` with ``vss=PATH`` in an address."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from headway.errors import InputError, Problem
from headway.files.vss_tree import load_vss
from headway.gateway.addresses import Address
from headway.model.schema import DataType, Schema, wider


def message_names(address: Address, schema: Schema) -> Mapping[str, str]:
    """By column. InputError for a column that there is not, and for a signal that the catalogue
    does not know, or knows with another unit or a type that does not fit into the column's."""
    text = address.options.get("columns", "")
    names: dict[str, str] = {}
    problems: list[Problem] = []
    for pair in filter(None, text.split(",")):
        column, colon, name = pair.partition(":")
        if not colon or not name:
            problems.append(Problem("no column and name", got=pair, want="write COLUMN:NAME"))
        elif schema.find(column) is None:
            there = ", ".join(schema.names)
            problems.append(Problem(f"there is no column {column!r}", want=f"there are {there}"))
        else:
            names[column] = name
    if not problems and "vss" in address.options:
        problems = _by_catalogue(Path(address.options["vss"]), names, schema)
    if problems:
        raise InputError(one.within(address.text) for one in problems)
    return names


def _by_catalogue(path: Path, names: Mapping[str, str], schema: Schema) -> list[Problem]:
    catalogue = load_vss(path)
    problems = []
    for column, name in names.items():
        field, signal = schema.find(column), catalogue.signals.get(name)
        assert field is not None
        if signal is None:
            near = ", ".join(catalogue.like(name)) or "nothing like it"
            problems.append(Problem(f"{path} knows no signal {name!r}", at=column, got=near))
            continue
        if signal.unit != field.unit and not (field.unit is None and signal.unit == ""):
            problems.append(
                Problem(
                    f"{name} has another unit",
                    at=column,
                    got=f"[{signal.unit}] in {path}, [{field.unit or ''}] in the schema",
                    want="declare the catalogue's unit, and convert in a map",
                )
            )
        if signal.type is None or not _holds(field.type, signal.type):
            problems.append(
                Problem(
                    f"{name} does not fit the column's type",
                    at=column,
                    got=f"{signal.datatype} in {path}, {field.describe()} in the schema",
                )
            )
    return problems


def _holds(column: DataType, signal: DataType) -> bool:
    """Whether every value of the signal is one of the column."""
    if column.is_numeric and signal.is_numeric:
        return wider(column, signal) is column
    return column is signal
