"""The body of a generated C++ function: its statements, its names, the headers it needs.

Statements that only give a name to what nothing uses any more are left out when the text is made,
so that the compiler has nothing to warn of; long lines are folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from headway.native.cpp_names import Names

WIDTH = 100
# A member of a struct is no use of a variable that is called alike.
_WORD = re.compile(r"(?<![\w.])[A-Za-z_][A-Za-z0-9_]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORST = 1_000
_FOLD_BEFORE = (" && ", " || ", " ? ", " : ", " + ", " - ", " * ", " / ")


@dataclass(frozen=True, slots=True)
class _Statement:
    lines: tuple[str, ...]
    defines: str | None = None


class CppBody:
    """Collects the statements of one function, at the indentation it is in."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.headers: set[str] = set()
        self._names = Names(taken)
        self._statements: list[_Statement] = []
        self._depth = 1

    def take(self, name: str) -> str:
        """A parameter's name."""
        return self._names.take(name)

    def line(self, text: str) -> None:
        """Adds a statement."""
        self._statements.append(_Statement(tuple(self._folded(text))))

    def define(self, base: str, kind: str, code: str) -> str:
        """A constant of its own name for the value of ``code``."""
        name = self._names.numbered(base)
        lines = self._folded(f"const {kind} {name} = {bare(code)};")
        self._statements.append(_Statement(tuple(lines), name))
        return name

    def constant(self, name: str, text: str) -> None:
        """A statement that defines a name which was taken before; left out if nothing uses it."""
        self._statements.append(_Statement(tuple(self._folded(text)), name))

    def choose(
        self, base: str, kind: str, zero: str, branches: Sequence[tuple[str, str]], otherwise: str
    ) -> str:
        """A variable that gets the value of the first branch whose condition holds."""
        name = self._names.numbered(base)
        lines = self._folded(f"{kind} {name} = {zero};")
        opening = "if"
        for condition, code in branches:
            lines += self._folded(f"{opening} ({bare(condition)}) {{")
            lines += self._folded(f"{name} = {bare(code)};", 1)
            opening = "} else if"
        if otherwise != zero:
            lines += self._folded("} else {")
            lines += self._folded(f"{name} = {bare(otherwise)};", 1)
        lines += self._folded("}")
        self._statements.append(_Statement(tuple(lines), name))
        return name

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    def lines(self) -> list[str]:
        """The text, without the names that nothing uses."""
        return [line for statement in self._kept()[0] for line in statement.lines]

    def mentions(self, name: str) -> bool:
        """Whether the text uses the name."""
        return name in self._kept()[1]

    def _kept(self) -> tuple[list[_Statement], set[str]]:
        used: set[str] = set()
        kept: list[_Statement] = []
        for statement in reversed(self._statements):
            if statement.defines is None or statement.defines in used:
                kept.append(statement)
                for line in statement.lines:
                    used.update(_WORD.findall(_STRING.sub("", line)))
        return kept[::-1], used

    def _folded(self, text: str, deeper: int = 0) -> list[str]:
        return folded(text, 4 * (self._depth + deeper))


def folded(text: str, indent: int) -> list[str]:
    """The line at its indentation, broken behind commas or before operators where it is too long;
    never inside a string."""
    lines: list[str] = []
    rest, room = text, WIDTH - indent
    while len(rest) > room:
        place = _break(rest, room)
        if place is None:
            break
        lines.append(rest[:place].rstrip())
        rest, room = rest[place:].lstrip(), WIDTH - indent - 4
    lines.append(rest)
    first, *more = lines
    return [" " * indent + first, *(" " * (indent + 4) + line for line in more)]


def _break(text: str, room: int) -> int | None:
    """The best place to break: the outermost brackets that leave the line full enough."""
    best: tuple[tuple[int, bool], int] | None = None
    depth, place = 0, 0
    while place < len(text):
        if text[place] == '"':
            string = _STRING.match(text, place)
            place = string.end() if string else place + 1
            continue
        character = text[place]
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(character, 0)
        here = None
        if text.startswith(", ", place):
            here = place + 2
        elif text.startswith(_FOLD_BEFORE, place):
            here = place + 1
        elif text.startswith(" = ", place):
            here = place + 3
        if here is not None and here > 1:
            fits = here <= room + (1 if text[here - 1] == " " else 0)
            if not fits:
                if best is not None:
                    return best[1]
                return here
            # Rather behind a comma or an equals sign than before an operator.
            rank = (depth, text[place] == " " and text[place + 1] != "=")
            if here < room // 3:
                rank = (_WORST, True)
            if best is None or rank <= best[0]:
                best = (rank, here)
        place += 1
    return best[1] if best is not None else None


def bare(code: str) -> str:
    """The code without parentheses around all of it."""
    if not (code.startswith("(") and code.endswith(")")):
        return code
    depth, place = 0, 0
    while place < len(code):
        if code[place] == '"':
            string = _STRING.match(code, place)
            place = string.end() if string else place + 1
            continue
        depth += {"(": 1, ")": -1}.get(code[place], 0)
        place += 1
        if depth == 0:
            return code[1:-1] if place == len(code) else code
    return code
