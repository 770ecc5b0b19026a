"""How long work that is under way can hold up what is more urgent."""

from __future__ import annotations

from dataclasses import dataclass

from headway.compiler.latency.tuple_ages import Ages
from headway.model.operators import Operator
from headway.model.plan import Task


@dataclass(slots=True)
class Sections(Ages):
    """Stretches without a preemption point, and what the end of one can release."""

    def _section(self, task: Task) -> int:
        """How long an operator under way can hold up more urgent work, its cascade included."""
        section = max(self._works[task.name, entry].section for entry in task.entries)
        section = max(section, self._gathered_section(task))
        section += self.batch
        return section + (self._cascades[task.name] if self.shift(task) else 0)

    def _gathered_section(self, task: Task) -> int:
        """The longest execution of a head that takes all that has come in its timeout."""
        head = self.compilation.graph.operators[task.operators[0]]
        if head.gathering is None or head.cost is None or head.cost.between_items:
            return 0
        node = self._nodes[task.node]
        items = self._most_items(task)
        return head.cost.of(items, node.speed) + node.decision_cost + node.preemption_cost

    def _most_items(self, task: Task) -> int:
        """What can come to a gathering head while its timer runs."""
        head = self.compilation.graph.operators[task.operators[0]]
        return sum(
            flow.count
            * self.curves[source].in_interval(
                (head.timeout or 0) + (self.at_after(stream, source, task.node) or 0)
            )
            for stream in task.entries
            for source, flow in self.flows[stream].items()
        )

    def longest_job(self, task: Task) -> int:
        """All that one job of the task can do."""
        works = [self._works[task.name, entry] for entry in task.entries]
        longest = max(max(work.per_tuple, work.result) for work in works)
        operators = [self.compilation.graph.operators[name] for name in task.operators]
        if operators[0].gathering is not None:
            longest = longest * self._most_items(task) + works[0].per_execution
        for join in operators:
            if join.partner_limit is not None:
                longest *= max(self._pairs_at_once(join, join.partner_limit[0]), 1)
        return longest

    def longest_piece(self, tasks: list[Task]) -> int:
        """Of the optional parts among these tasks of a node. One begins when nothing is pending,
        so it can hold up whatever comes next, however urgent either is; and no more than one."""
        operators = self.compilation.graph.operators
        return max(
            (
                part.piece_on(self._nodes[task.node].speed)
                for task in tasks
                for name in task.operators
                if (part := operators[name].optional_part) is not None
            ),
            default=0,
        )

    def _find_cascades(self) -> None:
        """Work on its node that one execution of a task's last operator can release at once, from
        the last tasks of the query to the first."""
        graph = self.compilation.graph
        for name in reversed(graph.order):
            for task in self.producers(name):
                last = graph.operators[name]
                outputs = max((last.most_results(stream) for stream in last.streams), default=1)
                if last.partner_limit is not None:
                    outputs = max(outputs, self._pairs_at_once(last, last.partner_limit[0]))
                following = [
                    (self._works[after.name, name], self._cascades[after.name])
                    for after in self._tasks_after.get((name, task.node), [])
                ]
                self._cascades[task.name] = outputs * sum(
                    work.per_tuple + work.per_execution + cascade for work, cascade in following
                )

    def _pairs_at_once(self, join: Operator, limited: str) -> int:
        """How many partners can be waiting for one tuple of the other side."""
        return sum(
            flow.count * self.curves[source].in_interval(2 * join.looks_back + flow.back)
            for port in join.inputs
            if port.port == limited
            for source, flow in self.flows[port.stream].items()
        )
