"""Aggregates in C++: the state of a group, what a row adds to it, the columns that come of it.

    names = AggregateNames("PerLaneKey", "PerLaneState", "per_lane_add", "per_lane_result")
    functions = aggregate_functions(names, columns, grouping, struct, out)

gives the text of

    struct PerLaneState { … };                       ``PerLaneState{}`` is an empty group
    inline void per_lane_add(PerLaneState& state, const Speed& row)
    inline void per_lane_result(const PerLaneState& state, const PerLaneKey& key,
                                std::int64_t window_start, std::int64_t window_end, Out& out)

``result`` sets every column of ``out``, the grouping columns too, but not the timestamp: that is
the oldest of the group's rows, which its operator knows. The key is a struct of
:mod:`headway.native.cpp_keys` with the members of the grouping columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.expressions.functions import AGGREGATES
from headway.expressions.scope import WINDOW_COLUMNS
from headway.model.expression_tree import AggregateCall, ColumnRef, Node, walk
from headway.model.schema import DataType
from headway.native.cpp_body import CppBody, bare
from headway.native.cpp_expressions import CppEmitter
from headway.native.cpp_functions import AGGREGATE_FUNCTIONS
from headway.native.cpp_keys import each_lines
from headway.native.cpp_row_functions import CppFunctionText, finished
from headway.native.cpp_text_lengths import result_length, struct_lengths
from headway.native.cpp_types import RowStruct, ValueType, text_room
from headway.native.cpp_values import CppValue, column_code, row_reader


@dataclass(frozen=True, slots=True)
class AggregateNames:
    """How the generated types and functions of one aggregate operator are called."""

    key: str
    state: str
    add: str
    result: str


@dataclass(frozen=True, slots=True)
class _Slot:
    """What the state keeps for one aggregate."""

    call: AggregateCall
    member: str
    kind: str

    @property
    def place(self) -> str:
        return f"state.{self.member}"


# -------------------------------------------------------------------- groups


def aggregate_functions(
    names: AggregateNames,
    columns: Sequence[tuple[str, Node]],
    grouping: Sequence[str],
    struct: RowStruct,
    out: RowStruct,
) -> CppFunctionText:
    """All that an aggregate operator needs; equal aggregates share a slot of the state."""
    calls = list(
        dict.fromkeys(
            node for _, tree in columns for node in walk(tree) if isinstance(node, AggregateCall)
        )
    )
    slots = [_slot(number, call, struct) for number, call in enumerate(calls, 1)]
    parts = [
        CppFunctionText(_state(names.state, slots), frozenset({AGGREGATE_FUNCTIONS})),
        _add(names, slots, struct),
        _result(names, columns, grouping, slots, struct, out),
    ]
    return CppFunctionText(
        "\n\n".join(part.text for part in parts), frozenset().union(*(p.headers for p in parts))
    )


def _slot(number: int, call: AggregateCall, struct: RowStruct) -> _Slot:
    member = f"{call.function}_{number}"
    if call.function in ("count", "count_if"):
        return _Slot(call, member, "std::int64_t")
    if call.function == "avg":
        return _Slot(call, member, "headway::Average")
    length = result_length(call, struct_lengths({None: struct}))
    return _Slot(call, member, ValueType(call.type, text_room(length)).maybe)


def _state(name: str, slots: Sequence[_Slot]) -> str:
    members = [f"    {slot.kind} {slot.member};" for slot in slots]
    each = each_lines([slot.member for slot in slots], indent=4) if slots else []
    return "\n".join([f"struct {name} {{", *members, *each, "};"])


_ADD = {
    "count": "++{place};",
    "count_if": "{place} += {value} ? 1 : 0;",
    "sum": "headway::add_to_sum({place}, {value});",
    "avg": "headway::add_to_average({place}, {value});",
    "min": "headway::keep_least({place}, {value});",
    "max": "headway::keep_greatest({place}, {value});",
    "bool_or": "headway::keep_any({place}, {value});",
    "bool_and": "headway::keep_all({place}, {value});",
}
assert _ADD.keys() == AGGREGATES.keys()


def _add(names: AggregateNames, slots: Sequence[_Slot], struct: RowStruct) -> CppFunctionText:
    body = CppBody(["row", "state"])
    emitter = CppEmitter(body, row_reader("row", struct), struct_lengths({None: struct}))
    statements: dict[str, list[str]] = {}
    for slot in slots:
        argument = slot.call.argument
        value = CppValue("") if argument is None else emitter.value(argument)
        statement = _ADD[slot.call.function].format(place=slot.place, value=bare(value.code))
        if "false" in value.known:
            continue
        statements.setdefault(value.known_code, []).append(statement)
    for known, together in statements.items():
        if known == CppValue("").known_code:
            for statement in together:
                body.line(statement)
            continue
        body.line(f"if ({known}) {{")
        with body.indented():
            for statement in together:
                body.line(statement)
        body.line("}")
    opening = f"inline void {names.add}({names.state}& state, const {struct.name}& row)"
    return finished(opening, body, used=("state", "row"))


def _result(
    names: AggregateNames,
    columns: Sequence[tuple[str, Node]],
    grouping: Sequence[str],
    slots: Sequence[_Slot],
    struct: RowStruct,
    out: RowStruct,
) -> CppFunctionText:
    body = CppBody(["state", "key", "out", *WINDOW_COLUMNS])
    body.headers.add(AGGREGATE_FUNCTIONS)
    read_key = row_reader("key", struct)

    def read(column: ColumnRef) -> CppValue:
        if column.name in WINDOW_COLUMNS and column.name not in grouping:
            return CppValue(column.name, atom=True)
        return read_key(column)

    averages = {
        slot.call: body.define(
            "average", "headway::Maybe<double>", f"headway::average_of({slot.place})"
        )
        for slot in slots
        if slot.call.function == "avg"
    }
    values = {slot.call: _slot_value(slot, averages.get(slot.call)) for slot in slots}
    emitter = CppEmitter(body, read, struct_lengths({None: struct}), values.__getitem__)
    for name in grouping:
        body.line(f"out.{out.column(name).member} = key.{struct.column(name).member};")
    for name, tree in columns:
        column = out.column(name)
        body.line(f"out.{column.member} = {column_code(emitter.value(tree), column.type)};")
    opening = (
        f"inline void {names.result}(const {names.state}& state, const {names.key}& key, "
        f"std::int64_t window_start, std::int64_t window_end, {out.name}& out)"
    )
    return finished(opening, body, used=("state", "key", *WINDOW_COLUMNS, "out"))


def _slot_value(slot: _Slot, average: str | None) -> CppValue:
    if average is not None:
        return CppValue(f"{average}.value", (f"{average}.known",), atom=True)
    if not AGGREGATES[slot.call.function].nullable:
        return CppValue(slot.place, atom=True)
    view = ".view()" if slot.call.type is DataType.STRING else ""
    return CppValue(f"{slot.place}.value{view}", (f"{slot.place}.known",), atom=True)
