"""The query that is tried in traffic, ``examples/collision_warning``: its variants, and how our car
is equipped.

The query is compiled once, as the files say: placement, trains and deadlines stay the same in all
runs. A variant changes only how many V2V tuples the load shedder lets in, which ones, of which cars
there is a time to collision, and (to see how much hangs on an assumption) what a fused item costs
and whether a fusion can be preempted between its items. It is not compiled anew, because the
compiler refuses what the vehicle cannot carry, and a drive is to show just that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cache
from pathlib import Path

from headway.compiler import compile_query
from headway.compiler.passes import recompile
from headway.drive.warned_of import WarnedOf, warning_of
from headway.errors import InputError, Place, Problem
from headway.files import load_query, load_vehicle
from headway.files.shipped_examples import example_folder
from headway.model.expression import Sql
from headway.model.operators import Fusion
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND, SECOND
from headway.model.query import LoadShedder, Query, Source, Step
from headway.model.vehicle import Vehicle
from headway.schedule.online import engine_policy_named

NAME = "collision_warning"
RADIO = "v2v"
BROADCAST = "output1"
"""what a car sends to the others (S-EDF section 6.2.1)"""
FUSION = "sdfo2"
SHED_WINDOW = 100 * MILLISECOND
"""The load shedder counts in windows of one radio cycle."""


class KeptTuples(StrEnum):
    """Which V2V tuples the load shedder keeps when more come than may pass."""

    RANDOM = "random"
    """any, as in the study of the S-EDF paper (footnote 5)"""
    NEAREST = "nearest"
    """the nearest, as the query says"""


_MIXED = "(unix_micros(timestamp) % 65519 * (unix_micros(timestamp) % 65519) + id * 69621) % 65521"
RANDOM_VALUE = Sql(f"({_MIXED}) * ({_MIXED}) % 65521 * 48271 % 65521")
"""A value that has nothing to do with what the tuple says: sensing time and object, squared twice
modulo a prime. A linear formula will not do: a sender's times are evenly spaced, and so would be
the values of its tuples. The times differ from trial to trial, and so does the choice."""


@dataclass(frozen=True)
class QueryInVehicle:
    """A query and the vehicle it runs in."""

    query: Query
    vehicle: Vehicle


def load_collision_warning(
    query: Path | None = None, vehicle: Path | None = None
) -> QueryInVehicle:
    """The example's files, or those that are named."""
    query = query or example("query.yaml")
    vehicle = vehicle or example("vehicle.yaml")
    loaded = load_query(query).query
    check_streams(loaded, Place(str(query)))
    return QueryInVehicle(loaded, load_vehicle(vehicle).vehicle)


def example(name: str) -> Path:
    """A file of the example."""
    return example_folder(NAME) / name


def check_streams(query: Query, place: Place | None = None) -> None:
    """The study needs these streams under these names."""
    wanted = {
        "source": (("gps", "speed", "radar", RADIO), [source.name for source in query.sources]),
        "output": (("output1", "output2", "output3"), [output.name for output in query.outputs]),
    }
    problems = [
        Problem(f"the study needs a {kind} {name!r}", got=", ".join(there), place=place)
        for kind, (names, there) in wanted.items()
        for name in names
        if name not in there
    ]
    if problems:
        raise InputError(problems)


@cache
def plan_for(
    application: QueryInVehicle,
    shed: int | None = None,
    keep: KeptTuples = KeptTuples.RANDOM,
    item_cost: int | None = None,
    between_items: bool | None = None,
    warned_of: WarnedOf = WarnedOf.CLOSING,
) -> Plan:
    """A variant: at most ``shed`` V2V tuples per second (None: as the query says), and type 2
    fusion at ``item_cost`` nanoseconds an item, with 11.0 ms for one item as printed, which can be
    preempted ``between_items`` or only when it is done (S-EDF section 5.3). output2 has a TTC of
    the cars ``warned_of``."""
    plan = _compiled(application)
    query = warning_of(plan.query, warned_of)
    sources = tuple(_shedding(source, shed, keep) for source in query.sources)
    steps = tuple(_costing(step, item_cost, between_items) for step in query.steps)
    return recompile(plan, replace(query, sources=sources, steps=steps))


@cache
def _compiled(application: QueryInVehicle) -> Plan:
    return compile_query(application.query, application.vehicle)


def shed_quota(shed: int) -> int:
    """Tuples per window of the load shedder for so many per second."""
    quota = Fraction(shed * SHED_WINDOW, SECOND)
    if shed <= 0 or quota.denominator != 1:
        raise InputError(
            "the load shedder counts in windows of 100 ms",
            got=f"{shed} tuples/s",
            want="give a multiple of 10 above 0",
        )
    return int(quota)


def _shedding(source: Source, shed: int | None, keep: KeptTuples) -> Source:
    if source.name != RADIO:
        return source
    shedder = source.shedder
    if shed is not None:
        value = shedder.value if shedder is not None else RANDOM_VALUE
        shedder = LoadShedder(at_most=shed_quota(shed), per=SHED_WINDOW, value=value)
    if shedder is None:
        raise InputError(f"the source {RADIO!r} has no load shedder", want="say how much may pass")
    if keep is KeptTuples.RANDOM:
        shedder = replace(shedder, value=RANDOM_VALUE)
    return replace(source, shedder=shedder)


def _costing(step: Step, item_cost: int | None, between_items: bool | None) -> Step:
    if not isinstance(step, Fusion) or step.name != FUSION or not step.cost:
        return step
    cost = step.cost
    if item_cost is not None:
        cost = replace(cost, base=cost.of(1) - item_cost, per_item=item_cost)
    if between_items is not None:
        cost = replace(cost, between_items=between_items)
    return replace(step, cost=cost)


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Checked when made. ``shed``: V2V tuples per second that the load shedder lets in, None for as
    many as the query says. ``item_cost``: nanoseconds of type 2 fusion per item, None for the
    query's. ``between_items``: whether type 2 fusion can be preempted there, None for the query's;
    S-EDF as printed preempts between operators only. ``warned_of``: the cars that output2 has a TTC
    of."""

    policy: str = "s-edf"
    v2v: bool = True
    shed: int | None = None
    keep: KeptTuples = KeptTuples.RANDOM
    item_cost: int | None = None
    between_items: bool | None = None
    warned_of: WarnedOf = WarnedOf.CLOSING

    def __post_init__(self) -> None:
        engine_policy_named(self.policy)
        if self.shed is not None:
            shed_quota(self.shed)
            if not self.v2v:
                raise InputError("without V2V there is nothing to shed", want="leave out the limit")

    @property
    def label(self) -> str:
        """For tables: ``s-edf, 400/s``, ``fifo+, no V2V``, ``s-edf, 620/s, between items``."""
        parts = [self.policy]
        if not self.v2v:
            parts.append("no V2V")
        elif self.shed is not None:
            parts.append(f"{self.shed}/s")
        if self.between_items:
            parts.append("between items")
        if self.warned_of is not WarnedOf.CLOSING:
            parts.append(f"warned of {self.warned_of} cars")
        return ", ".join(parts)


def plan_of(application: QueryInVehicle, setting: Setting) -> Plan:
    """The variant that a setting names."""
    return plan_for(
        application,
        setting.shed,
        setting.keep,
        setting.item_cost,
        setting.between_items,
        setting.warned_of,
    )
