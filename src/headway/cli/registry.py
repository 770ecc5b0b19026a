"""The commands there are: a name, a summary, and the place of the function behind it.

Nothing here imports a command: ``headway --help`` shows them all and loads none. A command of
Headway is a file in :mod:`headway.cli.commands` and a line in ``COMMANDS``. A package of its own
adds one by an entry point of the group ``headway.commands``::

    [project.entry-points."headway.commands"]
    tyres = "my_package.tyres:tyres"

The function is one that typer takes: annotated parameters become arguments and options, the
docstring is the help, and its first sentence the summary. It raises errors of
:mod:`headway.errors`, as Headway's own do, and gets their messages and exit codes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.errors import EnvironmentMissing

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "headway.commands"


@dataclass(frozen=True, slots=True)
class Command:
    """``place`` is ``module:function``; ``package`` is the distribution that brought the command,
    empty for Headway's own."""

    name: str
    summary: str
    place: str
    package: str = ""

    def load(self) -> Callable[..., None]:
        """The function; EnvironmentMissing when another package's cannot be had."""
        module, _, name = self.place.partition(":")
        if not self.package:
            own: Callable[..., None] = getattr(importlib.import_module(module), name)
            return own
        try:
            found: object = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except Exception as error:
            raise self._unusable(f"{type(error).__name__}: {error}") from error
        if not callable(found):
            raise self._unusable(f"{self.place} is no function")
        return found

    def _unusable(self, why: str) -> EnvironmentMissing:
        return EnvironmentMissing(
            f"The command {self.name!r} of the package {self.package} cannot be loaded: {why}. "
            f"Install {self.package} anew, or remove it."
        )


def _own(name: str, summary: str, function: str = "") -> Command:
    file = name.replace("-", "_")
    return Command(name, summary, f"headway.cli.commands.{file}:{function or file}")


COMMANDS: tuple[Command, ...] = (
    _own(
        "compile",
        "Compile a query for a vehicle: where each operator runs, by when, and what can be "
        "promised.",
        "compile_",
    ),
    _own(
        "check",
        "Check a query by itself: names, streams, components, and the type of every expression.",
    ),
    _own("run", "Run a query over a recording and say how its outputs stood to their deadlines."),
    _own(
        "drive",
        "Drive through a city where six cars would hit ours, and see whether it is warned in time.",
    ),
    _own(
        "fleet",
        "Run a whole fleet: each vehicle has its own engine in virtual time, with costs and "
        "policy.",
    ),
    _own(
        "compare",
        "Run a recording on the vehicle engine and on Spark, and count the tuples they agree on.",
    ),
    _own(
        "spark-submit-args",
        "Package a query for a cluster and print the spark-submit command that runs it there.",
    ),
    _own("build", "Build one self-contained executable (.pyz) for each node of a plan."),
    _own(
        "schedule",
        "Schedule a task graph on a network of unlike processors and links, before anything runs.",
    ),
    _own(
        "loadtest",
        "Load testing: raise the soft load beyond the processor and count missed deadlines.",
    ),
    _own(
        "policies",
        "List the scheduling policies of the vehicle engine, and the papers they are from.",
    ),
    _own(
        "schema",
        "Print the JSON Schema of the files people write; editors complete and check with it.",
    ),
)
"""Headway's own, in the order of the help text. Each summary is the first sentence of the command's
own help, and the tests hold the two together."""


def plugin_commands() -> Iterator[Command]:
    """Those of other packages, in order of name; one that bears a name of Headway's is not seen."""
    from importlib.metadata import entry_points

    taken = {command.name for command in COMMANDS}
    for entry in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        if entry.name not in taken:
            taken.add(entry.name)
            package = entry.dist.name if entry.dist is not None else "(unknown)"
            place = entry.value.partition("[")[0].replace(" ", "")
            yield Command(entry.name, _summary(entry, place), place, package)


# ---------------------------------------------------------------- summaries of other packages


def _summary(entry: EntryPoint, place: str) -> str:
    """The first sentence of the function's docstring, read from its source because importing it
    may take seconds or fail; where that cannot be had, the summary of its distribution."""
    module, _, function = place.partition(":")
    found = _documented(module, function)
    if not found and entry.dist is not None:
        found = str(entry.dist.metadata.json.get("summary", f"From the package {entry.dist.name}."))
    return first_sentence(found)


def _documented(module: str, function: str) -> str:
    import ast
    from importlib.machinery import PathFinder, SourceFileLoader

    search: list[str] | None = None
    spec = None
    try:
        for depth in range(module.count(".") + 1):
            name = ".".join(module.split(".")[: depth + 1])
            spec = PathFinder.find_spec(name, search)
            if spec is None:
                return ""
            search = list(spec.submodule_search_locations or ())
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return ""
        source = spec.loader.get_source(spec.name)
        tree = ast.parse(source or "")
    except (OSError, SyntaxError, ValueError, ImportError):
        return ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return ast.get_docstring(node) or ""
    return ""


def first_sentence(text: str) -> str:
    """Of the first paragraph, on one line."""
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + stop.strip()
