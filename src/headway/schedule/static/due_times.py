"""When the tasks of a graph are due, how late a schedule has them, and which schedule is better."""

from __future__ import annotations

from dataclasses import dataclass

from headway.model.quantities import exact
from headway.model.static_network import Schedule
from headway.schedule.static.instance import Instance


def due_times(instance: Instance) -> tuple[int | None, ...]:
    """Of every task, in ticks: its own deadline; where no task has one, the graph's period for all
    exits."""
    graph = instance.graph
    own = [None if t.deadline is None else instance.ticks(exact(t.deadline)) for t in graph.tasks]
    if graph.period is None or any(due is not None for due in own):
        return tuple(own)
    period = instance.ticks(exact(graph.period))
    return tuple(None if found else period for found in instance.successors)


@dataclass(frozen=True, order=True)
class Merit:
    """Less is better: first few late tasks, then little lateness of the latest, then a short
    schedule (times in ticks)."""

    late: int
    lateness: int
    makespan: int

    @property
    def in_time(self) -> tuple[int, int]:
        """Without how late the latest is, which the exact search does not weigh."""
        return self.late, self.makespan


def merit(instance: Instance, schedule: Schedule) -> Merit:
    """How good a schedule is."""
    late = []
    for name, due in zip(instance.tasks, due_times(instance), strict=True):
        if due is not None:
            late.append(instance.ticks(schedule.of_task[name].finish) - due)
    return Merit(
        late=sum(time > 0 for time in late),
        lateness=max([0, *late]),
        makespan=instance.ticks(schedule.makespan),
    )
