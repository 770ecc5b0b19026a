"""Fusion operators: what the query says of one, as a Spec for the runtime's template, and its
object.

Headway's own fusions have twins in C++. Their Python class is opened first, so that it looks at
schemas and parameters as it always does; what it found (which columns there are, what a heading
means, the parameters) becomes constants of the Spec. A fusion of the user is a class template that
takes the Spec: ``template <class Spec> class MyFusion : public headway::SensorFusion<Spec, …>``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from headway.engine.operators.user_defined import CustomOperator
from headway.errors import UnsupportedError
from headway.fusion.association import gate_limits
from headway.fusion.output import EstimateOutput
from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.surroundings import SurroundingsFusion
from headway.fusion.track import Key
from headway.model.operators import Fusion
from headway.model.quantities import MICROSECOND
from headway.model.schema import DataType, Schema
from headway.native.cpp_names import identifier
from headway.native.cpp_text import listed, number, quoted, truth
from headway.native.cpp_types import RowStruct
from headway.native.native_class import check_refines, native_class
from headway.native.operator_code import STATEFUL, OperatorCode, WriteContext

OWN_VEHICLE = f"{OwnVehicleFusion.__module__}:{OwnVehicleFusion.__qualname__}"
SURROUNDINGS = f"{SurroundingsFusion.__module__}:{SurroundingsFusion.__qualname__}"
TWINS = (OWN_VEHICLE, SURROUNDINGS)
"""the Python classes that the runtime has in C++"""

NOTHING = "headway::null<double>()"
"""what is read of a column that is not there"""
_INT64 = range(-(1 << 63), 1 << 63)


def write_fusion(operator: Fusion, context: WriteContext) -> OperatorCode:
    spec = context.names.take_type(f"{context.type_name}Spec")
    lines = [*_common(operator, context), *_options(operator)]
    if operator.native is not None:
        found = native_class(operator.native, operator.name)
        if operator.optional is not None:
            check_refines(found, operator.name)
        kind = f"{found.name}<{spec}>"
        header, files = found.header, found.files
        lines += _parameters(operator)
    else:
        schemas = {port.port: context.streams.schemas[port.stream] for port in operator.inputs}
        opened = CustomOperator(operator, schemas, operator.schema).user
        files = {}
        if isinstance(opened, OwnVehicleFusion):
            kind, header = f"headway::OwnVehicleFusion<{spec}>", "headway/own_vehicle_fusion.hpp"
            lines += _own_vehicle(operator, context, schemas, opened)
        elif isinstance(opened, SurroundingsFusion):
            kind, header = f"headway::SurroundingsFusion<{spec}>", "headway/surroundings_fusion.hpp"
            lines += _surroundings(operator, context, schemas, opened)
        else:
            raise UnsupportedError(
                f"operator {operator.name!r} has only a Python class, {operator.implementation}",
                at=f"operators.{operator.name}",
                want="name a class in C++ with 'native'",
            )
    text = [f"struct {spec} {{", *lines, "};", f"inline {kind} {context.function};"]
    return OperatorCode(
        kind=STATEFUL,
        text=tuple(text),
        headers=frozenset({header, "headway/value.hpp", "headway/fusion.hpp"}),
        object=context.function,
        arena=f"{kind}::arena_bytes()",
        files=dict(files),
    )


# -------------------------------------------------------------------- what every fusion has


def _common(operator: Fusion, context: WriteContext) -> Iterator[str]:
    rows = list(context.inputs.items())
    yield f"  using Out = {context.output.name};"
    yield "  struct Rows {"
    for port, row in rows:
        yield f"    using {identifier(port)} = {row.name};"
    yield "  };"
    yield f"  using ObjectKey = {_key_type(operator.object_key, context, 'headway::SingleObject')};"
    yield f"  using SensorKey = {_key_type(operator.sensor_key, context, 'headway::NumberKey')};"
    for name, length in (("front", operator.front), ("rear", operator.rear)):
        us = number(length // MICROSECOND)
        yield f"  static constexpr headway::Microseconds {name}_us = {us};"
    yield f"  static constexpr headway::Port ports = {len(rows)};"
    most = -1 if operator.most_outputs is None else operator.most_outputs
    yield f"  static constexpr std::int64_t most_outputs = {number(most)};"
    sizes = context.sizes
    for name, size in (
        ("objects", sizes.objects if operator.object_key is not None else 1),
        ("measurements", sizes.measurements),
        ("estimates", sizes.estimates),
        ("items", sizes.batch),
    ):
        yield f"  static constexpr std::size_t most_{name} = {number(size)};"
    yield "  static constexpr std::size_t most_row_bytes ="
    yield f"      headway::largest_size({{{', '.join(f'sizeof({row.name})' for _, row in rows)}}});"
    yield "  static constexpr std::size_t row_bytes(headway::Port port) {"
    yield from _by_port([f"return sizeof({row.name});" for _, row in rows])
    yield "  }"
    yield "  static bool object(headway::Port port, const void* row, ObjectKey& key) {"
    yield from _keys(operator.object_key, rows, ["return true;"] * len(rows), "(void)key;")
    yield "  }"
    # Without a column for it the port is the sensor; sensors are ordered by their names.
    order = sorted(port for port, _ in rows)
    ranks = [f"return headway::set_key(key, {order.index(port)});" for port, _ in rows]
    yield "  static bool sensor(headway::Port port, const void* row, SensorKey& key) {"
    yield from _keys(operator.sensor_key, rows, ranks, "")
    yield "  }"
    yield "  static void save_row(headway::Port port, const void* row,"
    yield "                       headway::StateWriter& writer) {"
    yield from _by_port(
        [f"return headway::save_row_as<{row.name}>(row, writer);" for _, row in rows]
    )
    yield "  }"
    yield "  static bool load_row(headway::Port port, headway::StateReader& reader, void* row) {"
    yield from _by_port(
        [f"return headway::load_row_as<{row.name}>(reader, row);" for _, row in rows]
    )
    yield "  }"


def _options(operator: Fusion) -> Iterator[str]:
    """What the runtime takes for absent where the Spec does not have it."""
    if operator.gate is not None:
        limits = gate_limits(operator.gate.accept)
        listed_limits = ", ".join(repr(limit) for limit in limits)
        yield f"  static constexpr double gate_limits[{len(limits)}] = {{{listed_limits}}};"
        yield f"  static constexpr std::int64_t gate_confirm = {number(operator.gate.confirm)};"
    if operator.correlated:
        yield "  static constexpr bool correlated = true;"


def _by_port(statements: Sequence[str]) -> list[str]:
    """Statements for each port, the last one for all others."""
    if len(set(statements)) == 1:
        return ["    (void)port;", f"    {statements[0]}"]
    return [
        *(
            f"    if (port == {place}) {statement}"
            for place, statement in enumerate(statements[:-1])
        ),
        f"    {statements[-1]}",
    ]


def _keys(
    column: str | None, rows: Sequence[tuple[str, RowStruct]], without: Sequence[str], unused: str
) -> list[str]:
    if column is None:
        return ["    (void)row;", *([f"    {unused}"] if unused else []), *_by_port(without)]
    return _by_port([f"return headway::set_key(key, {_member(row, column)});" for _, row in rows])


def _member(row: RowStruct, column: str) -> str:
    return f"static_cast<const {row.name}*>(row)->{row.column(column).member}"


def _key_type(column: str | None, context: WriteContext, otherwise: str) -> str:
    if column is None:
        return otherwise
    types = [row.column(column).type for row in context.inputs.values()]
    if all(kind.type is DataType.STRING for kind in types):
        return f"headway::TextKey<{max(kind.length for kind in types)}>"
    if len({kind.type is DataType.BOOLEAN for kind in types}) > 1:
        raise UnsupportedError(
            f"column {column!r} is a boolean in some inputs and a number in others",
            at=f"operators.{context.function}",
            want="give it the same type in all, for native code",
        )
    return "headway::NumberKey"


def _parameters(operator: Fusion) -> Iterator[str]:
    """The parameters of a user's fusion, as constants with their names."""
    if not operator.parameters:
        return
    yield "  struct Parameters {"
    for name, value in operator.parameters:
        if isinstance(value, bool):
            yield f"    static constexpr bool {identifier(name)} = {truth(value)};"
        elif isinstance(value, int):
            yield f"    static constexpr std::int64_t {identifier(name)} = {number(value)};"
        elif isinstance(value, float):
            yield f"    static constexpr double {identifier(name)} = {value!r};"
        else:
            yield f"    static constexpr const char* {identifier(name)} = {quoted(value)};"
    yield "  };"


