"""A small simulation of a plan, independent of the compiler's analysis and of the engine.

Nodes run operator by operator, the earliest absolute deadline first, never interrupted inside one;
buses send frame by frame, the most urgent stream first. It knows maps, filters, unions and
gathering operators: enough to look for runs that break a promise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random

from headway.model.graph import Graph, graph_of
from headway.model.operators import Fusion, Gather, Operator, UserDefined
from headway.model.plan import Crossing, Hop, Plan, Task
from headway.model.query import Source
from headway.model.routes import architecture_of
from headway.model.vehicle import Node, frame_times


@dataclass
class Job:
    """A train on its way; ``items`` are the timestamps that its next operator takes."""

    deadline: int
    order: int
    task: Task
    timestamp: int
    items: int
    position: int = 0


@dataclass
class Processor:
    node: Node
    ready: list[Job] = field(default_factory=list)
    busy: bool = False
    last: Job | None = None


@dataclass
class Medium:
    queue: list[tuple[int, int, list[int], Callable[[], None]]] = field(default_factory=list)
    busy: bool = False


class Simulation:
    """``latencies`` holds the longest seen by output."""

    def __init__(self, plan: Plan, random: Random) -> None:
        self.plan, self.random = plan, random
        self.graph: Graph = graph_of(plan.query)
        self.now = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.counter = 0
        self.processors = {node.name: Processor(node) for node in plan.vehicle.nodes}
        self.media_of = architecture_of(plan.vehicle).media
        self.media = {name: Medium() for name in self.media_of}
        self.gathered: dict[str, dict[str, list[int]]] = {}
        self.rounds: dict[str, int] = {}
        self.latencies: dict[str, int] = {}
        self.entered: dict[tuple[str, str], list[Task]] = {}
        for task in plan.tasks:
            for stream in task.entries:
                self.entered.setdefault((stream, task.node), []).append(task)
        self.crossings: dict[str, list[Crossing]] = {}
        for crossing in plan.crossings:
            self.crossings.setdefault(crossing.stream, []).append(crossing)
        self.place = dict(plan.placement)

    def at(self, time: int, action: Callable[[], None]) -> None:
        self.counter += 1
        heappush(self.events, (time, self.counter, action))

    def run(self, until: int) -> None:
        for source in self.graph.sources.values():
            self.feed(source, until)
        while self.events:
            self.now, _, action = heappop(self.events)
            action()

    # ------------------------------------------------------------ sources

    def feed(self, source: Source, until: int) -> None:
        """Bursts a period or more apart, each tuple displaced within the jitter, sensed earlier."""
        rate, random = source.rate, self.random
        assert rate is not None
        burst = random.choice([0, random.randrange(rate.period)])
        tight = random.random() < 0.7
        while burst < until:
            for _ in range(rate.count):
                time = burst + self.extreme(rate.jitter)
                stamp = time - self.extreme(source.delay)
                self.at(time, lambda s=stamp: self.emit(source.name, s))  # type: ignore[misc]
            burst += rate.period + (0 if tight else random.randrange(rate.period))

    def extreme(self, most: int) -> int:
        return self.random.choice([0, most, self.random.randint(0, most)])

    # ------------------------------------------------------------ streams

    def emit(self, stream: str, timestamp: int) -> None:
        for output in self.graph.outputs_of[stream]:
            seen = self.now - timestamp
            self.latencies[output] = max(self.latencies.get(output, 0), seen)
        self.deliver(stream, self.place[stream], timestamp)
        crossings = self.crossings.get(stream, [])
        self.forward([(c, c.hops) for c in crossings], timestamp)

    def deliver(self, stream: str, node: str, timestamp: int) -> None:
        for task in self.entered.get((stream, node), []):
            head = self.graph.operators[task.operators[0]]
            if head.timeout is None:
                self.release(task, timestamp, 1)
            else:
                self.gather(task, head, stream, timestamp)

    def forward(self, routes: list[tuple[Crossing, tuple[Hop, ...]]], timestamp: int) -> None:
        """Sends along all routes; what they share at their beginning is sent once."""
        by_hop: dict[str, list[tuple[Crossing, tuple[Hop, ...]]]] = {}
        for crossing, hops in routes:
            if hops:
                by_hop.setdefault(hops[0].name, []).append((crossing, hops))
            else:
                self.deliver(crossing.stream, crossing.receiver, timestamp)
        for name, group in by_hop.items():
            further = [(crossing, hops[1:]) for crossing, hops in group]

            def done(further: list[tuple[Crossing, tuple[Hop, ...]]] = further) -> None:
                self.forward(further, timestamp)

            crossing, hops = group[0]
            if name in self.media:
                frames = list(frame_times(crossing.size_bytes, self.media_of[name]))
                self.counter += 1
                entry = (crossing.priority, self.counter, frames, done)
                heappush(self.media[name].queue, entry)
                self.send(name)
            else:
                self.at(self.now + self.extreme(hops[0].delay), done)

    def send(self, name: str) -> None:
        medium = self.media[name]
        if medium.busy or not medium.queue:
            return
        medium.busy = True
        _, _, frames, done = medium.queue[0]
        frame = frames.pop(0)
        first = medium.queue[0]
        if not frames:
            heappop(medium.queue)

        def finished() -> None:
            medium.busy = False
            if not first[2]:
                done()
            self.send(name)

        self.at(self.now + frame, finished)

    # ------------------------------------------------------------ waiting

    def gather(self, task: Task, head: Operator, stream: str, timestamp: int) -> None:
        waiting = self.gathered.setdefault(head.name, {})
        first = not waiting
        waiting.setdefault(stream, []).append(timestamp)
        assert isinstance(head, UserDefined | Fusion)
        if head.gather is Gather.ALL and set(waiting) == set(head.streams):
            self.collect(task, head)
        elif first:
            number = self.rounds.get(head.name, 0)
            assert head.timeout is not None
            self.at(self.now + head.timeout, lambda: self.expire(task, head, number))

    def expire(self, task: Task, head: Operator, number: int) -> None:
        if self.rounds.get(head.name, 0) == number and self.gathered.get(head.name):
            self.collect(task, head)

    def collect(self, task: Task, head: Operator) -> None:
        tuples = [t for stamps in self.gathered.pop(head.name).values() for t in stamps]
        self.rounds[head.name] = self.rounds.get(head.name, 0) + 1
        self.release(task, min(tuples), len(tuples))

    # ------------------------------------------------------------ processors

    def release(self, task: Task, timestamp: int, items: int) -> None:
        self.counter += 1
        deadline = timestamp + task.relative_deadline
        job = Job(deadline, self.counter, task, timestamp, items)
        self.processors[task.node].ready.append(job)
        # After everything else at this instant, so that simultaneous jobs compete.
        self.at(self.now, lambda: self.dispatch(self.processors[task.node]))

    def dispatch(self, processor: Processor) -> None:
        if processor.busy or not processor.ready:
            return
        job = min(processor.ready, key=lambda j: (j.deadline, j.order))
        node = processor.node
        time = node.decision_cost
        if processor.last is not None and processor.last is not job:
            time += node.preemption_cost
        operator = self.graph.operators[job.task.operators[job.position]]
        assert operator.cost is not None
        cost = operator.cost.of(job.items, node.speed)
        time += cost if self.random.random() < 0.8 else self.random.randint(0, cost)
        processor.busy = True
        self.at(self.now + time, lambda: self.complete(processor, job, operator))

    def complete(self, processor: Processor, job: Job, operator: Operator) -> None:
        processor.busy = False
        job.position += 1
        job.items = 1
        dropped = operator.kind == "filter" and self.random.random() < 0.1
        if dropped or job.position == len(job.task.operators):
            processor.ready.remove(job)
            processor.last = None
            if not dropped:
                self.emit(operator.name, job.timestamp)
        else:
            processor.last = job
        self.at(self.now, lambda: self.dispatch(processor))
