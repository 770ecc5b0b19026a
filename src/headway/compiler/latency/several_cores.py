"""Bounds on nodes with several cores. Where each train has a core of its own (``partitioned``) the
cores are looked at one by one, like nodes: :func:`core_by_core`. Where they share one queue there
is a bound whatever the order in the queue.

Look at a job released at r that ends at f, and at t0, the last instant up to r at which not all m
cores were busy. No core idles while a job waits, so at t0 at most m - 1 jobs are under way, and
from t0 on all cores are busy except while the job itself runs, for C at most. What is done in
between is the rest of those m - 1 jobs and what was released from t0 on:

    m * (f - t0 - C) + C  <=  (m - 1) * longest job + work(f - t0)

This is Graham's argument ("Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17,
1969) in a window that begins when the cores are last not all busy, as Baruah has it ("Techniques
for multiprocessor global schedulability analysis", RTSS 2007). It asks only that the scheduler
conserves work, so operators that are not interrupted, and jobs that overtake each other, are no
matter. It does not hold where each train has a core of its own: a core may idle there while a job
waits for another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.compiler.compilation import Compilation
from headway.compiler.core_assignment import cores_of_trains
from headway.compiler.latency.demand import LONGEST, Demand, utilisation, work_in
from headway.model.vehicle import Node


def longest_stay(came: Sequence[Demand], jobs: Sequence[int], cores: int) -> list[int] | None:
    """For jobs of each of these lengths: the longest from release to end; None if endless.
    ``came``: the work that is released in an interval."""
    if utilisation(came) >= cores * (1.0 - 1e-12):
        return None
    under_way = (cores - 1) * max(jobs, default=0)
    found: list[int] = []
    for own in jobs:
        alone = own * (cores - 1)
        stay = max(own, 1)
        while True:
            longer = -(-(under_way + work_in(came, stay - 1) + alone) // cores)
            if longer <= stay:
                break
            stay = longer
            if stay > LONGEST:
                return None
        found.append(stay)
    return found


def core_by_core(compilation: Compilation) -> tuple[Compilation, list[Node], dict[str, str]]:
    """The compilation with the tasks of partitioned nodes on their cores; all nodes, one in place
    of each of these cores; and the node that each of them belongs to. A stream between two cores
    takes no time and passes no bus; one that comes from several of them stays at the node's own
    name, so it is nowhere at home."""
    nodes = list(compilation.vehicle.nodes)
    split = {n.name: n for n in compilation.vehicle.nodes if n.partitioned and n.cores > 1}
    if not split:
        return compilation, nodes, {}
    operators = compilation.graph.operators
    place: dict[str, str] = {}
    for node in split.values():
        tasks = [task for task in compilation.tasks if task.node == node.name]
        shared = [
            frozenset(name for name in task.operators if operators[name].traits.keeps_state)
            for task in tasks
        ]
        cores = cores_of_trains([task.cost for task in tasks], shared, node.cores)
        for task, core in zip(tasks, cores, strict=True):
            place[task.name] = f"{node.name}.{core}"
    tasks = [replace(task, node=place.get(task.name, task.node)) for task in compilation.tasks]
    homes = {f"{name}.{core}": name for name, node in split.items() for core in range(node.cores)}
    placement = dict(compilation.placement)
    for name in operators:
        made_on = {task.node for task in tasks if task.operators[-1] == name}
        if len(made_on) == 1:
            placement[name] = made_on.pop()
    crossings = []
    for crossing in compilation.crossings:
        readers = {
            task.node
            for task in tasks
            if crossing.stream in task.entries and homes.get(task.node) == crossing.receiver
        }
        receivers = sorted(readers) or [crossing.receiver]
        crossings += [replace(crossing, receiver=receiver) for receiver in receivers]
    single = [node for node in nodes if node.name not in split]
    single += [replace(split[home], name=core, cores=1) for core, home in homes.items()]
    changed = replace(
        compilation,
        tasks=tuple(tasks),
        placement=placement,
        crossings=tuple(crossings),
    )
    return changed, single, homes
