"""Run-time scheduling policies, one file each. A new one is a file here and an entry in
``POLICIES``."""

from __future__ import annotations

from headway.errors import InputError, Problem
from headway.schedule.online.cbs import ConstantBandwidthServer
from headway.schedule.online.er_edf import EnhancedReservationEdf
from headway.schedule.online.fifo import FifoPlus
from headway.schedule.online.mc import MinCostPlus
from headway.schedule.online.op_edf import OperatorPathEdf
from headway.schedule.online.pcs import PathCapacity
from headway.schedule.online.policy import Policy, UnitFacts
from headway.schedule.online.rate_monotonic import RateMonotonic
from headway.schedule.online.reservation import ReservationPolicy
from headway.schedule.online.rop_edf import (
    PrintedReservedEdf1,
    PrintedReservedEdf2,
    ReservedEdf1,
    ReservedEdf2,
)
from headway.schedule.online.s_edf import StreamEdf
from headway.schedule.online.s_edf_primitive import PrimitiveStreamEdf
from headway.schedule.online.static_schedule import StaticSchedule

POLICIES: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        StreamEdf,
        PrimitiveStreamEdf,
        FifoPlus,
        MinCostPlus,
        PathCapacity,
        StaticSchedule,
    )
}

OVERLOAD_POLICIES: dict[str, type[ReservationPolicy]] = {
    policy.name: policy
    for policy in (
        OperatorPathEdf,
        EnhancedReservationEdf,
        ReservedEdf1,
        ReservedEdf2,
        ConstantBandwidthServer,
        RateMonotonic,
        PrintedReservedEdf1,
        PrintedReservedEdf2,
    )
}
"""policies of task sets under overload"""
ALIASES = {"rop-edf": "rop-edf-1"}


def policy_named(name: str) -> Policy:
    """A policy by its name; InputError lists the names there are."""
    if name not in POLICIES:
        known = ", ".join(POLICIES)
        raise InputError(Problem(f"unknown policy {name!r}", want=f"one of {known}"))
    return POLICIES[name]()


def engine_policy_named(name: str) -> Policy:
    """A policy of the engine in virtual time: those above, and what it knows for overload."""
    found = ALIASES.get(name, name)
    if found in OVERLOAD_POLICIES and OVERLOAD_POLICIES[found].in_engine:
        return OVERLOAD_POLICIES[found]()
    if found in OVERLOAD_POLICIES:
        want = "it is for task sets: see `headway loadtest`"
        raise InputError(Problem(f"the engine does not run {name!r}", want=want))
    return policy_named(name)


def overload_policy_named(name: str) -> ReservationPolicy:
    """A policy of task sets by its name; InputError lists the names there are."""
    found = ALIASES.get(name, name)
    if found not in OVERLOAD_POLICIES:
        known = ", ".join([*OVERLOAD_POLICIES, *ALIASES])
        raise InputError(Problem(f"unknown policy {name!r}", want=f"one of {known}"))
    return OVERLOAD_POLICIES[found]()


__all__ = [
    "OVERLOAD_POLICIES",
    "POLICIES",
    "Policy",
    "ReservationPolicy",
    "UnitFacts",
    "engine_policy_named",
    "overload_policy_named",
    "policy_named",
]
