"""The file that makes a shared library of a program: ``library.cpp``, beside the program's own.

It tells where every column lies in its struct, as the compiler laid it out, and which time keeper
runs the program: virtual time, or tuple by tuple where nothing takes time.
"""

from __future__ import annotations

from headway.native.cpp_program import PROGRAM, CppProgram
from headway.native.cpp_text import fields, quoted, span_of, table
from headway.native.cpp_types import RowStruct
from headway.native.program_layout import ProgramForm

LIBRARY = "library.cpp"
_HOSTS = {
    ProgramForm.VEHICLE: ("headway/host_virtual_time.hpp", "VirtualTimeHost"),
    ProgramForm.MEANING: ("headway/host_stepwise.hpp", "StepwiseHost"),
}


def library_text(program: CppProgram) -> str:
    """The text of ``library.cpp``."""
    layout, space = program.layout, program.namespace
    header, host = _HOSTS[layout.form]
    lines = [
        f"// The query '{_plain(layout.plan.query.name)}' as a shared library.",
        "// Written by Headway from the query's plan.",
        f'#include "{header}"',
        f'#include "{PROGRAM}"',
        "",
        "namespace {",
        "",
    ]
    streams, places = [], []
    for stream in layout.streams:
        row = program.streams.rows[stream]
        name = f"COLUMNS_OF_{row.name}"
        lines += [*table("headway::WireColumn", name, _columns(space, row)), ""]
        streams.append(
            fields(
                name=quoted(stream),
                row_bytes=f"sizeof({space}::{row.name})",
                column_count=str(len(row.columns)),
                columns=name,
            )
        )
    for operator in layout.graph.operators.values():
        name = f"STREAMS_INTO_{program.streams.struct(operator.name)}"
        into = [str(layout.streams.index(stream.stream)) for stream in operator.inputs]
        lines += [*table("headway::Index", name, into), ""]
        places.append(
            fields(
                name=quoted(operator.name),
                own=str(layout.streams.index(operator.name)),
                streams=span_of(name, len(into)),
            )
        )
    lines += [*table("headway::host::StreamLayout", "STREAMS", streams), ""]
    lines += [*table("headway::host::PlaceOfLoss", "PLACES", places), ""]
    count = len(layout.graph.outputs)
    lines += [
        f"headway::host::Buffer outputs[{count}];",
        "",
        f"headway::host::{host} program_host({space}::PROGRAM, headway::span(STREAMS),",
        f"    {span_of('PLACES', len(places))}, outputs, {space}::OPERATOR_BYTES);",
        "",
        "}  // namespace",
        "",
        "headway::host::Host& headway::host::host() { return program_host; }",
        "",
    ]
    return "\n".join(lines)


def _columns(space: str, row: RowStruct) -> list[str]:
    struct = f"{space}::{row.name}"
    return [
        f"headway::host::column<decltype({struct}::{one.member})>"
        f"({quoted(one.name)}, offsetof({struct}, {one.member}))"
        if one.nullable
        else f"headway::host::timestamp_column({quoted(one.name)})"
        for one in row.columns
    ]


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
