"""Tuples of Python and tables of Arrow as arrays of a program's row structs, and back.

A compiled program tells the layout of its structs (:mod:`headway.native.library`); numpy's
structured arrays lay rows out just so. All columns are converted at once, whole: there is no Python
object per tuple on the way from a table to the program. What is NULL has the value zero, and so has
a text behind its end, as the program itself would write them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from headway.model.schema import DataType, Schema
from headway.model.user_operator import Row
from headway.sources.parquet_file import ARROW_TYPES

NUMBER_FORMATS = {
    DataType.BOOLEAN: "?",
    DataType.INT: "<i4",
    DataType.BIGINT: "<i8",
    DataType.TIMESTAMP: "<i8",
    DataType.FLOAT: "<f4",
    DataType.DOUBLE: "<f8",
}
TEXTS_AT_ONCE = 1 << 16
"""rows whose texts are laid out in one go: that takes a byte for each byte they may have"""

RowArray = np.ndarray[tuple[int], np.dtype[np.void]]
"""row structs"""
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class ColumnLayout:
    """Where a column lies in its struct. A text's ``capacity`` is the bytes it may have; ``known``
    is the place of the mark that tells it from NULL, None for the timestamp."""

    type: DataType
    offset: int
    known: int | None
    capacity: int = 0


@dataclass(frozen=True)
class RowLayout:
    """A struct of so many bytes with the columns of a schema, the timestamp first."""

    size: int
    columns: tuple[ColumnLayout, ...]

    @cached_property
    def dtype(self) -> np.dtype[np.void]:
        """The fields of column n are ``vn`` its value (of a text: its size), ``kn`` its mark and
        ``bn`` the bytes of a text."""
        names: list[str] = []
        formats: list[Any] = []
        offsets: list[int] = []
        for place, column in enumerate(self.columns):
            text = column.type is DataType.STRING
            names.append(f"v{place}")
            formats.append("<u2" if text else NUMBER_FORMATS[column.type])
            offsets.append(column.offset)
            if text:
                names.append(f"b{place}")
                formats.append(("u1", (column.capacity,)))
                offsets.append(column.offset + 2)
            if column.known is not None:
                names.append(f"k{place}")
                formats.append("?")
                offsets.append(column.known)
        return np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": self.size}
        )


def column_kinds(schema: Schema) -> list[Any]:
    """The Arrow types of a schema's columns; times are whole microseconds."""
    return [
        pa.int64() if field.type is DataType.TIMESTAMP else ARROW_TYPES[field.type]
        for field in schema.columns
    ]


# ---------------------------------------------------------------- to rows


def rows_of_columns(columns: Sequence[Any], layout: RowLayout) -> RowArray:
    """The rows of Arrow arrays, one for each column, of :func:`column_kinds` (times may be
    timestamps of microseconds). No text is longer than its column can hold, no timestamp NULL."""
    rows = np.zeros(len(columns[0]), dtype=layout.dtype)
    for place, (column, at) in enumerate(zip(columns, layout.columns, strict=True)):
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if at.known is not None:
            rows[f"k{place}"] = _known(column)
        if at.type is DataType.STRING:
            _put_texts(rows[f"v{place}"], rows[f"b{place}"], column)
        else:
            rows[f"v{place}"] = _numbers(column, at.type)
    return rows


def rows_of_tuples(tuples: Sequence[Row], schema: Schema, layout: RowLayout) -> RowArray:
    """The rows of tuples that are as their schema says."""
    if not tuples:
        return np.zeros(0, dtype=layout.dtype)
    values = zip(*tuples, strict=True)
    kinds = column_kinds(schema)
    return rows_of_columns(
        [pa.array(column, kind) for column, kind in zip(values, kinds, strict=True)], layout
    )


def _known(column: Any) -> Mask:
    if not column.null_count:
        return np.ones(len(column), dtype=np.bool_)
    return np.asarray(column.is_valid().to_numpy(zero_copy_only=False), dtype=np.bool_)


def _numbers(column: Any, kind: DataType) -> np.ndarray[Any, Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(False if kind is DataType.BOOLEAN else 0)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _put_texts(sizes: np.ndarray[Any, Any], texts: np.ndarray[Any, Any], column: Any) -> None:
    """Each text to its place: the bytes of all stand one after another, as Arrow has them."""
    column = column.cast(pa.large_string()).fill_null("")
    for first in range(0, len(column), TEXTS_AT_ONCE):
        piece = column.slice(first, TEXTS_AT_ONCE)
        _, ends, data = piece.buffers()
        count = len(piece)
        limits = np.frombuffer(ends, dtype=np.int64)[piece.offset : piece.offset + count + 1]
        lengths = limits[1:] - limits[:-1]
        sizes[first : first + count] = lengths
        here = texts[first : first + count]
        if limits[-1] > limits[0]:
            inside = np.arange(here.shape[1]) < lengths[:, None]
            here[inside] = np.frombuffer(data, dtype=np.uint8)[limits[0] : limits[-1]]


# ---------------------------------------------------------------- from rows


def columns_of_rows(rows: RowArray, layout: RowLayout) -> list[Any]:
    """An Arrow array for each column, times as whole microseconds."""
    return [
        _texts(rows, place, at) if at.type is DataType.STRING else _values(rows, place, at)
        for place, at in enumerate(layout.columns)
    ]


def table_of_rows(rows: RowArray, schema: Schema, layout: RowLayout) -> Any:
    """An Arrow table with the schema's own types and names."""
    kinds = [ARROW_TYPES[field.type] for field in schema.columns]
    columns = columns_of_rows(rows, layout)
    return pa.table(
        [column.cast(kind) for column, kind in zip(columns, kinds, strict=True)],
        names=[field.name for field in schema.columns],
    )


def tuples_of_rows(rows: RowArray, layout: RowLayout) -> list[Row]:
    """Python's own values, as the Python engine has them."""
    columns: list[list[Any]] = []
    for place, at in enumerate(layout.columns):
        if at.type is DataType.STRING:
            columns.append(_texts(rows, place, at).to_pylist())
            continue
        values = rows[f"v{place}"].tolist()
        if at.known is not None:
            known = rows[f"k{place}"]
            if not known.all():
                pairs = zip(values, known.tolist(), strict=True)
                values = [value if is_known else None for value, is_known in pairs]
        columns.append(values)
    return list(zip(*columns, strict=True))


def _values(rows: RowArray, place: int, at: ColumnLayout) -> Any:
    values = np.ascontiguousarray(rows[f"v{place}"])
    mask = None if at.known is None else ~rows[f"k{place}"]
    # NaN is a number here: only what is marked so is NULL.
    return pa.array(values, mask=mask, from_pandas=False)


def _texts(rows: RowArray, place: int, at: ColumnLayout) -> Any:
    pieces = [
        _text_piece(rows[first : first + TEXTS_AT_ONCE], place)
        for first in range(0, len(rows), TEXTS_AT_ONCE)
    ]
    return pa.concat_arrays(pieces) if pieces else pa.array([], pa.string())


def _text_piece(rows: RowArray, place: int) -> Any:
    known, texts = rows[f"k{place}"], rows[f"b{place}"]
    sizes = np.where(known, rows[f"v{place}"], 0).astype(np.int32)
    ends = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum(sizes, out=ends[1:])
    data = texts[np.arange(texts.shape[1]) < sizes[:, None]]
    marks = np.packbits(known, bitorder="little")
    buffers = [pa.py_buffer(marks), pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.string(), len(rows), buffers)
