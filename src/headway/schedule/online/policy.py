"""What a run-time scheduling policy is: a unit of scheduling and an order of ready jobs.

A *unit* is what is scheduled as one: a train of operators or a single operator. A job is a unit
with a tuple. The kernel always runs the ready job with the least key; equal keys go in order of
release. A preemptive policy is asked again after every operator, others only when a job has
ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

Key = Any
"""An int or a tuple of ints; smaller goes first. All keys of one policy are alike."""

KeyFunction = Callable[[int, int], Key]
"""(timestamp in ns, arrival number of the tuple at its source) -> key"""


@dataclass(frozen=True, kw_only=True)
class UnitFacts:
    """What a policy may know of a unit, fixed when the query is registered."""

    deadline: int
    """relative deadline by EDF*, from the tuple's timestamp (ns)"""
    period: int | None
    """shortest declared period of the sources before it (ns); none where one declares no rate"""
    rank: int
    """place in the static order: topological, the branch to the shorter deadline first"""
    position: int
    """place in the plan's static schedule; the rank where the plan has none"""
    level: int
    """operators between the sources and this unit, on the longest way"""
    capacity: float
    """processing capacity: tuples per second of the fastest operator path through it, or through
    a unit before it"""


class Policy(ABC):
    """Subclass in a file of its own and register it in :mod:`headway.schedule.online`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    fuse: ClassVar[bool]
    """schedules trains (True) or single operators (False)"""
    preemptive: ClassVar[bool]

    @abstractmethod
    def key(self, unit: UnitFacts) -> KeyFunction:
        """How jobs of this unit are ordered among all ready jobs of the node."""
