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
from headway.schedule.online.s_edf import PrimitiveStreamEdf, StreamEdf
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


ENGINE_POLICIES: dict[str, type[Policy]] = {
    **POLICIES,
    **{name: policy for name, policy in OVERLOAD_POLICIES.items() if policy.in_engine},
}
"""what the vehicle engine runs queries under, in virtual time"""
UNRESERVED: dict[str, type[Policy]] = {
    **POLICIES,
    **{name: policy for name, policy in OVERLOAD_POLICIES.items() if not policy.guarded},
}
"""those of them that only order jobs: they need no virtual time"""


def policy_named(name: str) -> Policy:
    """A policy that only orders jobs; InputError lists the names there are, and says of one that
    reserves processor time where it runs."""
    if name in UNRESERVED:
        return UNRESERVED[name]()
    if ALIASES.get(name, name) in OVERLOAD_POLICIES:
        raise InputError(
            Problem(
                f"{name!r} reserves processor time, which needs virtual time and declared costs",
                want="run it with `headway run --engine vehicle --clock virtual` or "
                f"`headway loadtest`; here one of {', '.join(UNRESERVED)}",
            )
        )
    raise InputError(Problem(f"unknown policy {name!r}", want=f"one of {', '.join(UNRESERVED)}"))


def engine_policy_named(name: str) -> Policy:
    """A policy of the engine in virtual time: those above, and those that reserve."""
    found = ALIASES.get(name, name)
    if found in ENGINE_POLICIES:
        return ENGINE_POLICIES[found]()
    if found in OVERLOAD_POLICIES:
        want = "it is for task sets: see `headway loadtest`"
        raise InputError(Problem(f"the engine does not run {name!r}", want=want))
    known = ", ".join([*ENGINE_POLICIES, *ALIASES])
    raise InputError(Problem(f"unknown policy {name!r}", want=f"one of {known}"))


def overload_policy_named(name: str) -> ReservationPolicy:
    """A policy of task sets by its name; InputError lists the names there are."""
    found = ALIASES.get(name, name)
    if found not in OVERLOAD_POLICIES:
        known = ", ".join([*OVERLOAD_POLICIES, *ALIASES])
        raise InputError(Problem(f"unknown policy {name!r}", want=f"one of {known}"))
    return OVERLOAD_POLICIES[found]()


__all__ = [
    "ENGINE_POLICIES",
    "OVERLOAD_POLICIES",
    "POLICIES",
    "Policy",
    "ReservationPolicy",
    "UnitFacts",
    "engine_policy_named",
    "overload_policy_named",
    "policy_named",
]
