"""Run-time scheduling policies, one file each. A new one is a file here and a line in ``EVERY``;
one of another package is an entry point of the group ``headway.policies``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from headway.errors import InputError
from headway.extensions import ExtensionClasses
from headway.schedule.online.policy import Policy, UnitFacts
from headway.schedule.online.reservation import ReservationPolicy

EVERY: ExtensionClasses[Policy] = ExtensionClasses(
    "headway.policies",
    what="policy",
    base="headway.schedule.online.policy:Policy",
    own={
        "s-edf": "headway.schedule.online.s_edf:StreamEdf",
        "s-edf-primitive": "headway.schedule.online.s_edf:PrimitiveStreamEdf",
        "fifo+": "headway.schedule.online.fifo:FifoPlus",
        "mc+": "headway.schedule.online.mc:MinCostPlus",
        "pcs": "headway.schedule.online.pcs:PathCapacity",
        "chain": "headway.schedule.online.chain:ChainPolicy",
        "least-laxity": "headway.schedule.online.least_laxity:LeastLaxity",
        "static": "headway.schedule.online.static_schedule:StaticSchedule",
        "op-edf": "headway.schedule.online.op_edf:OperatorPathEdf",
        "er-edf": "headway.schedule.online.er_edf:EnhancedReservationEdf",
        "rop-edf-1": "headway.schedule.online.rop_edf:ReservedEdf1",
        "rop-edf-2": "headway.schedule.online.rop_edf:ReservedEdf2",
        "cbs": "headway.schedule.online.cbs:ConstantBandwidthServer",
        "rate-monotonic": "headway.schedule.online.rate_monotonic:RateMonotonic",
        "rtstream": "headway.schedule.online.rtstream:RealTimeStreams",
        "rop-edf-1-paper": "headway.schedule.online.rop_edf:PrintedReservedEdf1",
        "rop-edf-2-paper": "headway.schedule.online.rop_edf:PrintedReservedEdf2",
    },
)
"""all policies there are, by name"""

POLICIES: Mapping[str, type[Policy]] = EVERY.where(
    lambda policy: not issubclass(policy, ReservationPolicy)
)
"""policies of queries"""
OVERLOAD_POLICIES = cast(
    Mapping[str, type[ReservationPolicy]],
    EVERY.where(lambda policy: issubclass(policy, ReservationPolicy)),
)
"""policies of task sets under overload"""
ALIASES = {"rop-edf": "rop-edf-1"}


ENGINE_POLICIES: Mapping[str, type[Policy]] = EVERY.where(lambda policy: policy.in_engine)
"""what the vehicle engine runs queries under"""
UNRESERVED: Mapping[str, type[Policy]] = EVERY.where(
    lambda policy: policy.in_engine and not policy.guarded
)
"""those of them that only order jobs"""


def policy_named(name: str) -> Policy:
    """A policy that only orders jobs; InputError lists the names there are, and says of one that
    reserves processor time where it runs."""
    if name in UNRESERVED:
        return UNRESERVED[name]()
    found = EVERY.get(ALIASES.get(name, name))
    if found is not None and found.guarded:
        raise InputError(
            f"{name!r} reserves processor time, and here jobs are only ordered",
            want="run it with `headway run --engine vehicle`, `headway build` or "
            f"`headway loadtest`; here one of {', '.join(UNRESERVED)}",
        )
    raise InputError(f"unknown policy {name!r}", want=f"one of {', '.join(UNRESERVED)}")


def engine_policy_named(name: str) -> Policy:
    """A policy of the engine: those above, and those that reserve."""
    found = ALIASES.get(name, name)
    if found in ENGINE_POLICIES:
        return ENGINE_POLICIES[found]()
    if found in EVERY:
        want = "it is for task sets: see `headway loadtest`"
        raise InputError(f"the engine does not run {name!r}", want=want)
    known = ", ".join([*ENGINE_POLICIES, *ALIASES])
    raise InputError(f"unknown policy {name!r}", want=f"one of {known}")


def overload_policy_named(name: str) -> ReservationPolicy:
    """A policy of task sets by its name; InputError lists the names there are."""
    found = ALIASES.get(name, name)
    if found not in OVERLOAD_POLICIES:
        known = ", ".join([*OVERLOAD_POLICIES, *ALIASES])
        raise InputError(f"unknown policy {name!r}", want=f"one of {known}")
    return OVERLOAD_POLICIES[found]()


__all__ = [
    "ENGINE_POLICIES",
    "EVERY",
    "OVERLOAD_POLICIES",
    "POLICIES",
    "Policy",
    "ReservationPolicy",
    "UnitFacts",
    "engine_policy_named",
    "overload_policy_named",
    "policy_named",
]
