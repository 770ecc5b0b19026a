"""Payloads: what goes into a message comes out again, and what is none is refused in words."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError, InputError
from headway.gateway.payloads import PAYLOADS, payload_named, proto_text
from headway.model.schema import schema

ALL = schema(b="boolean", i="int", l="bigint", f="float", d="double [m/s]", s="string(9)").columns
LONG = st.integers(-(1 << 63), (1 << 63) - 1)
ROWS = st.fixed_dictionaries(
    {
        "timestamp": LONG,
        "b": st.none() | st.booleans(),
        "i": st.none() | st.integers(-(1 << 31), (1 << 31) - 1),
        "l": st.none() | LONG,
        "f": st.none() | st.floats(width=32),
        "d": st.none() | st.floats(),
        "s": st.none() | st.text(),
    }
)


def same(one: Any, other: Any) -> bool:
    both_nan = isinstance(one, float) and isinstance(other, float) and math.isnan(one)
    return (both_nan and math.isnan(other)) or (type(one) is type(other) and one == other)


@pytest.mark.parametrize("name", PAYLOADS)
@given(row=ROWS)
def test_what_goes_in_comes_out(name: str, row: dict[str, Any]) -> None:
    payload = payload_named(name, ALL, "here")
    found = payload.decode(payload.encode(row))
    assert all(same(found.get(column), value) for column, value in row.items())


@pytest.mark.parametrize("name", PAYLOADS)
@given(body=st.binary(max_size=200))
def test_noise_is_refused_or_is_a_mapping(name: str, body: bytes) -> None:
    payload = payload_named(name, ALL, "here")
    with suppress(DataError):  # whatever else it raises fails the test
        assert isinstance(payload.decode(body), Mapping)


@pytest.mark.parametrize(
    ("name", "body", "what"),
    [
        ("json", b"[1]", "no JSON object; got [1]"),
        ("json", b"\xff", "not JSON in UTF-8; got 1 bytes: b'\\xff'"),
        ("json", b"[" * 100_000, "not JSON in UTF-8"),
        ("json", b"1" * 10_000, "not JSON in UTF-8"),
        ("cbor", cbor2.dumps([1]), "no CBOR map; got [1]"),
        ("cbor", b"\x9b" + b"\xff" * 8, "not CBOR"),  # an array that says it is endless
        ("cbor", b"\x81" * 100_000, "not CBOR"),
        ("protobuf", b"\xff", "not a Protobuf message; got 1 bytes: b'\\xff'"),
    ],
)
def test_what_is_none_is_told(name: str, body: bytes, what: str) -> None:
    with pytest.raises(DataError) as caught:
        payload_named(name, ALL, "here").decode(body)
    assert str(caught.value).startswith(what)


def test_a_date_of_cbor_is_a_time() -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    found = payload_named("cbor", ALL, "here").decode(cbor2.dumps({"timestamp": moment}))
    assert found == {"timestamp": 1_767_225_600_000_000}


def test_json_is_what_others_read() -> None:
    body = payload_named("json", ALL, "here").encode({"timestamp": 5, "s": "grün", "d": None})
    assert json.loads(body) == {"timestamp": 5, "s": "grün", "d": None}


def test_the_proto_file() -> None:
    assert proto_text(ALL[:3]) == (
        'syntax = "proto2";\n\nmessage Tuple {\n'
        "  optional sint64 timestamp = 1;  // microseconds since the epoch\n"
        "  optional bool b = 2;\n  optional sint32 i = 3;\n}\n"
    )


def test_protobuf_is_numbered_as_the_proto_file_says() -> None:
    body = payload_named("protobuf", ALL, "here").encode({"timestamp": -1, "b": True})
    assert body == b"\x08\x01\x10\x01"  # field 1, zigzag of -1; field 2


def test_a_payload_that_there_is_not() -> None:
    with pytest.raises(InputError) as caught:
        payload_named("xml", ALL, "mqtt://h/t")
    text = "mqtt://h/t: there is no such payload; got payload=xml; one of json, cbor, protobuf"
    assert str(caught.value) == text
