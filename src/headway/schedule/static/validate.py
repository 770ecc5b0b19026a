"""An independent check of static schedules.

It shares no code with the timing core: it reads graph, network and schedule only, recomputes every
duration from them, and says everything that is wrong. It does not ask whether a schedule is good,
nor whether anything starts as early as it could."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise

from headway.model.quantities import Number, exact
from headway.model.static_network import Message, ProcessorNetwork, Schedule, Switching, TaskSlot
from headway.model.taskgraph import Edge, TaskGraph


def violations(
    graph: TaskGraph,
    network: ProcessorNetwork,
    schedule: Schedule,
    *,
    whole_link_times: bool = False,
    longer: Mapping[str, Number] | None = None,
) -> tuple[str, ...]:
    """What is wrong with a schedule; empty if nothing is.

    ``longer`` gives tasks that run longer than their computation time (optional parts)."""
    check = _Check(graph, network, schedule, whole_link_times, longer or {})
    found = list(check.tasks())
    if found:
        return tuple(found)  # what follows needs every task to be there once
    return (*check.processors(), *check.edges(), *check.links())


class _Check:
    def __init__(
        self,
        graph: TaskGraph,
        network: ProcessorNetwork,
        schedule: Schedule,
        whole_link_times: bool,
        longer: Mapping[str, Number],
    ) -> None:
        self.graph, self.network, self.schedule = graph, network, schedule
        self.whole, self.longer = whole_link_times, longer
        self.rates = {processor.name: processor.rate for processor in network.processors}
        self.slots = {slot.task: slot for slot in schedule.tasks}

    def tasks(self) -> Iterator[str]:
        """Every task once, where it may run, for as long as it takes there."""
        wanted = {task.name: task for task in self.graph.tasks}
        seen: set[str] = set()
        for slot in self.schedule.tasks:
            name = slot.task
            if name not in wanted:
                yield f"{name}: not a task of the graph"
                continue
            if name in seen:
                yield f"{name}: scheduled twice"
            seen.add(name)
            task = wanted[name]
            if slot.processor not in self.rates:
                yield f"{name}: on unknown processor {slot.processor}"
                continue
            if task.processors and slot.processor not in task.processors:
                yield f"{name}: may not run on {slot.processor}"
                continue
            if slot.start < 0 or slot.start < exact(task.release):
                yield f"{name}: starts at {slot.start}, before it is released"
            duration = self._computation(name, slot.processor) + exact(self.longer.get(name, 0))
            if slot.finish - slot.start != duration:
                yield f"{name}: runs for {slot.finish - slot.start} instead of {duration}"
        for name in wanted.keys() - seen:
            yield f"{name}: not scheduled"

    def processors(self) -> Iterator[str]:
        """One task at a time."""
        for name in self.rates:
            slots = [slot for slot in self.schedule.tasks if slot.processor == name]
            slots.sort(key=lambda slot: (slot.start, slot.finish))
            for one, other in pairwise(slots):
                if other.start < one.finish:
                    yield f"{name}: {one.task} and {other.task} at the same time"

    def edges(self) -> Iterator[str]:
        """Every message once, after its sender and before its receiver, timed by its links."""
        edges = {(edge.sender, edge.receiver): edge for edge in self.graph.edges}
        messages: dict[tuple[str, str], Message] = {}
        for message in self.schedule.messages:
            pair = message.sender, message.receiver
            if pair not in edges:
                yield f"{'->'.join(pair)}: a message without an edge"
            elif pair in messages:
                yield f"{'->'.join(pair)}: sent twice"
            messages[pair] = message
        for pair, edge in edges.items():
            name = "->".join(pair)
            sender, receiver = self.slots[edge.sender], self.slots[edge.receiver]
            sent = messages.get(pair)
            if sender.processor == receiver.processor:
                if sent is not None:
                    yield f"{name}: a message between tasks on one processor"
                if receiver.start < sender.finish:
                    yield f"{name}: {edge.receiver} starts before {edge.sender} has finished"
            elif sent is None or not sent.links:
                yield f"{name}: no message from {sender.processor} to {receiver.processor}"
            else:
                for problem in self._message(edge, sent, sender, receiver):
                    yield f"{name}: {problem}"

    def links(self) -> Iterator[str]:
        """One message at a time, if there is contention."""
        if not self.schedule.contention:
            return
        for link in self.network.links:
            slots = sorted(
                (slot.start, slot.finish, f"{message.sender}->{message.receiver}")
                for message in self.schedule.messages
                for slot in message.links
                if slot.link == link.name
            )
            for (_, until, one), (start, _, other) in pairwise(slots):
                if start < until:
                    yield f"{link.name}: {one} and {other} at the same time"

    def _message(
        self, edge: Edge, sent: Message, sender: TaskSlot, receiver: TaskSlot
    ) -> Iterator[str]:
        by_name = {link.name: link for link in self.network.links}
        unknown = [slot.link for slot in sent.links if slot.link not in by_name]
        if unknown:
            yield f"over unknown link {unknown[0]}"
            return
        held = self._held(sent.route, sender.processor, receiver.processor)
        if held is None:
            way = f"{sender.processor} to {receiver.processor}"
            yield f"{' '.join(sent.route)} is no route from {way}"
            return
        stored = self.network.switching is Switching.STORE_AND_FORWARD
        ready, over = sender.finish, Fraction(0)
        for slot, delay in zip(sent.links, held, strict=True):
            ready, over = ready + delay, over + delay
            if slot.start < ready:
                yield f"on {slot.link} from {slot.start}, possible only from {ready}"
            finish = max(over, slot.start + self._transfer(edge, slot.link, sender))
            if slot.finish != finish:
                yield f"on {slot.link} until {slot.finish} instead of {finish}"
            ready, over = (slot.finish if stored else slot.start), slot.finish
        if receiver.start < sent.links[-1].finish:
            yield f"arrives at {sent.links[-1].finish}, but {edge.receiver} starts before"

    def _held(self, route: tuple[str, ...], start: str, end: str) -> list[Fraction] | None:
        """How long the message is held before each link; None if the links do not lead there."""
        given = self.network.given_routes
        listed = [*given.get((start, end), ())]
        if (start, end) not in given:
            listed = [way[::-1] for way in given.get((end, start), ())]
        if listed and route not in listed:
            return None
        delays = {switch.name: exact(switch.delay) for switch in self.network.switches}
        ends = {link.name: set(link.ends) for link in self.network.links}
        if start not in ends[route[0]] or end not in ends[route[-1]] or len({*route}) < len(route):
            return None
        held = [Fraction(0)]
        for one, other in pairwise(route):
            between = ends[one] & ends[other] - {start, end}
            if not self.network.processors_forward:
                between -= self.rates.keys()
            if not between:
                return None
            held.append(min(delays.get(vertex, Fraction(0)) for vertex in between))
        return held

    def _computation(self, task: str, processor: str) -> Fraction:
        found = next(found for found in self.graph.tasks if found.name == task)
        if processor in found.times:
            return exact(found.times[processor])
        return exact(found.work or 0) / exact(self.rates[processor])

    def _transfer(self, edge: Edge, link: str, sender: TaskSlot) -> Fraction:
        speed = next(found.speed for found in self.network.links if found.name == link)
        if link in edge.times:
            time = exact(edge.times[link])
        elif edge.ccr is not None:
            volume = exact(edge.ccr) * self._computation(edge.sender, sender.processor)
            time = volume / exact(speed)
        else:
            time = exact(edge.volume or 0) / exact(speed)
        return Fraction(time.numerator // time.denominator) if self.whole else time
