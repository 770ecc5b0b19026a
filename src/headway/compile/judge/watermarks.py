"""How far a stream's watermark can lie behind the present: windows close no sooner than it passes.

A source's watermark follows its newest tuple, less its lateness, so silence holds it back. Jobs
and messages under way hold back what comes after them, each by its age. A join's results can be
older than its inputs, an aggregate's as old as its window, and tuples that wait for a timeout hold
it back too.
"""

from __future__ import annotations

from typing import Protocol

from headway.compile.compilation import Compilation
from headway.compile.judge.bounds import most, plus
from headway.compile.load import gathers
from headway.model.operators import Aggregate, Join
from headway.model.plan import Task
from headway.model.query import Decide, Source


class Latencies(Protocol):
    """What this module needs of the analysis."""

    @property
    def compilation(self) -> Compilation: ...
    @property
    def latency(self) -> dict[str, int | None]: ...
    @property
    def accepted(self) -> dict[str, int | None]: ...
    def age_at(self, stream: str, node: str) -> int | None: ...
    def input_age(self, task: Task) -> int | None: ...


def source_lag(source: Source) -> int | None:
    """None without a promised gap, or when a load shedder may let none of its tuples pass.

    A shedder that decides at its window's end lets at least one tuple of each window pass, perhaps
    the oldest: only the first window that begins later is sure to bring a newer one, at its end.
    """
    lag = plus(source.delay + source.lateness, source.gap)
    if source.shedder is None:
        return lag
    return plus(lag, 2 * source.shedder.per) if source.shedder.decide is Decide.WINDOW_END else None


def why_no_lag(source: Source) -> str:
    """What to say of a source without one."""
    if source.gap is None:
        return "declare 'gap', the longest silence, on its sources"
    return f"the load shedder of {source.name} may let none pass; decide at the window's end"


class Lags:
    """Lags of all streams, for the latencies of one moment of the analysis."""

    def __init__(self, latencies: Latencies) -> None:
        self._latencies = latencies
        self._graph = latencies.compilation.graph
        self._left: dict[str, int | None] = {}
        self._tasks_with: dict[str, list[Task]] = {}
        for task in latencies.compilation.tasks:
            for name in task.operators:
                self._tasks_with.setdefault(name, []).append(task)
        self._receivers: dict[str, list[str]] = {}
        for crossing in latencies.compilation.crossings:
            self._receivers.setdefault(crossing.stream, []).append(crossing.receiver)

    def into(self, operator: str) -> int | None:
        """Where the operator reads its streams, its own jobs left out."""
        found: list[int | None] = []
        for stream in self._graph.operators[operator].streams:
            found.append(self._behind(stream))
            nodes = self._receivers.get(stream, [])
            found += [self._latencies.age_at(stream, node) for node in nodes]
        return most(found)

    def _behind(self, stream: str) -> int | None:
        if stream not in self._left:
            source = self._graph.sources.get(stream)
            self._left[stream] = source_lag(source) if source else self._behind_operator(stream)
        return self._left[stream]

    def _behind_operator(self, name: str) -> int | None:
        operator, tasks = self._graph.operators[name], self._tasks_with[name]
        jobs = [self._latencies.latency[task.name] for task in tasks]
        lag = most([self.into(name), *jobs])
        if isinstance(operator, Aggregate):
            return plus(lag, operator.window)
        if isinstance(operator, Join):
            lag = plus(lag, operator.within)
            if operator.timeout is None:
                return lag
            accepted = [self._latencies.accepted[task.name] for task in tasks]
            return most([lag, plus(most(accepted), operator.timeout)])
        if gathers(operator):
            ages = [self._latencies.input_age(task) for task in tasks if task.operators[0] == name]
            return most([lag, plus(most(ages), operator.timeout)])
        return lag
