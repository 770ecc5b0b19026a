"""A static schedule: when each task runs where, and when each message is on which link."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True, kw_only=True)
class TaskSlot:
    """A task on its processor, from its start (EST) to its finish (AFT)."""

    task: str
    processor: str
    start: Fraction
    finish: Fraction


@dataclass(frozen=True, kw_only=True)
class LinkSlot:
    """A message on one link, from LST to LFT."""

    link: str
    start: Fraction
    finish: Fraction


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message between tasks on different processors, link by link in route order."""

    sender: str
    receiver: str
    links: tuple[LinkSlot, ...]

    @property
    def route(self) -> tuple[str, ...]:
        return tuple(slot.link for slot in self.links)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Tasks and messages in the order in which they were scheduled.

    ``contention`` says whether links carry one message at a time. Times are exact fractions in
    the graph's unit."""

    tasks: tuple[TaskSlot, ...]
    messages: tuple[Message, ...]
    contention: bool = True

    @cached_property
    def makespan(self) -> Fraction:
        """The finish of the last task."""
        return max((slot.finish for slot in self.tasks), default=Fraction(0))

    @cached_property
    def of_task(self) -> dict[str, TaskSlot]:
        return {slot.task: slot for slot in self.tasks}

    @property
    def placement(self) -> dict[str, str]:
        """task -> processor"""
        return {slot.task: slot.processor for slot in self.tasks}

    def on_processor(self, name: str) -> tuple[TaskSlot, ...]:
        """What runs on a processor, in time order."""
        slots = [slot for slot in self.tasks if slot.processor == name]
        return tuple(sorted(slots, key=lambda slot: (slot.start, slot.finish)))

    def on_link(self, name: str) -> tuple[tuple[Message, LinkSlot], ...]:
        """What a link carries, in time order."""
        found = [(m, slot) for m in self.messages for slot in m.links if slot.link == name]
        return tuple(sorted(found, key=lambda pair: (pair[1].start, pair[1].finish)))
