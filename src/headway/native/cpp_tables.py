"""The tables of a program (``headway/tables.hpp``) as C++ constants.

Everything a kernel follows is written down: trains and their operators, outlets, sources, outputs,
windows, nodes and buses. Numbers such as a unit's are places in these tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headway.engine.program import Unit
from headway.model.expression import typed
from headway.model.operators import Gather, Operator
from headway.model.quantities import MICROSECOND
from headway.model.query import Criticality, Decide, Source
from headway.native.buffer_sizes import Sizes
from headway.native.cpp_streams import Streams
from headway.native.cpp_text import (
    Constants,
    Fields,
    fields,
    listed,
    number,
    quoted,
    span_of,
    table,
    truth,
)
from headway.native.operator_code import OperatorCode
from headway.native.program_layout import OutletPlace, ProgramLayout
from headway.schedule.online.policy import KeyBase

KEY_BASES = {
    KeyBase.TIMESTAMP: "headway::KeyBase::TIMESTAMP",
    KeyBase.ROOT: "headway::KeyBase::ROOT",
    KeyBase.CONSTANT: "headway::KeyBase::CONSTANT",
}
GATHERS = {
    None: "headway::Gather::NOTHING",
    Gather.ALL: "headway::Gather::ALL",
    Gather.TIME: "headway::Gather::TIME",
}
NONE = "headway::NONE"
NOTHING = "nullptr"


@dataclass
class CppTables:
    """Writes all tables. ``code`` is that of the operators, ``trains`` the functions that run a
    whole train, by unit, ``shedding`` the name of a source's shedding, ``reservations`` the text
    for a policy that reserves."""

    layout: ProgramLayout
    streams: Streams
    code: Mapping[str, OperatorCode]
    trains: Mapping[int, str]
    sizes: Sizes
    shedding: Mapping[str, str]
    reservations: str = NOTHING
    lines: list[str] = field(default_factory=list)
    _written: set[str] = field(default_factory=set)
    _constants: Constants = field(default_factory=Constants)

    def write(self) -> list[str]:
        layout = self.layout
        self._units()
        self._outlets()
        self._streams()
        self._windows()
        self._nodes()
        self._network()
        stateful = [f"&{self.code[name].object}" for name in layout.stateful]
        self._table("headway::Operator*", "STATEFUL", stateful)
        self._program()
        return self.lines

    # ---------------------------------------------------------------- helpers

    def _table(self, kind: str, name: str, rows: Iterable[Fields | str], why: str = "") -> str:
        """Writes a table; gives the view of it."""
        found = list(rows)
        if not found:
            return "{}"
        if why:
            self.lines.append(f"// {why}")
        if kind == "headway::Operator*":  # a constant pointer to an operator that changes
            text = listed(f"{kind} const {name}[] = {{", [str(one) for one in found], "};")
            self.lines += [*text, ""]
        else:
            self.lines += [*table(kind, name, found), ""]
        return span_of(name, len(found))

    def _indices(self, name: str, places: Sequence[int]) -> str:
        return self._table("headway::Index", name, [str(place) for place in places])

    def _row_bytes(self, stream: str) -> str:
        return f"sizeof({self.streams.struct(stream)})"

    def _largest_row(self, streams: Sequence[str]) -> str:
        """The size of the largest of several rows, each struct told once."""
        return largest([self._row_bytes(self.streams.shared[stream]) for stream in streams])

    # ---------------------------------------------------------------- trains

    def _units(self) -> None:
        rows = []
        for unit in self.layout.program.units:
            steps = self._steps(unit)
            rows.append(self._unit(unit, steps))
        self._table("headway::Unit", "UNITS", rows)

    def _steps(self, unit: Unit) -> str:
        operators = self.layout.graph.operators
        rows = []
        for place, name in enumerate(unit.operators):
            operator, code = operators[name], self.code[name]
            before = unit.operators[place - 1] if place else ""
            ports = [i for i, port in enumerate(operator.inputs) if port.stream == before]
            rows.append(
                fields(
                    name=quoted(name),
                    kind=f"headway::StepKind::{code.kind}",
                    port=str(ports[0]) if ports else "headway::NO_PORT",
                    cost=number(unit.costs[place]),
                    row_bytes=self._row_bytes(name),
                    filter=self._filter(operator),
                    map=self._map(operator),
                    by_port=self._converters(operator),
                    stateful=f"&{code.object}" if code.object else NOTHING,
                )
            )
        name = f"STEPS_OF_{self._constants(unit.name)}"
        return self._table("headway::Step", name, rows, " > ".join(unit.operators))

    def _filter(self, operator: Operator) -> str:
        found = self.code[operator.name].filter
        row = self.streams.struct(operator.streams[0])
        return f"headway::filter_row<{row}, {found}>" if found else NOTHING

    def _map(self, operator: Operator) -> str:
        found = self.code[operator.name].map
        return self._row_map(operator.streams[0], operator.name, found)

    def _row_map(self, stream: str, name: str, function: str) -> str:
        if not function:
            return NOTHING
        row, out = self.streams.struct(stream), self.streams.struct(name)
        return f"headway::map_row<{row}, {out}, {function}>"

    def _converters(self, operator: Operator) -> str:
        converters = self.code[operator.name].converters
        if not converters:
            return NOTHING
        name = f"CONVERTERS_OF_{self._constants(operator.name)}"
        if name not in self._written:
            self._written.add(name)
            pairs = zip(operator.streams, converters, strict=True)
            rows = [self._row_map(stream, operator.name, one) for stream, one in pairs]
            self._table("headway::MapFunction", name, rows)
        return name

    def _unit(self, unit: Unit, steps: str) -> Fields:
        layout, sizes = self.layout, self.sizes.units[unit.index]
        key = layout.keys[unit.index]
        head = unit.head
        gathers = head.gathering is not None
        group = next(g.index for g in layout.groups if unit in g.units)
        return fields(
            name=quoted(unit.name),
            node=str(layout.nodes.index(unit.node)),
            group=str(group),
            steps=steps,
            whole=self.trains.get(unit.index, NOTHING),
            key=f"{{{KEY_BASES[key.base]}, {number(key.add)}, {number(key.second)}}}",
            exit=str(layout.outlet(unit.stream, unit.node)),
            free=truth(unit.free),
            holds_windows_back=truth(unit.flights is not None),
            deadline=number(unit.task.relative_deadline),
            cost=number(unit.cost),
            gather=GATHERS[head.gathering],
            between_items=truth(unit.between_items),
            ports=str(len(head.inputs)),
            timeout=number(head.timeout or 0),
            base_cost=number(unit.base_cost),
            item_cost=number(unit.item_cost),
            gathering=f"&{self.code[head.name].object}" if gathers else NOTHING,
            optional=self._optional(unit),
            entry_bytes=self._largest_row(unit.task.entries),
            inner_bytes=self._largest_row(unit.operators),
            most_jobs=number(sizes.jobs),
            most_pending=number(sizes.pending),
            most_gathered=number(sizes.gathered),
        )

    def _optional(self, unit: Unit) -> str:
        """Of the last operator of a train."""
        refining = unit.refining
        if refining is None:
            return NOTHING
        name = f"OPTIONAL_PART_OF_{self._constants(unit.name)}"
        parts = fields(
            refines=self._object(unit.operators[refining.place]),
            pieces=number(refining.pieces),
            piece_cost=number(refining.piece),
        )
        body = parts.lines(indent=0, end=";")
        self.lines += [f"constexpr headway::OptionalPart {name} = {body[0]}", *body[1:], ""]
        return f"&{name}"

    # ---------------------------------------------------------------- streams

    def _outlets(self) -> None:
        layout = self.layout
        outputs = {name: place for place, name in enumerate(layout.graph.outputs)}
        rows = []
        for outlet in layout.outlets:
            name = self._outlet_name(outlet)
            out = self._indices(f"OUTPUTS_{name}", [outputs[one] for one in outlet.outputs])
            entries = self._table(
                "headway::Entry",
                f"ENTRIES_{name}",
                [f"{{{u.index}, {_port(u, port)}}}" for u, port in outlet.entries],
            )
            rows.append(
                fields(
                    stream=str(layout.streams.index(outlet.stream)),
                    node=str(layout.nodes.index(outlet.node)),
                    row_bytes=self._row_bytes(outlet.stream),
                    outputs=out,
                    entries=entries,
                    sent=truth(outlet.sent),
                )
            )
        self._table("headway::Outlet", "OUTLETS", rows)

    def _outlet_name(self, outlet: OutletPlace) -> str:
        where = "" if len(self.layout.nodes) == 1 else f"_ON_{self._constants(outlet.node)}"
        return f"OF_{self._constants(outlet.stream)}{where}"

    def _streams(self) -> None:
        layout, placement = self.layout, dict(self.layout.plan.placement)
        held = layout.held_streams
        self._table(
            "headway::Stream",
            "STREAMS",
            [
                fields(
                    name=quoted(name),
                    row_bytes=self._row_bytes(name),
                    holds_windows_back=truth(name in held),
                )
                for name in layout.streams
            ],
        )
        self._table(
            "headway::Source",
            "SOURCES",
            [
                fields(
                    name=quoted(source.name),
                    outlet=str(layout.outlet(source.name, placement[source.name])),
                    row_bytes=self._row_bytes(source.name),
                    lateness=number(source.lateness // MICROSECOND),
                    rate=_rate(source),
                    shedding=self.shedding.get(source.name, NOTHING),
                )
                for source in layout.graph.sources.values()
            ],
        )
        self._table(
            "headway::Output",
            "OUTPUTS",
            [
                fields(
                    name=quoted(output.name),
                    stream=str(layout.streams.index(output.stream)),
                    node=str(layout.nodes.index(placement[output.stream])),
                    deadline=number(output.deadline or 0),
                    hard=truth(output.criticality is Criticality.HARD),
                )
                for output in layout.graph.outputs.values()
            ],
        )

    # ---------------------------------------------------------------- windows

    def _windows(self) -> None:
        layout = self.layout
        windows, graph = layout.program.windows, layout.graph
        sources = list(graph.sources)
        marks = {name: place for place, name in enumerate((*sources, *windows.order))}
        rows = []
        for name in windows.order:
            operator, units = graph.operators[name], windows.units[name]
            constant = self._constants(name)
            gathers = bool(units) and units[0].gathering is not None
            rows.append(
                fields(
                    name=quoted(name),
                    mark=str(marks[name]),
                    input_marks=self._indices(
                        f"INPUT_MARKS_OF_{constant}", [marks[s] for s in operator.streams]
                    ),
                    input_streams=self._indices(
                        f"INPUT_STREAMS_OF_{constant}",
                        [layout.streams.index(s) for s in operator.streams],
                    ),
                    units=self._indices(f"UNITS_WITH_{constant}", [u.index for u in units]),
                    stateful=self._object(name),
                    gathering_unit=str(units[0].index) if gathers else NONE,
                )
            )
        self._table("headway::WindowedOperator", "WINDOWED", rows)
        closing = []
        for unit, one in windows.aggregates:
            before = [sources.index(source) for source in graph.sources_before(one.name)]
            closing.append(
                fields(
                    unit=str(unit.index),
                    stateful=self._object(one.name),
                    mark=str(marks[one.name]),
                    sources=self._indices(f"SOURCES_BEFORE_{self._constants(one.name)}", before),
                )
            )
        self._table("headway::ClosingOperator", "CLOSING", closing)
        forgetting = [
            fields(stateful=self._object(one.name), mark=str(marks[one.name]))
            for one in windows.joins
        ]
        self._table("headway::ForgettingOperator", "FORGETTING", forgetting)

    def _object(self, name: str) -> str:
        found = self.code[name].object
        return f"&{found}" if found else NOTHING

    # ---------------------------------------------------------------- nodes and buses

    def _nodes(self) -> None:
        layout = self.layout
        self._table("headway::NodeTable", "NODES", [f"{{{quoted(name)}}}" for name in layout.nodes])
        rows = []
        for group in layout.groups:
            # The last one is used first, as the engine takes free cores.
            places = [quoted(group.places[core]) for core in group.free]
            name = f"PLACES_OF_GROUP_{group.index}"
            self.lines += [f"constexpr const char* {name}[] = {{{', '.join(places)}}};", ""]
            node = next(u.node for u in group.units) if group.units else self._node_of(group.places)
            rows.append(
                fields(
                    node=str(layout.nodes.index(node)),
                    places=span_of(name, len(places)),
                    decision_cost=number(group.decision_cost),
                    preemption_cost=number(group.preemption_cost),
                )
            )
        self._table("headway::CoreGroup", "GROUPS", rows)

    def _node_of(self, places: Mapping[int, str]) -> str:
        """The node of a group without units: its cores are called after it."""
        first = next(iter(places.values()))
        nodes = self.layout.nodes
        return first if first in nodes else first.rpartition(".")[0]

    def _network(self) -> None:
        network = self.layout.network
        if network is None:
            return
        layout = self.layout
        media = list(network.media)
        self._table("headway::Medium", "MEDIA", [f"{{{quoted(name)}}}" for name in media])
        rows = []
        places = {key: place for place, key in enumerate(network.branches)}
        for (stream, medium), branch in network.branches.items():
            name = f"OF_{self._constants(stream)}_ON_{self._constants(medium)}"
            frames = [number(time) for time in branch.frames]
            onward = [
                f"{{{media.index(to)}, {number(delay)}}}" for to, delay in branch.onward.items()
            ]
            receivers = [layout.outlet(stream, node) for node in branch.nodes]
            rows.append(
                fields(
                    stream=str(layout.streams.index(stream)),
                    medium=str(media.index(medium)),
                    priority=str(branch.priority),
                    frames=self._table("headway::Nanoseconds", f"FRAMES_{name}", frames),
                    receivers=self._indices(f"RECEIVERS_{name}", receivers),
                    onward=self._table("headway::Onward", f"ONWARD_{name}", onward),
                )
            )
        self._table("headway::Branch", "BRANCHES", rows)
        crossings = []
        for stream, first in network.first.items():
            name = f"FIRST_BRANCHES_OF_{self._constants(stream)}"
            crossings.append(
                fields(
                    stream=str(layout.streams.index(stream)),
                    first_branches=self._indices(name, [places[stream, one] for one in first]),
                    last_receiver=str(layout.outlet(stream, network.last_receiver[stream])),
                )
            )
        self._table("headway::Crossing", "CROSSINGS", crossings)

    # ---------------------------------------------------------------- all of it

    def _program(self) -> None:
        layout = self.layout
        network, windows = layout.network, layout.program.windows
        has_network = network is not None
        parts = fields(
            query=quoted(layout.plan.query.name),
            preemptive=truth(layout.policy.preemptive),
            units=span_of("UNITS", len(layout.program.units)),
            outlets=span_of("OUTLETS", len(layout.outlets)),
            streams=span_of("STREAMS", len(layout.streams)),
            sources=span_of("SOURCES", len(layout.graph.sources)),
            outputs=span_of("OUTPUTS", len(layout.graph.outputs)),
            windowed=span_of("WINDOWED", len(windows.order)),
            closing=span_of("CLOSING", len(windows.aggregates)),
            forgetting=span_of("FORGETTING", len(windows.joins)),
            nodes=span_of("NODES", len(layout.nodes)),
            groups=span_of("GROUPS", len(layout.groups)),
            media=span_of("MEDIA", len(network.media) if network else 0),
            branches=span_of("BRANCHES", len(network.branches) if network else 0),
            crossings=span_of("CROSSINGS", len(network.first) if network else 0),
            stateful=span_of("STATEFUL", len(layout.stateful)),
            reservations=self.reservations,
            most_events=number(self.sizes.events),
            most_messages=number(self.sizes.messages if has_network else 0),
        )
        body = parts.lines(indent=0, end=";")
        self.lines += [f"constexpr headway::Program PROGRAM = {body[0]}", *body[1:]]


def largest(sizes: Sequence[str]) -> str:
    """The largest of some sizes, each told once."""
    found = list(dict.fromkeys(sizes))
    return found[0] if len(found) == 1 else f"headway::largest_row({{{', '.join(found)}}})"


def _port(unit: Unit, port: str) -> int:
    return [one.port for one in unit.head.inputs].index(port)


def _rate(source: Source) -> str:
    rate = source.rate
    if rate is None:
        return "{}"
    count = min(rate.count, (1 << 32) - 1)
    parts = [str(count), number(rate.period), number(rate.jitter)]
    if source.offset is not None:
        parts.append(number(source.offset))
    return f"{{{', '.join(parts)}}}"


def shedding_lines(source: Source, value_function: str, name: str) -> list[str]:
    """The table of a source's load shedder."""
    shedder = source.shedder
    assert shedder is not None
    assert typed(shedder.value).type.is_numeric
    parts = fields(
        at_most=number(shedder.at_most),
        per=number(shedder.per),
        on_arrival=truth(shedder.decide is Decide.ARRIVAL),
        value=value_function,
    )
    body = parts.lines(indent=0, end=";")
    return [f"constexpr headway::Shedding {name} = {body[0]}", *body[1:], ""]