# -------------------------------------------------------------------- reading columns


class _InputColumns:
    """Expressions for the columns of one input, by their places in its rows."""

    def __init__(self, schema: Schema, row: RowStruct) -> None:
        self._schema = schema
        self._row = row

    def number(self, place: int | None) -> str:
        return self._read("believed", place)

    def variance(self, place: int | None, setting: float | None = None) -> str:
        """Of a column, or else of the parameter that stands for it."""
        if place is None and setting is not None:
            return f"headway::believed_variance(headway::known({setting!r}))"
        return self._read("believed_variance", place)

    def is_true(self, place: int | None) -> str:
        return "false" if place is None else f"headway::is_true({self._member(place)})"

    def _read(self, function: str, place: int | None) -> str:
        if place is None:
            return NOTHING
        return f"headway::{function}({self._member(place)})"

    def _member(self, place: int) -> str:
        return f"given.{self._row.column(self._schema.columns[place].name).member}"


def _call(function: str, arguments: Sequence[str]) -> list[str]:
    return listed(f"return {function}(", arguments, ");", indent=4)


def _reads(kind: str, bodies: Sequence[tuple[RowStruct, list[str]]]) -> Iterator[str]:
    """``read`` and what it does for each port."""
    for place, (row, body) in enumerate(bodies):
        arguments = [f"const {row.name}& given", f"headway::{kind}& reading"]
        yield from listed(f"static bool read_port{place}(", arguments, ") {", indent=2)
        yield from body
        yield "  }"
    yield f"  static bool read(headway::Port port, const void* row, headway::{kind}& reading) {{"
    yield from _by_port(
        [
            f"return read_port{place}(*static_cast<const {row.name}*>(row), reading);"
            for place, (row, _) in enumerate(bodies)
        ]
    )
    yield "  }"


