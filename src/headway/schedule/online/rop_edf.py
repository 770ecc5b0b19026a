"""ROP-EDF: capacity for hard tasks apart from that of soft ones (ROP-EDF section 4).

The paper's letter, under which hard tasks can miss (:mod:`headway.schedule.online.split_capacity`
says why), is kept as ``rop-edf-1-paper`` and ``rop-edf-2-paper``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from headway.schedule.online.reservation import ReservationPolicy, TaskFacts
from headway.schedule.online.split_capacity import Shares, WholeJobs
from headway.schedule.online.tuple_capacity import SharesOfTuples, WholeTuples


class ReservedEdf1(ReservationPolicy):
    """ROP-EDF with admission policy 1."""

    name = "rop-edf-1"
    summary = "capacity reserved for hard tasks; soft jobs run in full or are rejected"
    paper = "ROP-EDF, section 4, algorithms 1 and 3"
    features = (True, True, True, True)
    early: ClassVar[bool] = False

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> WholeJobs:
        return WholeJobs(tasks, overhead, early=self.early)

    def open_for_tuples(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> WholeTuples:
        return WholeTuples(tasks, overhead)


class ReservedEdf2(ReservationPolicy):
    """ROP-EDF with admission policy 2."""

    name = "rop-edf-2"
    summary = "capacity reserved for hard tasks; soft tasks get shares of the rest"
    paper = "ROP-EDF, section 4, algorithms 2 and 3"
    features = (True, True, True, True)
    early: ClassVar[bool] = False

    def open(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> Shares:
        return Shares(tasks, overhead, early=self.early)

    def open_for_tuples(self, tasks: Sequence[TaskFacts], overhead: int = 0) -> SharesOfTuples:
        return SharesOfTuples(tasks, overhead)


class PrintedReservedEdf1(ReservedEdf1):
    name = "rop-edf-1-paper"
    summary = "policy 1 to the letter: reservations end with their job, hard tasks can miss"
    in_engine = False
    early = True


class PrintedReservedEdf2(ReservedEdf2):
    name = "rop-edf-2-paper"
    summary = "policy 2 to the letter: reservations end with their job, hard tasks can miss"
    in_engine = False
    early = True
