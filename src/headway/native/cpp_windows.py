"""Joins, aggregates and distincts: what the query says of each, as a Spec for the runtime's
template, and its object."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.expression import typed
from headway.model.expression_tree import ColumnRef, Node
from headway.model.operators import Aggregate, Distinct, Join
from headway.model.quantities import MICROSECOND
from headway.native.cpp_aggregates import AggregateNames, aggregate_functions
from headway.native.cpp_keys import KeyStruct, key_struct
from headway.native.cpp_row_functions import PortRow, join_condition, join_function
from headway.native.cpp_text import number
from headway.native.cpp_types import RowStruct
from headway.native.operator_code import STATEFUL, OperatorCode, WriteContext, halved

KEY_HEADERS = frozenset({"headway/value.hpp"})


def _spec(name: str, lines: Sequence[str]) -> list[str]:
    return [f"struct {name} {{", *lines, "};"]


def _object(
    context: WriteContext, template: str, header: str, text: Sequence[str], spec: str
) -> OperatorCode:
    kind = f"headway::{template}<{spec}>"
    return OperatorCode(
        kind=STATEFUL,
        text=(*text, f"inline {kind} {context.function};"),
        headers=frozenset({header}) | KEY_HEADERS,
        object=context.function,
        arena=f"{kind}::arena_bytes()",
    )


def _size(name: str, value: int) -> str:
    return f"  static constexpr std::size_t {name} = {number(value)};"


def _length(name: str, nanoseconds: int) -> str:
    """A stretch of sensing time."""
    return (
        f"  static constexpr headway::Microseconds {name} = {number(nanoseconds // MICROSECOND)};"
    )


# ---------------------------------------------------------------- join


def write_join(operator: Join, context: WriteContext) -> OperatorCode:
    ports = [port.port for port in operator.inputs]
    left, right = (PortRow(port, context.inputs[port]) for port in ports)
    base, out = context.type_name, context.output
    key = key_struct(
        context.names.take_type(f"{base}Key"),
        [
            (left.struct, [one for one, _ in operator.keys]),
            (right.struct, [one for _, one in operator.keys]),
        ],
    )
    where_name = context.names.take(f"{context.function}_where")
    columns_name = context.names.take(f"{context.function}_columns")
    spec = context.names.take_type(f"{base}Spec")
    text: list[str] = [*key.lines(), ""]
    headers: set[str] = set()
    if operator.where is not None:
        where = join_condition(where_name, typed(operator.where).tree, left, right)
        text += [*halved(where.text), ""]
        headers |= where.headers
    columns = join_function(columns_name, _join_columns(operator, left, right), left, right, out)
    text += [*halved(columns.text), ""]
    headers |= columns.headers
    limit, timeout = operator.partners, operator.timeout or 0
    limited = -1 if limit is None else ports.index(limit[0])
    most = operator.most_outputs if limit is None else limit[1]
    sizes = context.sizes
    text += _spec(
        spec,
        [
            f"  using Left = {left.struct.name};",
            f"  using Right = {right.struct.name};",
            f"  using Out = {out.name};",
            f"  using Key = {key.name};",
            _length("within_us", operator.within),
            f"  static constexpr headway::Nanoseconds timeout_ns = {number(timeout)};",
            f"  static constexpr int limited_side = {limited};",
            f"  static constexpr std::int64_t most = {-1 if most is None else number(most)};",
            _size("most_left", sizes.kept[ports[0]]),
            _size("most_right", sizes.kept[ports[1]]),
            _size("most_left_waiting", sizes.waiting[ports[0]] if operator.timeout else 0),
            _size("most_right_waiting", sizes.waiting[ports[1]] if operator.timeout else 0),
            *_join_key("left_key", "Left", key, left.struct, [one for one, _ in operator.keys]),
            *_join_key("right_key", "Right", key, right.struct, [one for _, one in operator.keys]),
            *_join_where(where_name if operator.where is not None else None),
            "  static void columns(const Left* left, const Right* right, Out& out) {",
            f"    {columns_name}(left, right, out);",
            "  }",
        ],
    )
    code = _object(context, "Join", "headway/join.hpp", text, spec)
    return code.with_headers(headers)


def _join_columns(operator: Join, left: PortRow, right: PortRow) -> list[tuple[str, Node]]:
    """The columns that are selected, or all of both sides."""
    if operator.columns:
        return [(column.name, typed(column.value).tree) for column in operator.columns]
    return [
        (column.name, column_of(one.port, column.name, one.struct))
        for one in (left, right)
        for column in one.struct.columns[1:]
    ]


def _join_where(name: str | None) -> list[str]:
    if name is None:
        return [
            "  static bool where(const Left* /*left*/, const Right* /*right*/) { return true; }"
        ]
    return [
        "  static bool where(const Left* left, const Right* right) {",
        f"    return {name}(*left, *right);",
        "  }",
    ]


def _join_key(
    name: str, side: str, key: KeyStruct, row: RowStruct, columns: Sequence[str]
) -> list[str]:
    if not columns:
        return [f"  static bool {name}(const {side}& /*row*/, Key& /*key*/) {{ return true; }}"]
    members = [column.member for column in key.columns if column.nullable]
    known = " && ".join(f"key.{member}.known" for member in members) or "true"
    return [
        f"  static bool {name}(const {side}& row, Key& key) {{",
        *key.fill(row, columns, "key", "row"),
        f"    return {known};",
        "  }",
    ]


# ---------------------------------------------------------------- aggregate


def write_aggregate(operator: Aggregate, context: WriteContext) -> OperatorCode:
    (row,) = context.inputs.values()
    base, function, names = context.type_name, context.function, context.names
    named = AggregateNames(
        key=names.take_type(f"{base}Key"),
        state=names.take_type(f"{base}State"),
        add=names.take(f"{function}_add"),
        result=names.take(f"{function}_result"),
    )
    spec = names.take_type(f"{base}Spec")
    key = key_struct(named.key, [(row, operator.by)])
    columns = [(column.name, typed(column.value).tree) for column in operator.columns]
    written = aggregate_functions(named, columns, operator.by, row, context.output)
    text = [*key.lines(), "", *halved(written.text), ""]
    text += _spec(
        spec,
        [
            f"  using In = {row.name};",
            f"  using Out = {context.output.name};",
            f"  using Key = {key.name};",
            f"  using State = {named.state};",
            _length("window_us", operator.window),
            _length("every_us", operator.every),
            _size("most_groups", context.sizes.groups),
            _size("most_windows", context.sizes.windows),
            *_row_key(key, row, operator.by),
            f"  static void add(State& state, const In& row) {{ {named.add}(state, row); }}",
            "  static void result(const State& state, const Key& key, headway::Microseconds start,",
            "                     headway::Microseconds end, Out& out) {",
            f"    {named.result}(state, key, start, end, out);",
            "  }",
        ],
    )
    code = _object(context, "Aggregate", "headway/aggregate.hpp", text, spec)
    return code.with_headers(written.headers)


def _row_key(key: KeyStruct, row: RowStruct, columns: Sequence[str]) -> list[str]:
    if not columns:
        return ["  static void key(const In& /*row*/, Key& /*key*/) {}"]
    return [
        "  static void key(const In& row, Key& key) {",
        *key.fill(row, columns, "key", "row"),
        "  }",
    ]


# ---------------------------------------------------------------- distinct


def write_distinct(operator: Distinct, context: WriteContext) -> OperatorCode:
    (port,) = operator.inputs
    row = context.inputs[port.port]
    key = key_struct(context.names.take_type(f"{context.type_name}Key"), [(row, operator.keys)])
    spec = context.names.take_type(f"{context.type_name}Spec")
    text = [
        *key.lines(),
        "",
        *_spec(
            spec,
            [
                f"  using In = {row.name};",
                f"  using Key = {key.name};",
                _length("within_us", operator.within),
                _size("most_kept", context.sizes.kept[port.port]),
                *_row_key(key, row, operator.keys),
            ],
        ),
    ]
    return _object(context, "Distinct", "headway/distinct.hpp", text, spec)


def column_of(port: str, name: str, row: RowStruct) -> Node:
    """A column of a join's side, as an expression."""
    return ColumnRef(port, name, row.column(name).type.type)
