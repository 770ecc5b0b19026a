"""The body of a generated function: its lines, the names it gave out, the values it refers to."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from headway.expressions import kernels

# Everything the templates in functions.py and casts.py may name.
_MATHS = (
    "sqrt cbrt exp log log10 sin cos tan asin acos atan atan2 hypot radians degrees floor ceil pi"
)
NAMES: Mapping[str, Any] = {
    **{name: getattr(math, name) for name in _MATHS.split()},
    **{name: member for name, member in inspect.getmembers(kernels) if not name.startswith("_")},
}


class Body:
    """Collects the statements of one function, at the indentation it is in."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.globals: dict[str, Any] = {}
        self._taken: dict[str, int] = {}
        self._depth = 1

    def line(self, text: str) -> None:
        """Adds a statement, or several on lines of their own."""
        self.lines.extend("    " * self._depth + part for part in text.split("\n"))

    @contextmanager
    def indented(self) -> Iterator[None]:
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, base: str = "t") -> str:
        """A local name that nobody has: t1, t2, …; for a column its own name where it is free."""
        base = re.sub(r"[^A-Za-z0-9_]", "_", base)
        count = self._taken.get(base, 0) + 1
        self._taken[base] = count
        if base == "t":
            return f"t{count}"
        return base if count == 1 else self.fresh(f"{base}_{count}")

    def refer(self, base: str, value: Any) -> str:
        """A name under which the function finds a value from outside."""
        name = self.fresh(f"g_{base}")
        self.globals[name] = value
        return name


def define(name: str, parameters: Sequence[str], body: Body) -> str:
    """The text of a function."""
    lines = body.lines or ["    pass"]
    return "\n".join([f"def {name}({', '.join(parameters)}):", *lines, ""])


def build(source: str, names: Sequence[str], extra: Mapping[str, Any]) -> list[Callable[..., Any]]:
    """The functions that a generated text defines."""
    space: dict[str, Any] = {**NAMES, **extra}
    exec(compile(source, "<headway expression>", "exec"), space)
    return [space[name] for name in names]
