"""What a static scheduling algorithm is. A new one is a file here and an entry in
``ALGORITHMS``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from headway.schedule.static.instance import Instance
from headway.schedule.static.options import AlphaChoice
from headway.schedule.static.result import StaticResult


class Algorithm(ABC):
    """Subclass in a file of its own and register it in :mod:`headway.schedule.static`."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    uses_alpha: ClassVar[bool] = False

    @abstractmethod
    def run(self, instance: Instance, alpha: AlphaChoice) -> StaticResult:
        """Schedules a checked instance. ``alpha`` matters only where ``uses_alpha`` says so."""
