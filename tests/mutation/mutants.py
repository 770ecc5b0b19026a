"""Small wrong changes of a module's source, each as one piece of text in place of another.

Positions come from Python's own syntax tree, so a mutant differs from the source in nothing but
that piece. What no test should look at is left alone: annotations, docstrings and other texts,
decorators, and everything that only makes an error message.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
SUMS: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "//"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "+"),
}
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any", "ceil": "floor", "floor": "ceil"}
UNSEEN_FUNCTIONS = ("__repr__", "__str__", "__hash__")
GREATEST = 10
"""larger numbers in the source are limits and sizes: one more changes nothing that matters"""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """``after`` in place of ``before`` at byte ``start`` of the module at ``path``."""

    path: str
    within: str
    """qualified name of the function around it; empty for what runs on import"""
    line: int
    kind: str
    start: int
    before: str
    after: str

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.kind}"

    def applied(self, source: bytes) -> bytes:
        end = self.start + len(self.before.encode())
        if source[self.start : end] != self.before.encode():
            raise ValueError(f"{self.name}: the source has changed since the mutant was made")
        return source[: self.start] + self.after.encode() + source[end:]


def mutants_of(path: str, source: bytes) -> list[Mutant]:
    """All mutants of a module, in the order of its text."""
    found = _Finder(path, source)
    found.visit(ast.parse(source))
    unique = {(one.start, one.before, one.after): one for one in found.mutants}
    return sorted(unique.values(), key=lambda one: (one.start, one.kind, one.after))


class _Finder(ast.NodeVisitor):
    def __init__(self, path: str, source: bytes) -> None:
        self.mutants: list[Mutant] = []
        self._path, self._source = path, source
        self._lines = [0]
        for line in source.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._within: list[str] = []
        self._members = _members(source.decode())

    # ---------------------------------------------------------------- where

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside([node.name], node.body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in UNSEEN_FUNCTIONS:
            return
        for default in (*node.args.defaults, *(one for one in node.args.kw_defaults if one)):
            self.visit(default)
        self._inside([node.name, "<locals>"], node.body)

    def _inside(self, names: list[str], body: list[ast.stmt]) -> None:
        self._within += names
        for statement in body:
            self.visit(statement)
        del self._within[-len(names) :]

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        for value in ("True", "False"):
            self._replace(node.test, f"condition {value.lower()}", value)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        for value in ("True", "False"):
            self._replace(node.test, f"condition {value.lower()}", value)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._replace(test, "condition true", "True")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Only makes a message."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Says what holds anyway."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """A text; and positions inside it are only right from Python 3.12 on."""

    # ---------------------------------------------------------------- what

    def visit_Compare(self, node: ast.Compare) -> None:
        parts = [node.left, *node.comparators]
        for number, operator in enumerate(node.ops):
            old, new = COMPARISONS[type(operator)]
            self._between(parts[number], parts[number + 1], "comparison", old, new)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        texts = (ast.Constant, ast.JoinedStr)
        about_text = any(
            isinstance(side, texts) and not _is_number(side) for side in (node.left, node.right)
        )
        if type(node.op) in SUMS and not about_text:
            old, new = SUMS[type(node.op)]
            self._between(node.left, node.right, "arithmetic", old, new)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for one, other in zip(node.values, node.values[1:], strict=False):
            self._between(one, other, "logic", old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        start, end = self._start(node), self._start(node.operand)
        gap = self._source[start:end].decode()
        if isinstance(node.op, ast.Not):
            self._add(node, "negation", start, gap, gap.replace("not", "", 1).lstrip())
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self._add(node, "sign", start, gap, gap.replace("-", "", 1))
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """``zip(..., strict=True)`` says what holds anyway."""
        if node.arg != "strict":
            self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        if isinstance(called, ast.Name) and called.id in CALLS:
            self._replace(called, "call", CALLS[called.id])
        elif isinstance(called, ast.Attribute) and called.attr in CALLS:
            text = self._text(called)
            self._replace(called, "call", text.removesuffix(called.attr) + CALLS[called.attr])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, "flag", str(not node.value))
        elif isinstance(node.value, int) and 0 <= node.value <= GREATEST:
            self._replace(node, "number", str(node.value + 1))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Another member of the same enumeration, if the module names one."""
        if isinstance(node.value, ast.Name) and node.attr.isupper() and node.value.id[0].isupper():
            members = self._members.get(node.value.id, [])
            if len(members) > 1 and node.attr in members:
                other = members[(members.index(node.attr) + 1) % len(members)]
                self._replace(node, "member", f"{node.value.id}.{other}")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, ast.Call):
            self._replace(node, "statement gone", "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "statement gone", "pass")
        if isinstance(node.op, ast.Add | ast.Sub):
            old, new = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            self._between(node.target, node.value, "arithmetic", old, new)
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "loop", "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "loop", "continue")

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._turned(node.body)
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._turned(node.value)
        self.generic_visit(node)

    def _turned(self, node: ast.expr) -> None:
        """The first two values of a tuple in the other order: keys of orders are such."""
        if not isinstance(node, ast.Tuple) or len(node.elts) < 2:
            return
        one, other = node.elts[:2]
        if isinstance(one, ast.Starred) or isinstance(other, ast.Starred):
            return
        first, second = self._text(one), self._text(other)
        start, end = self._start(one), self._end(other)
        text = self._source[start:end].decode()
        between = self._source[self._end(one) : self._start(other)].decode()
        self._add(node, "order", start, text, f"{second}{between}{first}")

    # ---------------------------------------------------------------- positions

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._lines[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._lines[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self._source[self._start(node) : self._end(node)].decode()

    def _replace(self, node: ast.expr | ast.stmt, kind: str, after: str) -> None:
        self._add(node, kind, self._start(node), self._text(node), after)

    def _between(self, one: ast.expr, other: ast.expr, kind: str, old: str, new: str) -> None:
        """The operator between two operands: around it are only blanks and parentheses."""
        gap = self._source[self._end(one) : self._start(other)].decode()
        changed = _once(gap, old, lambda: new)
        self._add(other, kind, self._end(one), gap, changed)

    def _add(
        self, node: ast.expr | ast.stmt, kind: str, start: int, before: str, after: str
    ) -> None:
        if before == after:
            return
        names = self._within[:-1] if self._within[-1:] == ["<locals>"] else self._within
        within = ".".join(names) if "<locals>" in self._within else ""
        self.mutants.append(
            Mutant(
                path=self._path,
                within=within,
                line=node.lineno,
                kind=kind,
                start=start,
                before=before,
                after=after,
            )
        )


def _once(text: str, old: str, new: Callable[[], str]) -> str:
    pattern = re.escape(old).replace(r"\ ", r"\s+")
    return re.sub(pattern, lambda _: new(), text, count=1)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _members(source: str) -> dict[str, list[str]]:
    """Enumerations, as far as the module names their members: ``Kind.LATE``, ``Kind.SHED``."""
    found: dict[str, list[str]] = {}
    for name, member in _named(source):
        members = found.setdefault(name, [])
        if member not in members:
            members.append(member)
    return found


def _named(source: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"\b([A-Z]\w*[a-z]\w*)\.([A-Z][A-Z0-9_]*)\b", source):
        yield match.group(1), match.group(2)
