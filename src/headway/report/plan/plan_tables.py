"""A plan in words and tables, for the command line, pictures and pages alike.

Cells hold names as the user wrote them: whoever shows them escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.compiler.utilisation import fits
from headway.model.operators import Operator
from headway.model.plan import Chain, ChainBound, LatencyStep, Load, Plan, Promise, Task
from headway.model.quantities import Rate, format_duration, milliseconds
from headway.model.query import Source
from headway.model.vehicle import Bus, BusKind, Link, Node

# ---------------------------------------------------------------- words

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
    cost = operator.cost.on(node.core_kind if node else None) or operator.cost
    return cost.worst(node.speed if node else 1)


def rate_text(rate: Rate) -> str:
    return f"{rate.count} per {format_duration(rate.period)}"


def source_details(source: Source) -> tuple[str, ...]:
    """What may come, and what the load shedder lets through."""
    details = [rate_text(source.rate)] if source.rate else []
    if source.offset is not None:
        details.append(f"offset {format_duration(source.offset)}")
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
    if broken := [chain for chain in plan.verdict.chains if not chain.kept]:
        wrong = f"{len(broken)} of {len(plan.verdict.chains)} chains"
        late = f", and {len(promises) - kept} of {count}" if kept < len(promises) else ""
        return f"{BROKEN} The age or reaction time asked of {wrong}{late} cannot be promised."
    if kept == len(promises):
        every = "The deadline holds" if kept == 1 else f"All {count} hold"
        if asked := sum(chain.asked for chain in plan.verdict.chains):
            keep = "1 chain keeps" if asked == 1 else f"{asked} chains keep"
            every += f", and {keep} what is asked,"
        return f"{KEPT} {every} for every run within the declared {_rests_on(plan)}."
    some = "The deadline" if len(promises) == 1 else f"{len(promises) - kept} of {count}"
    return f"{BROKEN} {some} cannot be promised."


def _rests_on(plan: Plan) -> str:
    """What the promises take from the query as true; the rest follows from it."""
    operators = list(plan.query.operators)
    declared = {
        "rates": True,
        "offsets": any(source.offset is not None for source in plan.query.sources),
        "delays": any(source.delay for source in plan.query.sources),
        "gaps": any(operator.traits.emits_on_time for operator in operators)
        or any(output.reaction is not None for output in plan.query.outputs),
        "costs": True,
        "partners": any(operator.partner_limit is not None for operator in operators),
        "most_outputs": any(operator.most_outputs is not None for operator in operators),
    }
    *most, last = [name for name, there in declared.items() if there]
    return f"{', '.join(most)} and {last}"


def blame_text(promise: Promise) -> str:
    """Where most of the time goes, or why there is no bound."""
    parts = [part for part in (promise.blame, promise.reason) if part]
    return ": ".join(parts) or NONE


# ---------------------------------------------------------------- tables


@dataclass(frozen=True, kw_only=True)
class Table:
    """``numeric`` are the columns to be aligned at the right."""

    title: str
    headers: list[str]
    rows: list[list[str]]
    numeric: tuple[int, ...] = ()


def placement(plan: Plan) -> Table:
    """What runs where: sources and operators by node, in the order of vehicle and query."""
    placed = node_of(plan)
    nodes = {node.name: node for node in plan.vehicle.nodes}
    trains: dict[str, list[str]] = {}
    for task in plan.tasks:
        for name in dict.fromkeys(task.operators):
            trains.setdefault(name, []).append(task.name)
    rows: list[list[str]] = []
    for node in _in_order(plan):
        rows += [
            [node, source.name, "source", NONE, NONE]
            for source in plan.query.sources
            if placed.get(source.name) == node
        ]
        for operator in plan.query.operators:
            if placed.get(operator.name) == node:
                cost = worst_cost(operator, nodes.get(node))
                in_trains = ", ".join(trains.get(operator.name, [])) or NONE
                rows.append([node, operator.name, kind_of(operator), _optional(cost), in_trains])
    headers = ["Node", "Runs", "Kind", "Worst cost (ms)", "Tasks"]
    return Table(title="Placement", headers=headers, rows=rows, numeric=(3,))


def tasks(plan: Plan) -> Table:
    """The operator trains with their EDF* deadlines and how these come about."""
    rows = [
        [
            task.name,
            task.node,
            ARROW.join(task.operators),
            ", ".join(task.entries) or NONE,
            milliseconds(task.cost),
            format_duration(task.relative_deadline),
            task.formula or NONE,
            _releases(task),
        ]
        for task in plan.tasks
    ]
    headers = ["Task", "Node", "Operators", "Entered by", "Cost (ms)", "Relative deadline"]
    headers += ["Formula", "Releases"]
    return Table(title="Tasks", headers=headers, rows=rows, numeric=(4, 5))


def crossings(plan: Plan) -> Table:
    """The streams that leave a node, and their routes."""
    rows = [
        [
            crossing.stream,
            crossing.sender,
            crossing.receiver,
            str(crossing.size_bytes),
            ARROW.join(hop.name for hop in crossing.hops) or NONE,
            milliseconds(crossing.delay),
            str(crossing.priority),
        ]
        for crossing in plan.crossings
    ]
    headers = ["Stream", "From", "To", "Bytes", "Route", "Delay (ms)", "Priority"]
    return Table(title="Streams between nodes", headers=headers, rows=rows, numeric=(3, 5, 6))


def loads(plan: Plan) -> Table:
    """How busy nodes, buses and links are at the declared rates; empty without a verdict."""
    found = plan.verdict.loads if plan.verdict else ()
    rows = [
        [
            load.name,
            load.kind,
            percent(load.utilisation),
            percent(load.capacity),
            sign(load_fits(load)),
        ]
        for load in found
    ]
    headers = ["Name", "Kind", "Used", "Usable", "Fits"]
    return Table(title="Loads", headers=headers, rows=rows, numeric=(2, 3))


def connections(plan: Plan) -> Table:
    """Which ECUs hang on which bus or link; empty where there is none."""
    vehicle = plan.vehicle
    rows = []
    for bus in vehicle.buses:
        over = [one.name for one in vehicle.gateways if bus.name in one.buses]
        speed = f"{bus.bit_rate:,}" + (f" / {bus.data_bit_rate:,}" if bus.data_bit_rate else "")
        rows.append([bus.name, bus.kind.value, speed, ", ".join((*bus.nodes, *over))])
    rows += [[link.name, "link", f"{link.speed:,}", ", ".join(link.ends)] for link in vehicle.links]
    headers = ["Bus or link", "Kind", "Bit/s", "ECUs and gateways on it"]
    return Table(title="What hangs on what", headers=headers, rows=rows, numeric=(2,))


def promises(plan: Plan) -> Table:
    """What each output can count on; empty without a verdict."""
    found = plan.verdict.promises if plan.verdict else ()
    rows = [
        [
            promise.output,
            "hard" if promise.hard else "soft",
            format_duration(promise.deadline),
            _optional(promise.bound),
            _optional(promise.slack),
            sign(promise.kept),
            blame_text(promise),
        ]
        for promise in found
    ]
    headers = ["Output", "Kind", "Deadline", "Bound (ms)", "Slack (ms)", "Kept"]
    headers += ["Blame"]
    return Table(title="Promises", headers=headers, rows=rows, numeric=(2, 3, 4))


def chains(plan: Plan) -> Table:
    """The greatest data age and reaction time of each chain, beside what is asked of it."""
    found = plan.verdict.chains if plan.verdict else ()
    rows = [
        [
            chain.output,
            chain_text(chain),
            *_chain_bound(chain.age),
            *_chain_bound(chain.reaction),
            sign(chain.kept),
            "; ".join(dict.fromkeys(_chain_blame(one) for one in (chain.age, chain.reaction))),
        ]
        for chain in found
    ]
    headers = ["Output", "Chain", "Age (ms)", "Allowed", "Reaction (ms)", "Allowed", "Kept"]
    headers += ["Most of the time"]
    return Table(title="Chains", headers=headers, rows=rows, numeric=(2, 3, 4, 5))


def chain_text(chain: Chain) -> str:
    """The streams on the way; of a long one its two ends."""
    names = chain.streams
    if len(names) > 7:
        names = (*names[:3], f"{len(names) - 6} more", *names[-3:])
    return " → ".join(names)


def _chain_bound(one: ChainBound) -> list[str]:
    return [_optional(one.bound), NONE if one.limit is None else format_duration(one.limit)]


def _chain_blame(one: ChainBound) -> str:
    if one.bound is None:
        return one.reason
    most = max(one.steps, key=lambda step: step.time, default=None)
    return NONE if most is None else f"{most.what} ({milliseconds(most.time)} ms)"


def chain_derivations(plan: Plan) -> list[Table]:
    """Where the time of each chain goes, hop by hop: of those that are asked for."""
    found = plan.verdict.chains if plan.verdict else ()
    return [
        _adding_up(f"Where the {what} of {chain_text(chain)} goes", one.steps, one.bound)
        for chain in found
        for what, one in (("data age", chain.age), ("reaction time", chain.reaction))
        if one.limit is not None and one.steps
    ]


def derivation(promise: Promise) -> Table:
    """Where the time of one bound goes, step by step."""
    return _adding_up(f"Where the time of {promise.output} goes", promise.steps, promise.bound)


def _adding_up(title: str, steps: Sequence[LatencyStep], bound: int | None) -> Table:
    rows: list[list[str]] = []
    so_far = 0
    for position, step in enumerate(steps, start=1):
        so_far += step.time
        share = percent(step.time / bound) if bound else NONE
        rows.append(
            [
                str(position),
                step.place,
                step.what,
                milliseconds(step.time),
                milliseconds(so_far),
                share,
            ]
        )
    headers = ["Step", "Where", "What", "Time (ms)", "So far (ms)", "Share"]
    return Table(title=title, headers=headers, rows=rows, numeric=(0, 3, 4, 5))


def derivations(plan: Plan) -> list[Table]:
    """The derivation of every bound, in the order of the outputs."""
    found = plan.verdict.promises if plan.verdict else ()
    return [derivation(promise) for promise in found if promise.steps]


def node_of(plan: Plan) -> dict[str, str]:
    """Operator or source -> its node."""
    placed = dict(plan.vehicle.sensors)
    for query in plan.node_queries:
        placed |= dict.fromkeys((*query.sources, *query.operators), query.node)
    return placed | dict(plan.placement)


def _in_order(plan: Plan) -> list[str]:
    names = [node.name for node in plan.vehicle.nodes]
    return list(dict.fromkeys([*names, *node_of(plan).values()]))


def _optional(nanoseconds: int | None) -> str:
    return NONE if nanoseconds is None else milliseconds(nanoseconds)


def _releases(task: Task) -> str:
    released = [
        f"{after.task} (+{milliseconds(after.delay)} ms)" if after.delay else after.task
        for after in task.successors
    ]
    return ", ".join([*released, *task.outputs]) or NONE
