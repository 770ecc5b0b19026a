"""A small YAML file that says where in somebody else's file a source of a recording is.

What all of them have::

    mdf: drive.mf4            # or mcap: drive.mcap; paths are relative to the YAML file
    columns: {v: VehicleSpeed}
    vehicle: KA-HW-1          # optional
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from headway.errors import DataError, Place, Problem
from headway.model.schema import Schema
from headway.sources.source_records import Record, RecordingFormat, parse_time, unreadable


@dataclass(frozen=True)
class Pointer:
    """``path`` is the file that ``data`` stands in. All methods raise DataError naming the key."""

    path: Path
    data: Mapping[str, Any]

    def only(self, keys: Sequence[str]) -> None:
        """No other key may be there."""
        if unknown := [str(key) for key in self.data if key not in keys]:
            raise self.wrong(unknown[0], f"one of {', '.join(keys)}", unknown[0])

    def file(self, key: str) -> Path:
        value = self.data.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "a path", value)
        return self.path.parent / value

    def columns(self, what: str = "signal") -> dict[str, str]:
        """Where the value of each column is."""
        columns = self.data.get("columns")
        if not isinstance(columns, dict) or not all(isinstance(v, str) for v in columns.values()):
            raise self.wrong("columns", f"a {what} for each column", columns)
        return {str(column): source for column, source in columns.items()}

    def all_columns(self, schema: Schema, what: str) -> list[str]:
        """As :meth:`columns`, in the order of the schema's fields, none missing."""
        columns = self.columns(what)
        missing = [field.name for field in schema.fields if field.name not in columns]
        if missing:
            got = f"{what}s for {', '.join(columns)}" if columns else "no columns"
            place = Place(str(self.path))
            raise DataError(
                Problem(f"column {name!r} has no {what}", place=place, got=got) for name in missing
            )
        return [columns[field.name] for field in schema.fields]

    def text(self, key: str) -> str | None:
        value = self.data.get(key)
        return None if value is None else str(value)

    def time(self, key: str) -> int | None:
        """Microseconds."""
        if key not in self.data:
            return None
        try:
            return parse_time(str(self.data[key]))
        except ValueError:
            want = "a time, ISO 8601 or microseconds"
            raise self.wrong(key, want, self.data[key]) from None

    def wrong(self, at: str, want: str, got: object) -> DataError:
        place = Place(str(self.path))
        return DataError(
            Problem("not right", place=place, at=at, got=f"{got!r:.80}", want=f"want {want}")
        )


def load_pointer(path: Path) -> Pointer:
    """FileError when it cannot be read, DataError when it is no mapping."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise unreadable(path, error) from None
    if not isinstance(data, dict):
        raise Pointer(path, {}).wrong("", "a mapping", data)
    return Pointer(path, data)


class PointedFormat(RecordingFormat):
    """MDF 4 or MCAP, as the file says; what that needs is loaded only when there are some."""

    name = "yaml"
    summary = "a file that says where in an ASAM MDF 4 or MCAP file the source is"

    def read(self, path: Path, schema: Schema) -> Iterator[Record]:
        pointer = load_pointer(path)
        if ("mdf" in pointer.data) == ("mcap" in pointer.data):
            raise pointer.wrong("", "one of the keys mdf, mcap", list(pointer.data))
        if "mdf" in pointer.data:
            from headway.sources.mdf_file import read_mdf

            return read_mdf(pointer, schema)
        from headway.sources.mcap_file import read_mcap

        return read_mcap(pointer, schema)
