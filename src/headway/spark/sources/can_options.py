"""The options of ``headway_can``, which are strings, and the schemas on both sides of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.types import LongType, StringType, StructField, StructType

from headway.errors import DataError, Problem
from headway.model.schema import TIMESTAMP_COLUMN, VEHICLE_COLUMN, DataType, Field, Schema
from headway.sources.can_file import KEYS, mapping_of
from headway.sources.can_mapping import FRAME_TYPES, CanMapping
from headway.spark.lowering.frame import POSITION_COLUMN
from headway.spark.lowering.types import SPARK
from headway.spark.sources.quarantine import Quarantine

_KINDS = {kind: name for name, kind in SPARK.items()}


@dataclass(frozen=True)
class CanOptions:
    """``label`` is the name of the source in quarantine."""

    path: Path
    mapping: CanMapping
    quarantine: Quarantine | None = None
    label: str = "can"
    logs_per_batch: int | None = None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> CanOptions:
        """Reads path, dbc, bus, messages, columns, vehicle, start, quarantine, label and
        maxFilesPerTrigger; DataError where one is missing or wrong."""
        if missing := [key for key in ("path", "dbc", "columns") if not options.get(key)]:
            raise DataError(Problem(f"the option {key!r} is missing") for key in missing)
        data: dict[str, object] = {key: options[key] for key in KEYS if options.get(key)}
        data["columns"] = dict(_pair(one) for one in _listed(options["columns"]))
        data["messages"] = _listed(options.get("messages") or "*")
        if "bus" in data:
            data["bus"] = _number("bus", options["bus"])
        folder, most = options.get("quarantine"), options.get("maxFilesPerTrigger")
        return cls(
            path=Path(options["path"]).absolute(),
            mapping=mapping_of(data, Path.cwd() / "options"),
            quarantine=Quarantine(Path(folder).absolute()) if folder else None,
            label=options.get("label") or "can",
            logs_per_batch=_number("maxFilesPerTrigger", most) if most else None,
        )


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pair(text: str) -> tuple[str, str]:
    column, equals, signal = text.partition("=")
    return column.strip(), signal.strip() if equals else column.strip()


def _number(name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise DataError(
            Problem(f"the option {name!r} is wrong", got=repr(text), want="want a whole number")
        ) from None


def default_schema(mapping: CanMapping) -> StructType:
    """timestamp, a double for each signal, vehicle, position."""
    kinds = [FRAME_TYPES.get(signal, DataType.DOUBLE) for _, signal in mapping.columns]
    names = [column for column, _ in mapping.columns]
    return StructType(
        [
            StructField(TIMESTAMP_COLUMN, SPARK[DataType.TIMESTAMP]),
            *(StructField(n, SPARK[kind]) for n, kind in zip(names, kinds, strict=True)),
            StructField(VEHICLE_COLUMN, StringType()),
            *([] if POSITION_COLUMN in names else [StructField(POSITION_COLUMN, LongType())]),
        ]
    )


def headway_schema(schema: StructType) -> Schema:
    """The fields that signals are decoded into; DataError for types that Headway does not have."""
    around = (TIMESTAMP_COLUMN, VEHICLE_COLUMN, POSITION_COLUMN)
    fields = [field for field in schema.fields if field.name not in around]
    if odd := [field for field in fields if field.dataType not in _KINDS]:
        raise DataError(
            Problem(
                "no signal has this type",
                at=field.name,
                got=field.dataType.simpleString(),
                want=f"want one of {', '.join(kind.value for kind in SPARK)}",
            )
            for field in odd
        )
    return Schema(tuple(Field(field.name, _KINDS[field.dataType]) for field in fields))