def _velocity(vx: str, vy: str, var_vx: str, var_vy: str) -> list[str]:
    """A variable with what the row says of the velocity."""
    if NOTHING in (vx, vy, var_vx, var_vy):
        return ["    const headway::MeasuredVelocity velocity{};"]
    start = "const headway::MeasuredVelocity velocity = headway::measured_velocity("
    return listed(start, [vx, vy, var_vx, var_vy], ");", indent=4)


# -------------------------------------------------------------------- writing estimates

_TOLD = {
    "at": "state.timestamp",
    "x": "state.x",
    "y": "state.y",
    "vx": "state.vx",
    "vy": "state.vy",
    "var_x": "state.var_x",
    "var_y": "state.var_y",
    "var_vx": "state.var_vx",
    "var_vy": "state.var_vy",
    "speed": "headway::speed_of(state)",
    "heading": "headway::heading_of(state)",
    "conf": "headway::confidence(state)",
    "own": "own",
}


def _written(
    output: EstimateOutput, row: RowStruct, put_id: Callable[[str, DataType, int], list[str]]
) -> list[str]:
    """Statements that make an output row of an estimate; ``put_id`` those for its object's key."""
    lines = []
    for column, told in zip(row.columns[1:], output.columns, strict=True):
        place, kind = f"out.{column.member}", column.type
        if told == "id":
            lines += put_id(place, kind.type, kind.length)
        elif told == "sensor":
            text = f"headway::text<{kind.length}>({quoted(output.sensor)})"
            lines.append(f"    {place} = headway::known({text});")
        elif kind.type is DataType.FLOAT:
            lines.append(f"    {place} = headway::known(static_cast<float>({_TOLD[told]}));")
        else:
            lines.append(f"    {place} = headway::known({_TOLD[told]});")
    return lines


