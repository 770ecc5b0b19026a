"""What a query means, computed the slow way: no units, no queues, no policies, no generated code.

Filters, maps, unions, doubling operators and inner joins over the streams of ``random_runs``: a
tuple is pushed through the graph as it arrives, and a join looks at everything it has ever seen.
Expressions are the few that the generator writes, as Python.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from headway.engine.jobs import Arrival
from headway.model.expression import Sql
from headway.model.graph import graph_of
from headway.model.operators import Filter, Join, Map, Operator, Union, UserDefined
from headway.model.query import Query
from headway.model.user_operator import Row

CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "v >= 0": lambda row: row[2] >= 0,
    "v >= 30": lambda row: row[2] >= 30,
    "k = 1": lambda row: row[1] == 1,
    "v < 1000": lambda row: row[2] < 1000,
}


class Reference:
    """``outputs`` by name as multisets; ``consumed`` and ``produced`` by operator."""

    def __init__(self, query: Query) -> None:
        self._graph = graph_of(query)
        self._seen: dict[tuple[str, str], list[Row]] = {}
        self._newest: dict[str, int] = {}
        self.outputs: dict[str, Counter[Row]] = {output.name: Counter() for output in query.outputs}
        self.consumed: Counter[str] = Counter()
        self.produced: Counter[str] = Counter()

    def run(self, arrivals: Sequence[Arrival]) -> Reference:
        for _, name, row in arrivals:
            newest: int = self._newest.setdefault(name, row[0])
            late = row[0] < newest - self._graph.sources[name].lateness // 1000
            self._newest[name] = max(newest, row[0])
            self._appear(name, row, late)
        return self

    def _appear(self, stream: str, row: Row, late: bool) -> None:
        self.produced[stream] += 1
        for output in self._graph.outputs_of[stream]:
            self.outputs[output][row] += 1
        for name in self._graph.consumers[stream]:
            operator = self._graph.operators[name]
            for port in operator.inputs:
                if port.stream == stream:
                    self.consumed[name] += 1
                    for result in self._results(operator, port.port, row, late):
                        self._appear(name, result, late)

    def _results(self, operator: Operator, port: str, row: Row, late: bool) -> list[Row]:
        if isinstance(operator, Filter):
            assert isinstance(operator.where, Sql)
            return [row] if CONDITIONS[operator.where.text](row) else []
        if isinstance(operator, Map):
            return [(row[0], row[1], row[2] + 1)]
        if isinstance(operator, Union):
            return [row]
        if isinstance(operator, UserDefined):
            return [row, row]
        assert isinstance(operator, Join)
        if late:
            return []
        other = "b" if port == "a" else "a"
        self._seen.setdefault((operator.name, port), []).append(row)
        results = []
        for partner in self._seen.get((operator.name, other), []):
            near = abs(partner[0] - row[0]) <= operator.within // 1000
            if near and (not operator.keys or partner[1] == row[1]):
                key = row[1] if port == "a" else partner[1]
                results.append((min(row[0], partner[0]), key, row[2] + partner[2]))
        return results
