"""The part of a plan that one node runs as tables for its process (``headway/node_tables.hpp``):
what leaves for other nodes, what comes from them, and how rows are written as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.engine.nodes.node_slice import OUTPUT, NodeSlice
from headway.engine.nodes.wire_format import schema_hash
from headway.model.plan import Crossing
from headway.model.schema import DataType
from headway.model.vehicle import Bus, BusKind
from headway.native.cpp_program import CppProgram, program_file
from headway.native.cpp_text import Constants, Fields, fields, quoted, span_of, table, truth
from headway.native.cpp_types import RowColumn
from headway.native.program_layout import ProgramLayout

NODE = "node.hpp"
WIRE_TYPES = {
    DataType.BOOLEAN: "BOOLEAN",
    DataType.INT: "INT",
    DataType.BIGINT: "BIGINT",
    DataType.TIMESTAMP: "BIGINT",
    DataType.FLOAT: "FLOAT",
    DataType.DOUBLE: "DOUBLE",
    DataType.STRING: "TEXT",
}


def wire_columns(struct: str, columns: Sequence[RowColumn]) -> list[Fields]:
    """The rows of a table of ``headway::WireColumn``: where each column lies in its struct."""
    rows = []
    for column in columns:
        kind = f"headway::WireType::{WIRE_TYPES[column.type.type]}"
        value = column.member + (".value" if column.nullable else "")
        known = f"offsetof({struct}, {column.member}.known)"
        rows.append(
            fields(
                name=quoted(column.name),
                type=kind,
                offset=f"offsetof({struct}, {value})",
                known=known if column.nullable else "headway::NEVER_UNKNOWN",
                capacity=str(column.type.length),
            )
        )
    return rows


@dataclass
class _Tables:
    """Writes the tables of one node, and remembers the place of each stream among the wires."""

    program: CppProgram
    part: NodeSlice
    lines: list[str] = field(default_factory=list)
    wires: list[str] = field(default_factory=list)
    """streams, and outputs as ``output:NAME``"""
    constants: Constants = field(default_factory=Constants)

    def table(self, kind: str, name: str, rows: Sequence[Fields | str]) -> str:
        self.lines += [*table(kind, name, rows), ""] if rows else []
        return span_of(name, len(rows))

    def wire(self, stream: str) -> int:
        if stream not in self.wires:
            self.wires.append(stream)
        return self.wires.index(stream)

    def stream_of(self, wire: str) -> str:
        if not wire.startswith(OUTPUT):
            return wire
        outputs = self.program.layout.graph.outputs
        return outputs[wire.removeprefix(OUTPUT)].stream


def bus_streams(layout: ProgramLayout) -> list[tuple[Bus, Crossing, bool]]:
    """The streams between the node and others on CAN buses: by which bus each leaves the node, or
    comes to it, and whether it leaves."""
    assert layout.part is not None
    node, whole = layout.part.node, layout.whole
    buses = {bus.name: bus for bus in whole.vehicle.buses if bus.kind is not BusKind.ETHERNET}
    found = []
    for crossing in whole.crossings:
        for end, hop in ((crossing.sender, 0), (crossing.receiver, -1)):
            bus = buses.get(crossing.hops[hop].name) if crossing.hops else None
            if end == node and bus is not None:
                found.append((bus, crossing, hop == 0))
    return found


def node_text(program: CppProgram) -> str:
    """``node.hpp``: the constant ``NODE`` in the program's namespace."""
    layout, part = program.layout, program.layout.part
    assert part is not None
    tables = _Tables(program, part)
    sources = list(layout.graph.sources)
    marks = [*sources, *layout.program.windows.order]
    peers = list(dict.fromkeys(peer for _, peer in (*part.sends, *part.receives)))
    sent = []
    for stream in dict.fromkeys(stream for stream, _ in part.sends):
        receivers = [str(peers.index(peer)) for one, peer in part.sends if one == stream]
        name = f"RECEIVERS_OF_{tables.constants(stream)}"
        sent.append(
            fields(
                wire=str(tables.wire(stream)),
                stream=str(layout.streams.index(stream)),
                mark=str(marks.index(stream)),
                receivers=tables.table("headway::Index", name, receivers),
            )
        )
    received = [
        fields(
            wire=str(tables.wire(stream)),
            source=str(sources.index(stream)),
            sender=str(peers.index(peer)),
        )
        for stream, peer in part.receives
    ]
    own = [
        fields(wire=str(tables.wire(stream)), source=str(sources.index(stream)))
        for stream in part.own_sources
    ]
    outputs = [str(tables.wire(OUTPUT + name)) for name in layout.graph.outputs]
    numbers = dict(part.streams)
    written: set[str] = set()
    wires = []
    for wire in tables.wires:
        stream = tables.stream_of(wire)
        row = program.streams.rows[stream]
        columns = f"COLUMNS_OF_{tables.constants(stream)}"
        if stream not in written:
            written.add(stream)
            tables.table("headway::WireColumn", columns, wire_columns(row.name, row.columns))
        wires.append(
            fields(
                name=quoted(wire),
                id=str(numbers[wire]),
                schema=f"0x{schema_hash(wire, layout.schemas[stream]):08X}",
                row_bytes=f"sizeof({row.name})",
                columns=span_of(columns, len(row.columns)),
            )
        )
    on_buses = [
        fields(
            bus=quoted(bus.name),
            wire=str(tables.wire(crossing.stream)),
            peer=str(peers.index(crossing.receiver if sent else crossing.sender)),
            rank=str(crossing.priority),
            sent=truth(sent),
            fd=truth(bus.kind is BusKind.CAN_FD),
        )
        for bus, crossing, sent in bus_streams(layout)
    ]
    peer_names = [quoted(peer) for peer in peers]
    node = fields(
        node=quoted(part.node),
        query=quoted(layout.plan.query.name),
        fingerprint=quoted(part.fingerprint),
        program="&PROGRAM",
        peers=tables.table("const char*", "PEERS", peer_names),
        wires=tables.table("headway::WireStream", "WIRES", wires),
        sent=tables.table("headway::SentStream", "SENT", sent),
        received=tables.table("headway::ReceivedStream", "RECEIVED", received),
        own=tables.table("headway::OwnSource", "OWN", own),
        output_wires=tables.table("headway::Index", "OUTPUT_WIRES", outputs),
        bus_streams=tables.table("headway::BusStream", "BUS_STREAMS", on_buses),
    )
    body = node.lines(indent=0, end=";")
    return program_file(
        program.namespace,
        f"Node '{part.node}' of the query '{layout.plan.query.name}': what it sends and gets.\n"
        "Written by Headway from the query's plan.",
        ["<cstddef>", "headway/node_tables.hpp", "program.hpp"],
        [*tables.lines, f"constexpr headway::NodeProgram NODE = {body[0]}", *body[1:]],
    )
