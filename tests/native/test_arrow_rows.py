"""Rows of structs: what goes in as tuples or tables comes out as it was."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.native.row_layouts import layout_of

from headway.model.schema import DataType, Field, Schema, schema
from headway.native import arrow_rows
from headway.native.arrow_rows import (
    columns_of_rows,
    rows_of_columns,
    rows_of_tuples,
    table_of_rows,
    tuples_of_rows,
)

WHOLE = {DataType.INT: 31, DataType.BIGINT: 63, DataType.TIMESTAMP: 53}


def values_of(field: Field) -> st.SearchStrategy[Any]:
    match field.type:
        case DataType.BOOLEAN:
            return st.booleans()
        case DataType.INT | DataType.BIGINT | DataType.TIMESTAMP:
            most = 1 << WHOLE[field.type]
            return st.integers(-most, most - 1)
        case DataType.FLOAT:
            return st.floats(width=32)
        case DataType.DOUBLE:
            return st.floats()
        case DataType.STRING:
            most = 128 if field.length is None else field.length
            return st.text(max_size=most).map(
                lambda text: text.encode()[:most].decode("utf-8", "ignore")
            )


@st.composite
def fields(draw: st.DrawFn, name: str) -> Field:
    kind = draw(st.sampled_from(list(DataType)))
    length = None
    if kind is DataType.STRING:
        length = draw(st.none() | st.integers(1, 9))
    return Field(name, kind, None, length)


@st.composite
def streams(draw: st.DrawFn) -> tuple[Schema, list[tuple[Any, ...]]]:
    count = draw(st.integers(0, 5))
    made = Schema(tuple(draw(fields(f"c{i}")) for i in range(count)))
    nullable = [st.none() | values_of(field) for field in made.fields]
    row = st.tuples(st.integers(-(1 << 53), 1 << 53), *nullable)
    return made, draw(st.lists(row, max_size=12))


def bits(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose NaN and -0.0 can be compared."""
    return tuple(
        ("float", "nan" if math.isnan(v) else struct.pack("<d", v))
        if type(v) is float
        else (type(v), v)
        for v in row
    )


@given(streams())
def test_tuples_come_back_as_they_were(stream: tuple[Schema, list[tuple[Any, ...]]]) -> None:
    made, tuples = stream
    layout = layout_of(made)
    rows = rows_of_tuples(tuples, made, layout)
    assert list(map(bits, tuples_of_rows(rows, layout))) == list(map(bits, tuples))


@given(streams())
def test_tables_come_back_as_they_were(stream: tuple[Schema, list[tuple[Any, ...]]]) -> None:
    made, tuples = stream
    layout = layout_of(made)
    rows = rows_of_tuples(tuples, made, layout)
    table = table_of_rows(rows, made, layout)
    table.validate(full=True)
    again = rows_of_columns(table.columns, layout)
    assert again.tobytes() == rows.tobytes()


@examples(30)
@given(streams())
def test_texts_are_laid_out_in_pieces(stream: tuple[Schema, list[tuple[Any, ...]]]) -> None:
    made, tuples = stream
    layout = layout_of(made)
    whole = rows_of_tuples(tuples, made, layout)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrow_rows, "TEXTS_AT_ONCE", 2)
        pieces = rows_of_tuples(tuples, made, layout)
        assert pieces.tobytes() == whole.tobytes()
        assert list(map(bits, tuples_of_rows(pieces, layout))) == list(map(bits, tuples))


def test_what_is_unknown_is_zero() -> None:
    made = schema(d="double", t="string(3)", b="boolean")
    layout = layout_of(made)
    rows = rows_of_tuples([(7, None, None, None), (7, 0.0, "", False)], made, layout)
    assert rows[0]["v1"] == 0.0
    assert rows[0]["v2"] == 0
    assert rows[0]["k1"] == rows[0]["k2"] == rows[0]["k3"] == False  # noqa: E712 - numpy's
    unknown, known = rows.tobytes()[: layout.size], rows.tobytes()[layout.size :]
    marks = {column.known for column in layout.columns}
    assert all(
        a == b for i, (a, b) in enumerate(zip(unknown, known, strict=True)) if i not in marks
    )


def test_columns_of_a_sliced_and_chunked_table() -> None:
    made = schema(t="string(4)", n="int")
    layout = layout_of(made)
    table = pa.table(
        {
            "timestamp": pa.array([1, 2, 3, 4], pa.timestamp("us", tz="UTC")),
            "t": pa.array(["a", None, "ccc", "dd"]),
            "n": pa.array([1, 2, None, 4], pa.int32()),
        }
    )
    parts = pa.concat_tables([table.slice(1, 2), table.slice(3)])
    rows = rows_of_columns(parts.columns, layout)
    assert tuples_of_rows(rows, layout) == [(2, None, 2), (3, "ccc", None), (4, "dd", 4)]
    assert [column.to_pylist() for column in columns_of_rows(rows, layout)] == [
        [2, 3, 4],
        [None, "ccc", "dd"],
        [2, None, 4],
    ]


def test_no_rows() -> None:
    made = schema(t="string", n="float")
    layout = layout_of(made)
    rows = rows_of_tuples([], made, layout)
    assert tuples_of_rows(rows, layout) == []
    assert table_of_rows(rows, made, layout).num_rows == 0
    assert rows.dtype.itemsize == layout.size
    assert np.array_equal(rows, np.zeros(0, layout.dtype))
