"""From an Amalthea model to a query and a vehicle: the timing of its tasks and of the data between
them.

A core becomes a node, of its own kind; a task an operator on its core whose cost lies between the
least and the greatest need of its runnables at the core's frequency. A periodic task that reads
labels of other tasks samples them (:class:`headway.model.operators.Sample`); one that reads none is
fed by a source of its period, whose tuples are its activations, so what it senses is as old as
they are. A task that another activates follows it tuple by tuple. Labels give the ways of data, not
values. The shared memory is a bus without contention.

A query has no cycles: of the reads that would close one, those of no event chain go first, and each
is told. So is every element of the model that found no use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from itertools import pairwise
from pathlib import Path, PurePath

from headway.files.amalthea_model import (
    AmaltheaModel,
    EventChainModel,
    Stimulus,
    TaskModel,
    model_of,
)
from headway.files.amalthea_tree import Element, read_tree
from headway.model.expression import Column, Sql
from headway.model.operators import ONLY_PORT, Input, Map, Operator, Sample
from headway.model.quantities import MICROSECOND, SECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.schema import Schema, schema
from headway.model.vehicle import Bus, BusKind, Node, Vehicle

MEMORY = "memory"
MEMORY_BIT_RATE = 100 * 10**9
NUMBER = "n"
LABELS = schema({NUMBER: "bigint"})
READS, DUE = "_reads", "_due"
"""what a task reads, and what a task without reads is fed by"""


@dataclass(frozen=True, kw_only=True)
class ImportedModel:
    """What came of a model. ``left_out``: sentences; ``unused``: (what, how often, the first
    line)."""

    query: Query
    vehicle: Vehicle
    offsets: tuple[tuple[str, int], ...]
    """source -> its first activation (ns)"""
    taken: tuple[tuple[str, int], ...]
    left_out: tuple[str, ...]
    unused: tuple[tuple[str, int, int], ...]


def import_model(path: Path) -> ImportedModel:
    """The query and vehicle of a model; FileError where it cannot be read."""
    root = read_tree(path)
    model = model_of(root, str(path))
    return _Import(model, PurePath(path).stem).result(root)


Edge = tuple[str, str]
"""(writing task, reading task)"""


@dataclass
class _Import:
    model: AmaltheaModel
    title: str
    left_out: list[str] = field(default_factory=list)
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)
    _offsets: dict[str, int] = field(default_factory=dict)

    def result(self, root: Element) -> ImportedModel:
        model = self.model
        self.left_out += dict.fromkeys(model.remarks)
        tasks = {name: task for name, task in model.tasks.items() if self._runs(task)}
        edges = self._edges(tasks)
        order = _ordered(tasks, edges)
        query = self._query(tasks, edges, order)
        used_cores = [model.cores[name] for name in model.cores]
        nodes = tuple(Node(name=self.named("core", c.name), core_kind=self.named("kind", c.kind))
                      for c in used_cores)  # fmt: skip
        names = tuple(node.name for node in nodes)
        memory = Bus(name=MEMORY, kind=BusKind.ETHERNET, bit_rate=MEMORY_BIT_RATE, nodes=names)
        placed = {self.named("task", task.name): self._core(task) for task in tasks.values()}
        vehicle = Vehicle(
            name="imported",
            nodes=nodes,
            buses=(memory,) if len(nodes) > 1 else (),
            sensors=tuple(
                (source.name, placed[source.name.removesuffix(DUE)]) for source in query.sources
            ),
            pins=tuple((one.name, placed[one.name.removesuffix(READS)]) for one in query.operators),
        )
        taken = (
            ("cores", len(model.cores)),
            ("tasks", len(tasks)),
            ("runnables", len(model.runnables)),
            ("labels", model.labels),
            ("ways of data between tasks", len(edges)),
            ("event chains", sum(one.through != () for one in query.outputs)),
        )
        return ImportedModel(
            query=query,
            vehicle=vehicle,
            offsets=tuple(self._offsets.items()),
            taken=taken,
            left_out=tuple(self.left_out),
            unused=tuple(_unused(root)),
        )

    # ------------------------------------------------------------ names

    def named(self, what: str, name: str) -> str:
        """A name that Headway takes, the same for the same thing and no other."""
        known = self._names.get((what, name))
        if known is not None:
            return known
        plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)[:48]
        if not plain or plain[0].isdigit():
            plain = f"{what}_{plain}"
        found, number = plain, 1
        while f"{what} {found}" in self._used:
            number += 1
            found = f"{plain}_{number}"
        self._used.add(f"{what} {found}")
        self._names[what, name] = found
        return found

    # ------------------------------------------------------------ tasks

    def _stimulus(self, task: TaskModel) -> Stimulus | None:
        return next(
            (self.model.stimuli[name] for name in task.stimuli if name in self.model.stimuli), None
        )

    def _runs(self, task: TaskModel) -> bool:
        stimulus = self._stimulus(task)
        if stimulus is None:
            self.left_out.append(f"task {task.name} has no stimulus that says how often it runs")
            return False
        if len(task.stimuli) > 1:
            self.left_out.append(f"task {task.name} has several stimuli: {stimulus.name} counts")
        if stimulus.by_task and not self._activators(task):
            self.left_out.append(f"task {task.name}: no task gives its stimulus {stimulus.name}")
            return False
        if not task.core:
            self.left_out.append(f"task {task.name} is on no core: put on the first")
        for name in task.calls:
            if name not in self.model.runnables:
                self.left_out.append(
                    f"task {task.name} calls {name}, which the model does not have"
                )
        return True

    def _activators(self, task: TaskModel) -> list[str]:
        return [
            other.name
            for other in self.model.tasks.values()
            if other is not task and set(other.triggers) & set(task.stimuli)
        ]

    def _core(self, task: TaskModel) -> str:
        return self.named("core", task.core or next(iter(self.model.cores)))

    def _cost(self, task: TaskModel) -> Cost:
        core = self.model.cores[task.core or next(iter(self.model.cores))]
        best = worst = Decimal(0)
        for name in task.calls:
            runnable = self.model.runnables.get(name)
            if runnable is None:
                continue
            need = runnable.needs.get(core.kind) or runnable.needs.get("")
            if need is not None:
                best, worst = best + need.best, worst + need.worst
            elif runnable.needs:
                self.left_out.append(
                    f"runnable {name} has no execution need on {core.kind}, where {task.name} runs"
                )
        cycle = SECOND / (core.hertz * core.per_cycle)
        most = int((worst * cycle).to_integral_value(ROUND_CEILING))
        least = int((best * cycle).to_integral_value(ROUND_FLOOR))
        return Cost(most) if least >= most else Cost(most, best=least)

    # ------------------------------------------------------------ ways of data

    def _edges(self, tasks: dict[str, TaskModel]) -> dict[Edge, None]:
        """The ways that stay: activations, then those of event chains, then the others."""
        writers: dict[str, list[str]] = {}
        for task in tasks.values():
            for name in task.calls:
                for label in self._labels(name, written=True):
                    writers.setdefault(label, []).append(task.name)
        wanted: dict[Edge, dict[str, None]] = {}
        for task in tasks.values():
            for name in task.calls:
                for label in self._labels(name, written=False):
                    for writer in writers.get(label, ()):
                        if writer != task.name:
                            wanted.setdefault((writer, task.name), {})[label] = None
        kept: dict[Edge, None] = {}
        for task in tasks.values():
            stimulus = self._stimulus(task)
            if stimulus is not None and stimulus.by_task:
                for writer in self._activators(task):
                    if writer in tasks:
                        self._keep((writer, task.name), kept, "the activation")
        on_chains = {edge for chain in self.model.chains for edge in _steps(self._tasks_of(chain))}
        for edge in sorted(wanted, key=lambda one: one not in on_chains):
            stimulus = self._stimulus(tasks[edge[1]])
            if edge in kept:
                continue
            if stimulus is None or stimulus.period is None:
                self.left_out.append(
                    f"{edge[1]} reads {_some(wanted[edge])} of {edge[0]} when an event comes, not "
                    "by a clock"
                )
                continue
            self._keep(edge, kept, f"the read of {_some(wanted[edge])}")
        return kept

    def _labels(self, runnable: str, *, written: bool) -> Iterable[str]:
        found = self.model.runnables.get(runnable)
        return () if found is None else found.writes if written else found.reads

    def _keep(self, edge: Edge, kept: dict[Edge, None], what: str) -> None:
        writer, reader = edge
        if _reaches(reader, writer, kept):
            self.left_out.append(f"{what} from {writer} to {reader} would close a cycle")
        else:
            kept[edge] = None

    def _tasks_of(self, chain: EventChainModel) -> list[str]:
        """The tasks that a chain goes through, each once in a row."""
        found: list[str] = []
        for kind, entity in chain.events:
            if kind == "LabelEvent":
                continue
            names = [entity] if entity in self.model.tasks else [
                task.name for task in self.model.tasks.values() if entity in task.calls
            ]  # fmt: skip
            if names and (not found or found[-1] not in names):
                found.append(names[0])
        return found

    # ------------------------------------------------------------ the query

    def _query(
        self, tasks: dict[str, TaskModel], edges: dict[Edge, None], order: list[str]
    ) -> Query:
        sources: list[Source] = []
        steps: list[Operator] = []
        due: dict[str, int] = {}
        """how old what a task makes may be when it ends in its period"""
        for name in order:
            task = tasks[name]
            stimulus = self._stimulus(task)
            assert stimulus is not None
            writers = [writer for writer, reader in edges if reader == name]
            made = self._task(task, stimulus, writers, tasks, sources)
            steps += made
            held = next((one.clock.hold for one in made if one.clock is not None), 0)
            apart = stimulus.period or stimulus.least or self._apart(tasks[writers[0]], tasks)
            before = max((due[writer] for writer in writers), default=0)
            due[name] = before + held + (task.deadline or apart)
        outputs = [
            Output(
                name=self.named("task", name), stream=self.named("task", name), deadline=due[name]
            )
            for name in order
        ]
        outputs += self._chain_outputs(tasks, edges, due)
        return Query(
            name=self.named("query", self.title),
            sources=tuple(sources),
            steps=tuple(steps),
            outputs=tuple(outputs),
        )

    def _apart(self, task: TaskModel, tasks: dict[str, TaskModel]) -> int:
        """The least time between two activations."""
        stimulus = self._stimulus(task)
        assert stimulus is not None
        if stimulus.by_task:
            return min(self._apart(tasks[n], tasks) for n in self._activators(task) if n in tasks)
        return stimulus.period or stimulus.least or 1

    def _task(
        self,
        task: TaskModel,
        stimulus: Stimulus,
        writers: list[str],
        tasks: dict[str, TaskModel],
        sources: list[Source],
    ) -> list[Operator]:
        name, cost = self.named("task", task.name), self._cost(task)
        streams = [self.named("task", writer) for writer in writers]
        value = NUMBER
        made: list[Operator] = []
        if not writers:
            fed = f"{name}{DUE}"
            sources.append(_source(fed, stimulus))
            self._offsets[fed] = stimulus.offset
        elif stimulus.by_task:
            fed = streams[0]
            for other in writers[1:]:
                self.left_out.append(
                    f"{task.name} is activated by {other} too: only the first counts"
                )
        else:
            fed = f"{name}{READS}"
            assert stimulus.period is not None
            several = len(streams) > 1
            ports = streams if several else [ONLY_PORT]
            value = (
                f"coalesce({', '.join(f'{port}_{NUMBER}' for port in ports)})" if several else value
            )
            # A writer ends within its period: two of its results are less than two apart.
            # The read of one that is slower than this task must not miss it either.
            least = stimulus.period + stimulus.jitter
            holds = [max(2 * self._apart(tasks[writer], tasks), least) for writer in writers]
            made.append(
                Sample(
                    name=fed,
                    inputs=tuple(Input(p, s) for p, s in zip(ports, streams, strict=True)),
                    every=stimulus.period,
                    offset=stimulus.offset,
                    jitter=min(stimulus.jitter, stimulus.period - 1),
                    hold=None if several else holds[0],
                    holds=tuple(zip(ports, holds, strict=True)) if several else (),
                    cost=Cost(0),
                )
            )
        columns = (Column(NUMBER, Sql(value)),)
        made.append(Map(name=name, inputs=(Input(ONLY_PORT, fed),), columns=columns, cost=cost))
        return made

    def _chain_outputs(
        self, tasks: dict[str, TaskModel], edges: dict[Edge, None], due: dict[str, int]
    ) -> Iterator[Output]:
        for chain in self.model.chains:
            way = self._tasks_of(chain)
            missing = [f"{a} to {b}" for a, b in _steps(way) if (a, b) not in edges]
            if len(set(way)) < len(way):
                self.left_out.append(f"event chain {chain.name} passes a task twice")
            elif not way or any(name not in tasks for name in way):
                self.left_out.append(f"event chain {chain.name} names no runnable of a task taken")
            elif missing:
                self.left_out.append(
                    f"event chain {chain.name}: no data goes from {', '.join(missing)}"
                )
            else:
                last = self.named("task", way[-1])
                yield Output(
                    name=self.named("task", f"chain_{chain.name}"),
                    stream=last,
                    deadline=due[way[-1]],
                    age=chain.age,
                    reaction=chain.reaction,
                    through=tuple(self._through(way, tasks, {reader for _, reader in edges})),
                )

    def _through(
        self, way: list[str], tasks: dict[str, TaskModel], reading: set[str]
    ) -> Iterator[str]:
        """The streams of a chain: what its tasks read by a clock, and what they make. One whose
        first task reads others begins at that task's instants."""
        for place, name in enumerate(way):
            stimulus = self._stimulus(tasks[name])
            if (place or name in reading) and stimulus is not None and not stimulus.by_task:
                yield f"{self.named('task', name)}{READS}"
            yield self.named("task", name)


