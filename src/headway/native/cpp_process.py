"""``main.cpp``: the process of a node, made of those parts of the runtime library that it needs.

A node that is alone has no sockets, no key and no greeting; one among native nodes has datagrams,
one among Python nodes the TCP that they speak.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from headway.engine.nodes.node_slice import NodeSlice
from headway.native.cpp_application import APPLICATION
from headway.native.cpp_node import bus_streams
from headway.native.cpp_program import CppProgram
from headway.native.toolchain import Target


class Carrier(StrEnum):
    """What carries tuples between processes: the runtime's class."""

    TCP = "TcpTransport"
    """to Python nodes, and from and to programs outside the car: drivers and subscribers"""
    UDP = "UdpTransport"
    """between native nodes"""

    @property
    def header(self) -> str:
        return {Carrier.TCP: "tcp_transport", Carrier.UDP: "udp_transport"}[self]


def carriers_of(
    part: NodeSlice, targets: Mapping[str, Target | None], *, tcp: bool = False
) -> frozenset[Carrier]:
    """The fewest by which a node reaches its peers. ``targets``: what each node is compiled for,
    None for Python; of a peer that is not among them nothing is known. ``tcp``: wished for by
    whoever builds."""
    found = {Carrier.TCP} if tcp else set()
    for _, peer in (*part.sends, *part.receives):
        if targets.get(peer) is None:
            found.add(Carrier.TCP)
        if tcp or peer not in targets or targets[peer] is not None:
            found.add(Carrier.UDP)
    return frozenset(found)


def main_text(program: CppProgram, carriers: Collection[Carrier], *, has_app: bool) -> str:
    space = program.namespace
    application = f"&{space}::application()" if has_app else "nullptr"
    reserves = program.layout.policy.guarded
    headers = ["node_main", *(one.header for one in Carrier if one in carriers)]
    headers += ["node_links"] if carriers else []
    headers += ["reservations"] if reserves else []
    links = "headway::NoLinks"
    if carriers:
        used: list[str] = [one if one in carriers else "NoTransport" for one in Carrier]
        if bus_streams(program.layout):
            headers.append("node_buses")
            used.append("NodeBuses")
        links = f"headway::NodeLinks<{', '.join(f'headway::{one}' for one in used)}>"
    reserving = "headway::Reservations" if reserves else "headway::NoReservations"
    return "\n".join(
        [
            f"// The process of node '{program.layout.nodes[0]}': its parts, its memory, its run.",
            "// Written by Headway from the query's plan.",
            *([f'#include "{APPLICATION}"'] if has_app else []),
            *(f'#include "headway/{header}.hpp"' for header in sorted(headers)),
            '#include "node.hpp"',
            "",
            "namespace {",
            "",
            f"using Links = {links};",
            f"using Node = headway::NodeRun<Links, {reserving}>;",
            "constexpr std::size_t MEMORY_BYTES =",
            f"    Node::bytes({space}::NODE) + {space}::OPERATOR_BYTES;",
            "alignas(headway::ALIGNMENT) std::byte memory[MEMORY_BYTES];",
            "",
            "}  // namespace",
            "",
            "int main(int count, char** arguments) {",
            f"  static Node node({space}::NODE, {application});",
            "  return static_cast<int>(node.run(count, arguments, memory, sizeof memory));",
            "}",
            "",
        ]
    )
