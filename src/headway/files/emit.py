"""Plain values to YAML as a person writes it: short entries on one line, others indented."""

from __future__ import annotations

import re
from typing import Any

from headway.files.scalars import resolve

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


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_scalar(key)}: {_flow(item)}" for key, item in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(_flow(item) for item in value)}]"
    return _scalar(value)


def _scalar(value: Any) -> str:
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