def _put_key(place: str, fits: bool) -> list[str]:
    """The object's key; a key of another kind than the column's has no room in it."""
    if not fits:
        return ["    whole = false;"]
    return [f"    whole = headway::put_key({place}, object) && whole;"]


def _put_constant(place: str, kind: DataType, length: int, value: Key) -> list[str]:
    """A key that stands in the query, held to the column's type as every result is."""
    if kind is DataType.STRING and isinstance(value, str) and len(value.encode()) <= length:
        return [f"    {place} = headway::known(headway::text<{length}>({quoted(value)}));"]
    if kind is DataType.BOOLEAN and isinstance(value, bool):
        return [f"    {place} = headway::known({truth(value)});"]
    bits = {DataType.INT: 31, DataType.BIGINT: 63}.get(kind)
    if bits and not isinstance(value, str | bool) and -(1 << bits) <= value < 1 << bits:
        cpp = f"std::int{bits + 1}_t"
        return [f"    {place} = headway::known(static_cast<{cpp}>({number(value)}));"]
    return ["    whole = false;"]


def _same_kind(context: WriteContext, column: str, kind: DataType) -> bool:
    """Whether objects' keys are booleans where the output's are, and only there."""
    found = next(iter(context.inputs.values())).column(column).type.type
    return (found is DataType.BOOLEAN) == (kind is DataType.BOOLEAN)


def _write_function(arguments: str, unused: Sequence[str], lines: Sequence[str]) -> Iterator[str]:
    yield from listed("static bool write(", arguments.split(", "), ") {", indent=2)
    for name in unused:
        if not any(name in line for line in lines):
            yield f"    (void){name};"
    fallible = any("whole" in line for line in lines)
    if fallible:
        yield "    bool whole = true;"
    yield from lines
    yield "    return whole;" if fallible else "    return true;"
    yield "  }"