def _source(name: str, stimulus: Stimulus) -> Source:
    apart = stimulus.period or stimulus.least or 1
    most = stimulus.period or stimulus.most
    return Source(
        name=name,
        schema=Schema(LABELS.fields),
        rate=Rate(1, apart, stimulus.jitter),
        gap=None if most is None else most + stimulus.jitter,
    )


# ---------------------------------------------------------------- ways


def _steps(way: list[str]) -> list[Edge]:
    return list(pairwise(way))


def _reaches(start: str, end: str, edges: Iterable[Edge]) -> bool:
    after: dict[str, list[str]] = {}
    for writer, reader in edges:
        after.setdefault(writer, []).append(reader)
    seen, pending = {start}, [start]
    while pending:
        here = pending.pop()
        if here == end:
            return True
        new = [one for one in after.get(here, ()) if one not in seen]
        seen.update(new)
        pending += new
    return False


def _ordered(tasks: Iterable[str], edges: Iterable[Edge]) -> list[str]:
    """Writers before readers, otherwise as in the model."""
    known = list(edges)
    waiting = list(tasks)
    found: dict[str, None] = {}
    while waiting:
        ready = next(
            one for one in waiting if all(w in found for w, reader in known if reader == one)
        )
        found[ready] = None
        waiting.remove(ready)
    return list(found)


def _some(labels: Iterable[str]) -> str:
    labels = list(labels)
    first = ", ".join(labels[:2])
    return first if len(labels) <= 2 else f"{first} and {len(labels) - 2} more labels"


# ---------------------------------------------------------------- what is left


def _unused(root: Element) -> Iterator[tuple[str, int, int]]:
    """The elements that nothing was made of, the outermost of each, by what they are."""
    counts: Counter[str] = Counter()
    lines: dict[str, int] = {}
    pending = [root]
    while pending:
        one = pending.pop()
        if not one.taken:
            what = f"{one.tag} ({one.type})" if one.type else one.tag
            counts[what] += 1
            lines[what] = min(lines.get(what, one.line), one.line)
        else:
            pending += one.children
    for what in sorted(counts):
        yield what, counts[what], lines[what]


def activations(imported: ImportedModel, seconds: Decimal) -> Iterator[tuple[str, list[int]]]:
    """(source, the times in microseconds at which its task is activated in so many seconds)"""
    until = int(seconds * SECOND)
    offsets = dict(imported.offsets)
    for source in imported.query.sources:
        assert source.rate is not None
        times = range(offsets[source.name], until, source.rate.period)
        yield source.name, [-(-time // MICROSECOND) for time in times]
