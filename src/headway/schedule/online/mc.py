"""MC+, minimum cost (S-EDF section 6.1.2, after Carney et al.)."""

from __future__ import annotations

from headway.schedule.online.policy import (
    ROOTS,
    KeyBase,
    KeyFunction,
    KeyRule,
    Policy,
    UnitFacts,
)


class MinCostPlus(Policy):
    """Operators in topological order, from the front again whenever a tuple arrives.

    The front-most operator with waiting tuples always goes first, so that each operator works off
    its whole queue once it has its turn."""

    name = "mc+"
    summary = "operators in topological order, from the front again at every new tuple"
    paper = "S-EDF, section 6.1.2"
    fuse = False
    preemptive = False

    def key(self, unit: UnitFacts) -> KeyFunction:
        rank = unit.rank
        return lambda timestamp, root: (rank, root)

    def key_rule(self, unit: UnitFacts) -> KeyRule:
        return KeyRule(KeyBase.ROOT, unit.rank << ROOTS)
