"""How a plan's values are put into words: one place for tables, pictures and pages."""

from __future__ import annotations

from headway.compile.load import fits
from headway.model.arrival import Rate
from headway.model.operators import Operator
from headway.model.plan import Load, Plan, Promise
from headway.model.query import Source
from headway.model.time import format_duration
from headway.model.vehicle import Bus, BusKind, Link, Node

KEPT, BROKEN = "✓", "✗"
NONE = "–"
ARROW = " → "

_KINDS = {"udo": "user-defined"}
_BUS_KINDS = {BusKind.CAN: "CAN", BusKind.CAN_FD: "CAN FD", BusKind.ETHERNET: "Ethernet"}


def kind_of(operator: Operator) -> str:
    return _KINDS.get(operator.kind, operator.kind)


def worst_cost(operator: Operator, node: Node | None) -> int | None:
    """The longest execution on the node, in nanoseconds; None when no cost is declared."""
    if operator.cost is None:
        return None
    return operator.cost.worst(node.speed if node else 1)


def rate_text(rate: Rate) -> str:
    return f"{rate.count} per {format_duration(rate.period)}"


def source_details(source: Source) -> tuple[str, ...]:
    """What may come, and what the load shedder lets through."""
    details = [rate_text(source.rate)] if source.rate else []
    if source.shedder:
        shedder = source.shedder
        details.append(f"shed to {rate_text(Rate(shedder.at_most, shedder.per))}")
    return tuple(details)


def bit_rate_text(bits_per_second: int) -> str:
    for unit, size in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bits_per_second >= size:
            return f"{bits_per_second / size:g} {unit}"
    return f"{bits_per_second} bit/s"


def medium_text(medium: Bus | Link) -> str:
    if isinstance(medium, Link):
        return f"link, {bit_rate_text(medium.speed)}"
    speed = bit_rate_text(medium.bit_rate)
    if medium.data_bit_rate:
        speed += f" / {bit_rate_text(medium.data_bit_rate)}"
    return f"{_BUS_KINDS[medium.kind]}, {speed}"


def percent(share: float) -> str:
    """Rounded to a tenth below ten per cent, to a whole above."""
    value = share * 100
    return f"{value:.1f} %" if 0 < value < 9.95 else f"{value:.0f} %"


def load_fits(load: Load) -> bool:
    return fits(load.utilisation, load.capacity)


def sign(kept: bool) -> str:
    return KEPT if kept else BROKEN


def summary(plan: Plan) -> str:
    """The verdict in one line."""
    if plan.verdict is None:
        return "Compiled without a vehicle: nothing is known about time."
    promises = plan.verdict.promises
    kept = sum(promise.kept for promise in promises)
    count = f"{len(promises)} deadline" + ("s" if len(promises) != 1 else "")
    if not promises:
        return "No output has a deadline."
    if kept == len(promises):
        every = "The deadline holds" if kept == 1 else f"All {count} hold"
        return f"{KEPT} {every} for every input within the declared rates."
    some = "The deadline" if len(promises) == 1 else f"{len(promises) - kept} of {count}"
    return f"{BROKEN} {some} cannot be promised."


def blame_text(promise: Promise) -> str:
    """Where most of the time goes, or why there is no bound."""
    parts = [part for part in (promise.blame, promise.reason) if part]
    return ": ".join(parts) or NONE
