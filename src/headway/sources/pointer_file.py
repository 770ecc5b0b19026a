"""A small YAML file that says where in somebody else's file a source of a recording is.

What all of them have::

    mdf: drive.mf4            # or mcap:, bsm:, cam:; paths are relative to the YAML file
    columns: {v: VehicleSpeed}
    vehicle: KA-HW-1          # optional
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import DataError, Place, Problem
from headway.model.schema import Schema
from headway.sources.source_records import Record, RecordingFormat, parse_time, unreadable
from headway.yaml_tree import parse_yaml, plain, read_text


@dataclass(frozen=True)
class Pointer:
    """``path`` is the file that ``data`` stands in, ``places`` say where its keys do. All methods
    raise DataError naming the key."""

    path: Path
    data: Mapping[str, Any]
    places: Mapping[str, Place] = field(default_factory=dict)

    def only(self, keys: Sequence[str]) -> None:
        """No other key may be there."""
        if unknown := [str(key) for key in self.data if key not in keys]:
            raise self.wrong(unknown[0], f"one of {', '.join(keys)}", unknown[0])

    def file(self, key: str) -> Path:
        """FileError for what cannot be a file's name; whether it is there shows when it is
        opened."""
        value = self.data.get(key)
        if not isinstance(value, str) or "\0" in value:
            raise self.wrong(key, "a path", value)
        path = self.path.parent / value
        try:
            path.stat()
        except FileNotFoundError:
            return path
        except OSError as error:
            raise unreadable(path, error) from None
        return path

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
            place = self._place("columns")
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
        place = self._place(at)
        return DataError(
            Problem("not right", place=place, at=at, got=f"{got!r:.80}", want=f"want {want}")
        )

    def _place(self, key: str) -> Place:
        return self.places.get(key) or Place(str(self.path))


def load_pointer(path: Path) -> Pointer:
    """FileError with the place of what is no YAML as query files are written in, or no mapping."""
    document = parse_yaml(read_text(path), str(path))
    keys = document.root.keys.items()
    places = {name: document.place(key.start) for name, key in keys}
    return Pointer(path, plain(document.root), places)


POINTED = ("mdf", "mcap", "bsm", "cam")
"""kinds of files that are pointed at"""


class PointedFormat(RecordingFormat):
    """As the file says; what that needs is loaded only when there are some."""

    name = "yaml"
    summary = "a file that says where in MDF 4, MCAP, or a log of BSMs or CAMs the source is"

    def read(self, path: Path, schema: Schema) -> Iterator[Record]:
        pointer = load_pointer(path)
        if sum(key in pointer.data for key in POINTED) != 1:
            raise pointer.wrong("", f"one of the keys {', '.join(POINTED)}", list(pointer.data))
        if "mdf" in pointer.data:
            from headway.sources.mdf_file import read_mdf

            return read_mdf(pointer, schema)
        if "mcap" in pointer.data:
            from headway.sources.mcap_file import read_mcap

            return read_mcap(pointer, schema)
        from headway.sources.its_log import read_its

        return read_its(pointer, schema)
