"""Which modules a program needs: read off their imports, without running them.

Of Headway, what is imported at the top of a module counts; what is imported inside a function is
for those who need it, and named by :mod:`headway.runtime.bundle`. A package of Headway that is only
on the way to a module is left empty. Of the user's own modules all imports count.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

OWN = "headway"
_INSTALLED = tuple(
    Path(sysconfig.get_path(name)).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


@dataclass(slots=True)
class Modules:
    """``files``: module -> its source file. ``requires``: packages that must be installed."""

    files: dict[str, Path] = field(default_factory=dict)
    packages: set[str] = field(default_factory=set)
    """modules of ``files`` that are packages"""
    requires: set[str] = field(default_factory=set)

    def entries(self) -> dict[str, bytes]:
        """The files of an archive, with the empty packages on the way."""
        found: dict[str, bytes] = {}
        for name, path in self.files.items():
            base = name.replace(".", "/")
            found[base + ("/__init__.py" if name in self.packages else ".py")] = path.read_bytes()
        for name in self.files:
            parts = name.split(".")
            for end in range(1, len(parts)):
                found.setdefault("/".join(parts[:end]) + "/__init__.py", b"")
        return found


def modules_of(roots: Iterable[str]) -> Modules:
    """The roots and all that they import, and what must be installed."""
    modules = Modules()
    pending = list(roots)
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if name in modules.files or top in sys.stdlib_module_names:
            continue
        found = _source(name)
        if found is None:
            if not _is_folder(name):
                modules.requires.add(top)
            continue
        path, is_package = found
        modules.files[name] = path
        if is_package:
            modules.packages.add(name)
        if top != OWN and "." in name:
            pending.append(name.rpartition(".")[0])
        pending += _imports(name, path, is_package)
    return modules


def _source(name: str) -> tuple[Path, bool] | None:
    """The file of a module to be carried along: Headway's, or the user's own plain Python."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    path = Path(spec.origin).resolve()
    if name.partition(".")[0] != OWN and any(path.is_relative_to(place) for place in _INSTALLED):
        return None
    return path, spec.submodule_search_locations is not None


def _is_folder(name: str) -> bool:
    """Whether it is a package without a file of its own, on the way to a module."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is None


def _imports(name: str, path: Path, is_package: bool) -> Iterator[str]:
    tree = ast.parse(path.read_bytes(), str(path))
    own = name.partition(".")[0] == OWN
    for node in _at_top(tree) if own else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = name.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, *([base] if base else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield inner if _is_module(inner) else base


def _at_top(tree: ast.Module) -> Iterator[ast.AST]:
    """The statements run on import, but for those that only a type checker sees."""
    pending: list[ast.AST] = list(tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending += node.orelse
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield node
            pending += ast.iter_child_nodes(node)


def _is_module(name: str) -> bool:
    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return False
    return _source(name) is not None
