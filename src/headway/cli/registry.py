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

from collections.abc import Iterator
from dataclasses import dataclass

from headway.extensions import OWN, Entry, ExtensionFunctions


@dataclass(frozen=True, slots=True)
class Command:
    """``place`` is ``module:function``; ``package`` is the distribution that brings the command.
    The function itself is found in ``FUNCTIONS``."""

    name: str
    summary: str
    place: str
    package: str = OWN


def _own(name: str, summary: str, function: str = "") -> Command:
    file = name.replace("-", "_")
    return Command(name, summary, f"headway.cli.commands.{file}:{function or file}")


COMMANDS: tuple[Command, ...] = (
    _own(
        "new",
        "Make a small project: a query, a vehicle, ten seconds of a recording, tests and a README.",
    ),
    _own("examples", "List the examples that come with Headway, or copy them into a folder."),
    Command(
        "import",
        "Import an Amalthea model (APP4MC, WATERS challenges): its tasks as a query, its cores as "
        "a vehicle.",
        "headway.cli.commands.import_model:import_amalthea",
    ),
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
        "Run a recording on the vehicle engine and on another, and count the tuples they agree on.",
    ),
    _own(
        "spark-submit-args",
        "Package a query for a cluster and print the spark-submit command that runs it there.",
    ),
    _own(
        "pipeline",
        "Write a query as a Spark Declarative Pipelines project, which spark-pipelines runs.",
    ),
    _own(
        "simulate",
        "Run the nodes of a car in a simulated world with faults; check what must hold in each "
        "run.",
    ),
    _own(
        "build",
        "Build one self-contained executable for each node of a plan: a Python bundle or native "
        "code.",
    ),
    _own(
        "launch",
        "Start all nodes of a built car on this machine, watch them run, and stop them together.",
    ),
    _own(
        "watch",
        "Watch a run while it goes on: latencies against deadlines and bounds, misses, queues, "
        "loads.",
    ),
    _own(
        "live",
        "Run a query on live messages: MQTT, Zenoh, Kafka or a CAN bus, in and out.",
    ),
    _own(
        "vss",
        "List the signals of a Vehicle Signal Specification, or make a source of a query of them.",
    ),
    _own(
        "schedule",
        "Schedule a task graph on a network of unlike processors and links, before anything runs.",
    ),
    _own(
        "attack",
        "Attack a plan's promises: search for the latest tuple of every output, and show its "
        "schedule.",
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


FUNCTIONS = ExtensionFunctions(
    "headway.commands", own={command.name: command.place for command in COMMANDS}, what="command"
)
"""what each command does, imported when it is used"""


def plugin_commands() -> Iterator[Command]:
    """Those of other packages, in order of name, none imported: whether one can be used shows when
    it is."""
    for name, entries in FUNCTIONS.others.items():
        packages = ", ".join(entry.distribution for entry in entries)
        yield Command(name, _summary(entries[0]), entries[0].reference, packages)


# ---------------------------------------------------------------- summaries of other packages


def _summary(entry: Entry) -> str:
    """The first sentence of the function's docstring, read from its source because importing it
    may take seconds or fail; where that cannot be had, the summary of its distribution."""
    module, _, function = entry.reference.partition(":")
    return first_sentence(_documented(module, function) or _described(entry.distribution))


def _described(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, metadata

    try:
        told = metadata(package).json.get("summary", "")
    except PackageNotFoundError:
        told = ""
    return str(told) or f"From the package {package}."


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
