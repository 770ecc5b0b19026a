"""A C++ compiler for tests, and rows as the bytes that compiled programs read and write."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import headway.native
from headway.model.schema import DataType
from headway.native.cpp_types import RowStruct, ValueType

RUNTIME = Path(headway.native.__file__).parent / "runtime"
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror")
STRICT = ("-std=c++17", *WARNINGS, "-fno-exceptions", "-fno-rtti", "-ffp-contract=off")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1")
PATIENCE_S = 1_500


def compiler() -> list[str]:
    """The command of a C++ compiler; the test is skipped where there is none."""
    for name in ("c++", "g++", "clang++"):
        found = shutil.which(name)
        if found:
            return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    pytest.skip("there is no C++ compiler on this machine")


def compile_program(source: str, folder: Path, flags: Iterable[str] = ("-O0",)) -> Path:
    """An executable of the source, every warning an error."""
    text, program = folder / "program.cpp", folder / "program"
    text.write_text(source, encoding="utf-8")
    command = [*compiler(), *STRICT, *flags, "-I", str(RUNTIME), str(text), "-o", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[:4000]}"
    return program


def run_program(program: Path, data: bytes) -> bytes:
    """What the program writes when it reads the data; it must end well."""
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [str(program)],
        input=data,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[:4000]
    return done.stdout


@functools.cache
def sanitizers_work() -> bool:
    """Whether the compiler can link AddressSanitizer and UndefinedBehaviorSanitizer."""
    command = [*compiler(), *SANITIZED, "-x", "c++", "-", "-o", os.devnull]
    program = "int main() { return 0; }"
    return subprocess.run(command, input=program.encode(), capture_output=True).returncode == 0


# -------------------------------------------------------------------- rows as bytes

_SCALARS: dict[DataType, Any] = {
    DataType.BOOLEAN: ctypes.c_bool,
    DataType.INT: ctypes.c_int32,
    DataType.BIGINT: ctypes.c_int64,
    DataType.FLOAT: ctypes.c_float,
    DataType.DOUBLE: ctypes.c_double,
    DataType.TIMESTAMP: ctypes.c_int64,
}


@functools.cache
def _text(room: int) -> Any:
    fields = [("size", ctypes.c_uint16), ("bytes", ctypes.c_ubyte * room)]
    return type(f"Text{room}", (ctypes.Structure,), {"_fields_": fields})


@functools.cache
def maybe_layout(kind: ValueType) -> Any:
    """The ctypes form of headway::Maybe."""
    value = _text(kind.length) if kind.type is DataType.STRING else _SCALARS[kind.type]
    fields = [("value", value), ("known", ctypes.c_bool)]
    return type("Maybe", (ctypes.Structure,), {"_fields_": fields})


@functools.cache
def row_layout(struct: RowStruct) -> Any:
    """The ctypes form of a row's struct."""
    fields = [
        (c.member, maybe_layout(c.type) if c.nullable else _SCALARS[c.type.type])
        for c in struct.columns
    ]
    return type(struct.name, (ctypes.Structure,), {"_fields_": fields})


def put(place: Any, value: Any, kind: ValueType) -> None:
    """Sets a Maybe that is all zero."""
    if value is None:
        return
    place.known = True
    if kind.type is not DataType.STRING:
        place.value = value
        return
    data = value.encode("utf-8", "surrogatepass")
    assert len(data) <= kind.length
    place.value.size = len(data)
    ctypes.memmove(place.value.bytes, data, len(data))


def get(place: Any, kind: ValueType) -> Any:
    """The value of a Maybe, None for NULL. What stands where nothing is must be zero."""
    if kind.type is not DataType.STRING:
        if place.known:
            return place.value
        assert place.value == 0, "the value of an unknown Maybe is not zero"
        return None
    data = bytes(place.value.bytes)
    assert not any(data[place.value.size :]), "the unused bytes of a Text are not zero"
    if not place.known:
        assert place.value.size == 0, "the value of an unknown Maybe is not zero"
        return None
    return data[: place.value.size].decode("utf-8", "surrogatepass")


def pack_rows(rows: Iterable[Sequence[Any]], struct: RowStruct) -> bytes:
    """Rows laid out as ``Schema.columns``, as the structs that C++ reads."""
    layout, pieces = row_layout(struct), []
    for row in rows:
        packed = layout()
        for column, value in zip(struct.columns, row, strict=True):
            if column.nullable:
                put(getattr(packed, column.member), value, column.type)
            else:
                setattr(packed, column.member, value)
        pieces.append(bytes(packed))
    return b"".join(pieces)


def unpack_rows(data: bytes, struct: RowStruct) -> list[tuple[Any, ...]]:
    layout = row_layout(struct)
    size = ctypes.sizeof(layout)
    assert len(data) % size == 0
    return [
        _row(layout.from_buffer_copy(data, start), struct) for start in range(0, len(data), size)
    ]


def _row(packed: Any, struct: RowStruct) -> tuple[Any, ...]:
    return tuple(
        get(getattr(packed, c.member), c.type) if c.nullable else getattr(packed, c.member)
        for c in struct.columns
    )


# -------------------------------------------------------------------- many expressions at once


@dataclass(frozen=True)
class ReadAndWrite:
    """The rest of a program: functions over input and output that several programs share."""

    includes: str
    text: str


READ_AND_WRITE = ReadAndWrite(
    includes="#include <cstddef>\n#include <cstdio>\n#include <vector>\n",
    text="""
template <typename T>
bool read_one(T& value) {
    return std::fread(&value, sizeof value, 1, stdin) == 1;
}

template <typename T>
void write_one(const T& value) {
    std::fwrite(&value, sizeof value, 1, stdout);
}
""",
)
