"""Samples of an MDF channel as the cells of a column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import DataError, Place, Problem
from headway.model.schema import DataType, Field

_BITS = {DataType.INT: 31, DataType.BIGINT: 63}


def cells(signal: Any, field: Field, channel: str, path: Path, first: int) -> list[Any]:
    """Values of the column's type, None where the sample is invalid or not a number.

    DataError where a sample is not such a value; ``first`` is the number of samples before these.
    """
    values = signal.physical().samples
    # A table of texts: numbers are what is behind it.
    if field.type is not DataType.STRING and values.dtype.kind in "SUO":
        values = signal.samples
    _check_kind(values, field, channel, path)
    absent = np.zeros(len(values), bool)
    if signal.invalidation_bits is not None:
        absent |= np.asarray(signal.invalidation_bits, bool)
    if values.dtype.kind == "f":
        absent |= np.isnan(values)
    if field.type is DataType.STRING:
        found = [_text(value) for value in values.tolist()]
    else:
        found = _numbers(values, field, ~absent, channel, path, first).tolist()
    return [None if gone else value for gone, value in zip(absent.tolist(), found, strict=True)]


def _check_kind(values: Any, field: Field, channel: str, path: Path) -> None:
    kinds = "SUObiuf" if field.type is DataType.STRING else "biuf"
    if values.ndim != 1 or values.dtype.kind not in kinds or field.type is DataType.TIMESTAMP:
        raise DataError(
            Problem(
                f"channel {channel!r} cannot be {field.describe()}",
                place=Place(str(path)),
                at=field.name,
                got=f"{values.dtype} of {values.ndim} dimensions",
            )
        )


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _numbers(values: Any, field: Field, there: Any, channel: str, path: Path, first: int) -> Any:
    if field.type is DataType.DOUBLE:
        return values.astype(np.float64)
    if field.type is DataType.FLOAT:
        return values.astype(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore"):
        if field.type is DataType.BOOLEAN:
            fits = (values == 0) | (values == 1)
        else:
            limit = 2.0 ** _BITS[field.type]
            fits = (values == np.rint(values)) & (values >= -limit) & (values < limit)
        wrong = np.flatnonzero(there & ~fits)
        if len(wrong):
            raise DataError(
                Problem(
                    "a sample is not a value of its column",
                    place=Place(str(path), first + int(wrong[0]) + 1),
                    at=f"{field.name} ({channel})",
                    got=str(values[wrong[0]]),
                    want=f"want {field.describe()}",
                )
            )
        return np.where(there, values, 0).astype(
            bool if field.type is DataType.BOOLEAN else np.int64
        )
