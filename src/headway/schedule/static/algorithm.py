"""What a static scheduling algorithm is. A new one is a file here and a line in ``ALGORITHMS``; one
of another package is an entry point of the group ``headway.static_algorithms``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from headway.schedule.static.instance import Instance
from headway.schedule.static.options import AlphaChoice
from headway.schedule.static.result import StaticResult


class Algorithm(ABC):
    """``name``, ``summary`` (what ``headway schedule`` shows), ``paper`` and :meth:`run` must be
    given. It is made without arguments and keeps nothing between runs.

    A list algorithm decides the tasks' order and processors; start times and messages follow by
    the shared timing core (:mod:`~headway.schedule.static.timing`, or with gaps
    :mod:`~headway.schedule.static.insertion`), and :mod:`~headway.schedule.static.validate` checks
    whatever comes out.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    uses_alpha: ClassVar[bool] = False
    """whether it searches over HVLB_CC's α, the weight of load balance"""

    @abstractmethod
    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        """Schedules a checked instance. ``alpha`` matters only where ``uses_alpha`` says so."""
