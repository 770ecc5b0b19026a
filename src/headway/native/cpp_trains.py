"""Trains of stateless operators as one function each: nothing of a tuple is kept on the way, so a
train that nobody interrupts needs no steps."""

from __future__ import annotations

from collections.abc import Mapping

from headway.engine.program import Unit
from headway.native.cpp_operators import OUT, ROW
from headway.native.cpp_streams import Streams
from headway.native.cpp_text import listed
from headway.native.operator_code import CONVERT, FILTER, MAP, PASS, STATEFUL, OperatorCode
from headway.native.program_layout import ProgramLayout


def whole_trains(layout: ProgramLayout, code: Mapping[str, OperatorCode]) -> list[Unit]:
    """The units that one function can run: no state, and one layout of the rows that enter."""
    return [
        unit
        for unit in layout.program.units
        if all(code[name].kind != STATEFUL for name in unit.operators)
        and code[unit.operators[0]].kind != CONVERT
    ]


def train_lines(
    unit: Unit, streams: Streams, code: Mapping[str, OperatorCode], name: str
) -> list[str]:
    """The function of a whole train. The last operator that makes rows writes the result."""
    makers = [place for place, one in enumerate(unit.operators) if _makes_rows(one, unit, code)]
    last_maker = makers[-1] if makers else -1
    lines: list[str] = []
    current = ROW
    for place, operator in enumerate(unit.operators):
        one = code[operator]
        if one.kind == FILTER:
            lines.append(f"  if (!{one.filter}({current})) return {{{place + 1}, false}};")
        elif place in makers:
            target = OUT
            if place != last_maker:
                target = f"{ROW}{place + 1}"
                lines.append(f"  {streams.struct(operator)} {target};")
            lines.append(f"  {_maker(operator, unit, code)}({current}, {target});")
            current = target
    if current != OUT:
        lines.append(f"  {OUT} = {current};")
    entered, left = streams.struct(unit.task.entries[0]), streams.struct(unit.stream)
    parameters = [f"const {entered}& {ROW}", f"{left}& {OUT}"]
    return [
        f"// The train {unit.name}: {' > '.join(unit.operators)}.",
        *listed(f"inline headway::WholeResult {name}(", parameters, ") {"),
        *lines,
        f"  return {{{len(unit.operators)}, true}};",
        "}",
    ]


def _makes_rows(operator: str, unit: Unit, code: Mapping[str, OperatorCode]) -> bool:
    kind = code[operator].kind
    return kind == MAP or (kind == CONVERT and bool(_maker(operator, unit, code)))


def _maker(operator: str, unit: Unit, code: Mapping[str, OperatorCode]) -> str:
    """The function that makes the operator's rows of those that come to it in this train."""
    one = code[operator]
    if one.kind != CONVERT:
        assert one.kind in (MAP, PASS)
        return one.map
    place = unit.operators.index(operator)
    before = unit.operators[place - 1]
    return next(
        converter
        for converter, stream in zip(one.converters, one.streams, strict=True)
        if stream == before
    )
