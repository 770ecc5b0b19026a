"""Run-time scheduling policies, one file each. A new one is a file here and an entry in
``POLICIES``."""

from __future__ import annotations

from headway.errors import InputError, Problem
from headway.schedule.online.fifo import FifoPlus
from headway.schedule.online.mc import MinCostPlus
from headway.schedule.online.pcs import PathCapacity
from headway.schedule.online.policy import Policy, UnitFacts
from headway.schedule.online.s_edf import StreamEdf
from headway.schedule.online.s_edf_primitive import PrimitiveStreamEdf

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (StreamEdf, PrimitiveStreamEdf, FifoPlus, MinCostPlus, PathCapacity)
}


def policy_named(name: str) -> Policy:
    """A policy by its name; InputError lists the names there are."""
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise InputError(Problem(f"unknown policy {name!r}", want=f"one of {known}"))
    return POLICIES[name]()


__all__ = ["POLICIES", "Policy", "UnitFacts", "policy_named"]
