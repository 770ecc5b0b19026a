"""How our car is equipped in a run: the factors of the study."""

from __future__ import annotations

from dataclasses import dataclass

from headway.errors import InputError, Problem
from headway.experiments.collision.application import Keep, shed_quota
from headway.schedule.online import engine_policy_named


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Checked when made. ``shed``: V2V tuples per second that the load shedder lets in, None for as
    many as the query says. ``item_cost``: nanoseconds of type 2 fusion per item, None for the
    query's."""

    policy: str = "s-edf"
    v2v: bool = True
    shed: int | None = None
    keep: Keep = Keep.RANDOM
    item_cost: int | None = None

    def __post_init__(self) -> None:
        engine_policy_named(self.policy)
        if self.shed is not None:
            shed_quota(self.shed)
            if not self.v2v:
                raise InputError(
                    Problem("without V2V there is nothing to shed", want="leave out the limit")
                )

    @property
    def label(self) -> str:
        """For tables: ``s-edf, 400/s``, ``fifo+, no V2V``."""
        if not self.v2v:
            return f"{self.policy}, no V2V"
        return self.policy if self.shed is None else f"{self.policy}, {self.shed}/s"
