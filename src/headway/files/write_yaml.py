"""Queries and vehicles back to YAML as a person would write it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from headway.errors import Problem, QueryError
from headway.files.forms import expression_plain, format_rate
from headway.files.step_forms import step_plain
from headway.files.vehicle_form import vehicle_plain
from headway.model.quantities import format_duration
from headway.model.query import (
    Component,
    ComponentUse,
    Criticality,
    Decide,
    Output,
    Query,
    Source,
    Step,
)
from headway.model.schema import Schema
from headway.model.vehicle import Vehicle
from headway.yaml_tree import resolve

# ---------------------------------------------------------------- plain values
# As a person writes them: short entries on one line, others indented.

WIDTH = 96
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./*+<>=()-]*(?: [A-Za-z0-9_./*+<>=()-]+)*")
_OLD_WORDS = frozenset({"yes", "no", "on", "off"})
"""Words that readers of YAML 1.1 take for booleans."""
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_BLOCK_LINE = re.compile(r"[ -~]*[!-~]|")


def to_yaml(values: dict[str, Any]) -> str:
    """The mapping as YAML; reading it gives the same values."""
    parts: list[str] = []
    for key, value in values.items():
        separate = "\n" if isinstance(value, dict) and parts else ""
        parts.append(separate + "".join(_entry(key, value, 0)))
    return "".join(parts)


def _entry(key: str, value: Any, depth: int) -> list[str]:
    """Lines of ``key: value`` at that depth. At depth 0 mappings never share a line."""
    indent = "  " * depth
    start = f"{indent}{_scalar(key)}:"
    if isinstance(value, str) and (block := _block(value, depth + 1)) is not None:
        return [f"{start} {block}"]
    line = f"{start} {_flow(value)}\n"
    if not isinstance(value, dict) or not value:
        return [line]
    if depth > 0 and len(line) <= WIDTH and "\\n" not in line:
        return [line]
    lines = [f"{start}\n"]
    for inner_key, inner in value.items():
        lines += _entry(inner_key, inner, depth + 1)
    return lines


def flow_text(value: Any) -> str:
    """The value on one line; reading it gives the same value."""
    return _flow(value)


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    safe = len(text) < WIDTH and _PLAIN.fullmatch(text) and text.lower() not in _OLD_WORDS
    if safe and not text[0].isdigit():
        return text if isinstance(resolve(text), str) else _quoted(text)
    if safe and " " in text:  # '30 ms', '1 per 100 ms'
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(character) or _escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\ufeff":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _block(text: str, depth: int) -> str | None:
    """A literal block (|) for text of several lines, where that keeps it exactly."""
    lines = text.split("\n")
    final = lines.pop() if lines[-1] == "" else None
    if len(lines) < 2 or not all(_BLOCK_LINE.fullmatch(line) for line in lines):
        return None
    if lines[0][:1] in ("", " ") or lines[-1] == "":
        return None
    indent = "  " * depth
    body = "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
    return ("|\n" if final is not None else "|-\n") + body


# ---------------------------------------------------------------- queries and vehicles


def vehicle_to_yaml(vehicle: Vehicle) -> str:
    """YAML that reads back as an equal vehicle."""
    return to_yaml(vehicle_plain(vehicle))


def query_to_yaml(query: Query) -> str:
    """YAML that reads back as an equal query; components and schemas stand in the same file.

    QueryError when two elements share a name: a file cannot say that.
    """
    _refuse_doubles(query)
    names = _schema_names(query)
    result: dict[str, Any] = {"query": query.name}
    if names:
        result["schemas"] = {name: _columns(schema) for schema, name in names.items()}
    result["sources"] = {source.name: _source(source, names) for source in query.sources}
    if query.components:
        result["components"] = {item.name: _component(item, names) for item in query.components}
    if query.steps:
        result["operators"] = _steps(query.steps, names)
    result["outputs"] = {output.name: _output(output) for output in query.outputs}
    return to_yaml(result)


def _columns(schema: Schema) -> dict[str, str]:
    return {field.name: field.describe() for field in schema.fields}


def _schema_users(query: Query) -> Iterator[tuple[str, Schema]]:
    for source in query.sources:
        yield source.name, source.schema
    for component in query.components:
        for port in component.inputs:
            yield port.name, port.schema
        yield from _step_schemas(component.steps)
    yield from _step_schemas(query.steps)


def _step_schemas(steps: Iterable[Step]) -> Iterator[tuple[str, Schema]]:
    for step in steps:
        if (schema := _declared(step)) is not None:
            yield step.name, schema


def _declared(step: Step) -> Schema | None:
    return None if isinstance(step, ComponentUse) else step.declared_schema


def _schema_names(query: Query) -> dict[Schema, str]:
    """Names for the schemas that stand more than once, after the first element that has one."""
    count = Counter(schema for _, schema in _schema_users(query))
    names: dict[Schema, str] = {}
    for user, schema in _schema_users(query):
        if count[schema] > 1 and schema not in names:
            base = "".join(word[:1].upper() + word[1:] for word in user.split("_"))[:50] or "Schema"
            base = base if not base[0].isdigit() else f"S{base}"
            taken = set(names.values())
            numbers = (f"{base}{number}" for number in range(2, len(names) + 3))
            names[schema] = next(name for name in (base, *numbers) if name not in taken)
    return names


def _schema(schema: Schema, names: dict[Schema, str]) -> Any:
    return names.get(schema) or _columns(schema)


def _source(source: Source, names: dict[Schema, str]) -> dict[str, Any]:
    result: dict[str, Any] = {"schema": _schema(source.schema, names)}
    if source.rate is not None:
        result["rate"] = format_rate(source.rate.count, source.rate.period)
        if source.rate.jitter:
            result["jitter"] = format_duration(source.rate.jitter)
    if source.offset is not None:
        result["offset"] = format_duration(source.offset)
    if source.delay:
        result["delay"] = format_duration(source.delay)
    if source.lateness:
        result["lateness"] = format_duration(source.lateness)
    if source.gap is not None:
        result["gap"] = format_duration(source.gap)
    if (shedder := source.shedder) is not None:
        result["shed"] = {
            "at_most": format_rate(shedder.at_most, shedder.per),
            "value": expression_plain(shedder.value),
        }
        if shedder.decide is not Decide.ARRIVAL:
            result["shed"]["decide"] = shedder.decide.value
    return result


def _steps(steps: Iterable[Step], names: dict[Schema, str]) -> dict[str, Any]:
    result = {}
    for step in steps:
        entry = step_plain(step)
        if (schema := _declared(step)) is not None:
            entry["schema"] = _schema(schema, names)
        result[step.name] = entry
    return result


def _component(component: Component, names: dict[Schema, str]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if component.inputs:
        result["inputs"] = {port.name: _schema(port.schema, names) for port in component.inputs}
    if component.steps:
        result["operators"] = _steps(component.steps, names)
    result["outputs"] = dict(component.outputs)
    return result


def _output(output: Output) -> dict[str, Any]:
    deadline = "none" if output.deadline is None else format_duration(output.deadline)
    result: dict[str, Any] = {"from": output.stream, "deadline": deadline}
    if output.criticality is not Criticality.HARD:
        result["criticality"] = output.criticality.value
    if output.weight != 1.0:
        result["weight"] = output.weight
    if output.age is not None:
        result["age"] = format_duration(output.age)
    if output.reaction is not None:
        result["reaction"] = format_duration(output.reaction)
    if output.through:
        result["through"] = list(output.through)
    return result


def _refuse_doubles(query: Query) -> None:
    groups: list[tuple[str, Iterable[str]]] = [
        ("sources", (source.name for source in query.sources)),
        ("operators", (step.name for step in query.steps)),
        ("outputs", (output.name for output in query.outputs)),
        ("components", (component.name for component in query.components)),
    ]
    for component in query.components:
        at = f"components.{component.name}.operators"
        groups.append((at, (step.name for step in component.steps)))
    problems = [
        Problem(f"the name '{name}' stands {count} times", at=at, want="rename all but one")
        for at, names in groups
        for name, count in Counter(names).items()
        if count > 1
    ]
    if problems:
        raise QueryError(problems)