def _settings(settings: dict[str, float], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        yield f"  static constexpr double {name} = {settings[name]!r};"


# -------------------------------------------------------------------- type 1


def _own_vehicle(
    operator: Fusion, context: WriteContext, schemas: dict[str, Schema], opened: OwnVehicleFusion
) -> Iterator[str]:
    places, settings = opened.places, opened.settings
    bodies = []
    for port, row in context.inputs.items():
        columns = _InputColumns(schemas[port], row)
        if port == "speed":
            given, spread = places.speed
            arguments = [
                columns.number(given),
                columns.variance(spread, settings["speed_variance"]),
                "reading",
            ]
            bodies.append((row, _call("headway::read_speed", arguments)))
            continue
        heading = f"{truth(places.degrees)}, {truth(places.clockwise)}"
        arguments = [
            *(columns.number(place) for place in places.position),
            *(
                columns.variance(place, settings["position_variance"])
                for place in places.position_variance
            ),
            "velocity",
            f"headway::motion_direction({columns.number(places.heading)}, {heading})",
            "reading",
        ]
        vx, vy = (columns.number(place) for place in places.velocity)
        var_vx, var_vy = (
            columns.variance(place, settings["speed_variance"])
            for place in places.velocity_variance
        )
        velocity = _velocity(vx, vy, var_vx, var_vy)
        bodies.append((row, [*velocity, *_call("headway::read_fix", arguments)]))
    yield from _reads("OwnReading", bodies)
    yield from _settings(
        settings,
        (
            "acceleration_variance",
            "scale_variance",
            "heading_variance",
            "velocity_variance",
            "least_speed",
        ),
    )

    def put_id(place: str, kind: DataType, length: int) -> list[str]:
        constant = _put_constant(place, kind, length, opened.own_id)
        if operator.object_key is None:
            return constant
        key = _put_key(place, _same_kind(context, operator.object_key, kind))
        if kind is not DataType.STRING:
            return key
        # An empty key is the one object of a fusion that tells none apart.
        return [
            "    if (object.text.size == 0) {",
            *(f"  {line}" for line in constant),
            "    } else {",
            *(f"  {line}" for line in key),
            "    }",
        ]

    lines = _written(opened.output, context.output, put_id)
    lines = [line.replace("known(own)", "known(true)") for line in lines]
    shared = settings["shared_variance"]
    if shared:
        lines = [
            "    headway::FilterState wider = state;",
            *(f"    wider.{name} = wider.{name} + {shared!r};" for name in ("var_x", "var_y")),
            *(re.sub(r"\bstate\b", "wider", line) for line in lines),
        ]
    yield from _write_function(
        "const headway::FilterState& state, const ObjectKey& object, Out& out",
        ("state", "object", "out"),
        lines,
    )


# -------------------------------------------------------------------- type 2


def _surroundings(
    operator: Fusion, context: WriteContext, schemas: dict[str, Schema], opened: SurroundingsFusion
) -> Iterator[str]:
    bodies, owns = [], []
    for port, row in context.inputs.items():
        columns, places = _InputColumns(schemas[port], row), opened.places[port]
        vx, vy, var_vx, var_vy = places.velocity
        arguments = [
            columns.number(places.x),
            columns.number(places.y),
            columns.variance(places.var_x),
            columns.variance(places.var_y),
            "velocity",
            "reading",
        ]
        velocity = _velocity(
            columns.number(vx),
            columns.number(vy),
            columns.variance(var_vx),
            columns.variance(var_vy),
        )
        bodies.append((row, [*velocity, *_call("headway::read_sighting", arguments)]))
        told = columns.is_true(places.own).replace(
            "given.", f"static_cast<const {row.name}*>(row)->"
        )
        owns.append(f"return {told};")
    yield from _reads("Sighting", bodies)
    yield "  static bool own(headway::Port port, const void* row) {"
    yield from ["    (void)row;"] if all("row" not in one for one in owns) else []
    yield from _by_port(owns)
    yield "  }"
    yield from _own_id(operator, context)
    yield from _settings(opened.settings, ("acceleration_variance", "velocity_variance"))
    object_key = operator.object_key
    assert object_key is not None  # it was asked for when it was opened
    lines = _written(
        opened.output,
        context.output,
        lambda place, kind, length: _put_key(place, _same_kind(context, object_key, kind)),
    )
    yield from _write_function(
        "const headway::FilterState& state, const ObjectKey& object, bool own, Out& out",
        ("state", "object", "own", "out"),
        lines,
    )


def _own_id(operator: Fusion, context: WriteContext) -> Iterator[str]:
    """The parameter ``own_id``, where it can be the key of an object."""
    value = dict(operator.parameters).get("own_id")
    assert operator.object_key is not None
    types = [row.column(operator.object_key).type for row in context.inputs.values()]
    yield "  static bool own_id(ObjectKey& key) {"
    text = all(kind.type is DataType.STRING for kind in types)
    room = max(kind.length for kind in types)
    if text and isinstance(value, str) and len(value.encode()) <= room:
        yield f"    key.text = headway::text<{room}>({quoted(value)});"
        yield "    return true;"
    elif not text and isinstance(value, int) and value in _INT64:
        yield f"    key.number = {number(int(value))};"
        yield "    return true;"
    else:
        yield "    (void)key;"
        yield "    return false;"
    yield "  }"
