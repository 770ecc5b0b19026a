"""The file that makes a shared library of a program: ``library.cpp``, beside the program's own.

It tells where every column lies in its struct, as the compiler laid it out, and which time keeper
runs the program: virtual time, or tuple by tuple where nothing takes time.
"""

from __future__ import annotations

from headway.native.cpp_names import comment_lines
from headway.native.cpp_node import wire_columns
from headway.native.cpp_program import PROGRAM, CppProgram
from headway.native.cpp_text import fields, quoted, span_of, table
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
        *comment_lines(f"The query '{layout.plan.query.name}' as a shared library."),
        *comment_lines("Written by Headway from the query's plan."),
        "#include <cstddef>",
        "",
        f'#include "{header}"',
        f'#include "{PROGRAM}"',
        "",
        f"namespace {space} {{",
        "namespace {",
        "",
    ]
    streams, places = [], []
    for stream in layout.streams:
        row = program.streams.rows[stream]
        name = f"COLUMNS_OF_{row.name}"
        columns = wire_columns(row.name, row.columns)
        lines += [*table("headway::WireColumn", name, columns), ""]
        streams.append(
            fields(
                name=quoted(stream),
                row_bytes=f"sizeof({row.name})",
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
    lines += [*table("headway::host::StreamLayout", "LAYOUTS", streams), ""]
    lines += [*table("headway::host::PlaceOfLoss", "PLACES", places), ""]
    lines += [
        f"headway::host::Buffer output_rows[{len(layout.graph.outputs)}];",
        "",
        f"headway::host::{host} program_host(PROGRAM, headway::span(LAYOUTS),",
        f"    {span_of('PLACES', len(places))}, output_rows, OPERATOR_BYTES);",
        "",
        "}  // namespace",
        f"}}  // namespace {space}",
        "",
        f"headway::host::Host& headway::host::host() {{ return {space}::program_host; }}",
        "",
    ]
    return "\n".join(lines)
