"""Who stands over the jobs of a run, and what a time keeper must offer for that.

A policy that only orders jobs needs nobody: a job keeps the key it was released with. One that
reserves processor time (:mod:`headway.engine.reservations`) or ranks jobs again
(:mod:`headway.engine.reranking`) admits jobs and changes their keys as they run. It does so through
this protocol, by one set of rules for virtual and for wall-clock time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from headway.engine.jobs import ReadyJob
from headway.engine.kernel import Gatekeeper, Kernel
from headway.engine.trace import EventKind
from headway.schedule.online.policy import Key


class Overseer(Gatekeeper, Protocol):
    """Admits the jobs of a run, and may change their keys before an operator. ``ready`` is the heap
    of jobs that wait for the same processor."""

    def admit(self, job: ReadyJob) -> ReadyJob | None:
        """The job as it is to be queued; None if it is not, or not yet."""

    def before_choice(self, ready: list[ReadyJob]) -> None:
        """The most urgent of the ready jobs is about to be chosen."""

    def key_now(self, ready: list[ReadyJob], job: ReadyJob) -> Key:
        """The key of a job before its next operator."""

    def goes_on(self, job: ReadyJob) -> None:
        """A job goes on although its key has changed."""

    def resumed(self, job: ReadyJob) -> EventKind:
        """What is noted of a job that goes on after others."""

    def works(self, job: ReadyJob) -> None:
        """An operator of the job does what it does; what it gives out comes next."""

    def worked(self, job: ReadyJob, declared: int, taken: int) -> None:
        """The operator has given out all it gives. It has ``declared`` a time and ``taken`` one:
        the same in virtual time, a measured one where time passes by itself."""

    def ended(self, job: ReadyJob) -> None:
        """The job is done, or was shed."""

    def not_yet(self) -> Iterable[ReadyJob]:
        """The jobs that it keeps back."""


class OverseenTime(Protocol):
    """A time keeper whose jobs can be overseen."""

    kernel: Kernel

    def overseen(self, overseer: Overseer) -> None:
        """Has every tuple let in and every job admitted, and each looked at before its
        operators."""

    def queue(self, job: ReadyJob) -> None:
        """An admitted job is ready."""

    def befell(self, kind: EventKind, job: ReadyJob) -> None:
        """Notes in the trace what happened to a job on its processor."""


def put_over(overseer: Overseer, kernel: Kernel, queue: Callable[[ReadyJob], None]) -> None:
    """What is the same for every time keeper: who enters is asked for, and who is queued."""
    kernel.gatekeeper = overseer

    def queue_if_admitted(job: ReadyJob) -> None:
        admitted = overseer.admit(job)
        if admitted is not None:
            queue(admitted)

    kernel.queue = queue_if_admitted
