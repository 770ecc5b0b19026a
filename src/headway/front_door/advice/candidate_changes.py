"""Changes that could help, by kind, in the order of what they cost; from the least of each on.

A kind is a list of ladders; a ladder is the same change in growing strength. None of them is known
to help: :mod:`headway.front_door.advice.fix_search` tries them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headway.files.forms import format_bit_rate, format_rate
from headway.files.yaml_edits import YamlEdit
from headway.front_door.advice.car_files import CarFiles
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, format_duration
from headway.model.query import Source
from headway.model.vehicle import Bus, BusKind

FACTORS = (1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0, 7.5, 10.0)
SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
_TIMES = {
    "timeout": "wait at most {time} for the other inputs of {name}",
    "within": "pair only what lies within {time} in {name}",
    "window": "a window of {time} in {name}",
}
_CAN_RATES: tuple[int, ...] = (250_000, 500_000, 800_000, 1_000_000)
_ETHERNET_RATES: tuple[int, ...] = (100_000_000, 1_000_000_000, 10_000_000_000)
_FD_DATA_RATES: tuple[int, ...] = (2_000_000, 5_000_000, 8_000_000)


@dataclass(frozen=True, kw_only=True)
class CandidateChange:
    """``what`` is one thing to do, in words; ``amount`` how much is asked for within its kind."""

    what: str
    amount: float
    query: tuple[YamlEdit, ...] = ()
    vehicle: tuple[YamlEdit, ...] = ()


Ladder = tuple[CandidateChange, ...]
Kind = tuple[Ladder, ...]


def kinds_of(files: CarFiles, plan: Plan, on_way: frozenset[str]) -> Iterator[Kind]:
    """All kinds but pins and later deadlines, the cheapest first: what is only said more exactly,
    what the query asks for, what must be bought, what is given up. ``on_way`` are the sources,
    operators, nodes, buses and links that the late outputs come by."""
    yield tuple(_even_rates(files))
    yield tuple(_shorter_times(files, plan, on_way))
    yield tuple(_other_buses(files, on_way))
    yield tuple(_faster_media(files, on_way))
    yield tuple(_faster_nodes(files, on_way))
    yield tuple(_fewer_tuples(files))


# ------------------------------------------------------------ rates


def _even_rates(files: CarFiles) -> Iterator[Ladder]:
    """``1000 per 1 s`` lets 1,000 come at once, ``1 per 1 ms`` does not."""
    found: list[CandidateChange] = []
    for source in files.query.query.sources:
        rate = source.rate
        if rate is None or rate.count < 2 or not _editable(files, source):
            continue
        period = max(1, rate.period // rate.count)
        if period > 100 * MICROSECOND:  # a whole microsecond, for who reads it
            period -= period % MICROSECOND
        text = format_rate(1, period)
        edit = YamlEdit(f"sources.{source.name}", "rate", text)
        what = f"say that {source.name} comes evenly, {text}, if it does"
        found.append(CandidateChange(what=what, amount=1.0, query=(edit,)))
    yield from ((one,) for one in found)
    if len(found) > 1:
        edits = tuple(edit for one in found for edit in one.query)
        names = listed([edit.at.partition(".")[2] for edit in edits])
        what = f"say that {names} come evenly, if they do"
        yield (CandidateChange(what=what, amount=float(len(found)), query=edits),)


def _fewer_tuples(files: CarFiles) -> Iterator[Ladder]:
    """Through the load shedder, where there is one."""
    for source in files.query.query.sources:
        if not _editable(files, source):
            continue
        at, shedder, rate = f"sources.{source.name}", source.shedder, source.rate
        ladder = []
        for factor in FACTORS:
            if shedder is not None:
                text = format_rate(int(shedder.at_most / factor), shedder.per)
                edit = YamlEdit(f"{at}.shed", "at_most", text)
                what = f"shed {source.name} to {text}"
                if int(shedder.at_most / factor) < 1:
                    break
            elif rate is not None:
                text = format_rate(rate.count, _round_up(int(rate.period * factor)))
                edit = YamlEdit(at, "rate", text)
                what = f"let {source.name} come more rarely, {text}"
            else:
                break
            ladder.append(CandidateChange(what=what, amount=factor, query=(edit,)))
        yield tuple(ladder)


def _editable(files: CarFiles, source: Source) -> bool:
    return files.can_edit(f"sources.{source.name}")


def _round_up(time: int) -> int:
    """To three digits: ``13.4 ms`` and not ``13.333334 ms``."""
    grain = int(10 ** max(0, len(str(time)) - 3))
    return -(-time // grain) * grain


# ------------------------------------------------------------ times that operators wait or keep


def _shorter_times(files: CarFiles, plan: Plan, on_way: frozenset[str]) -> Iterator[Ladder]:
    for operator in plan.query.operators:
        at = f"operators.{operator.name}"
        if operator.name not in on_way or not files.can_edit(at):
            continue
        for key, words in _TIMES.items():
            time = getattr(operator, key, None)
            if not isinstance(time, int) or time <= 0:
                continue
            ladder = []
            for share in SHARES:
                shorter = _round_down(int(time * share))
                text = format_duration(shorter)
                what = words.format(time=text, name=operator.name)
                edit = YamlEdit(at, key, text)
                ladder.append(CandidateChange(what=what, amount=1 / share, query=(edit,)))
            yield tuple(ladder)


def _round_down(time: int) -> int:
    grain = int(10 ** max(0, len(str(time)) - 2))
    return max(1, time // grain * grain)


# ------------------------------------------------------------ buses, links and nodes


def _other_buses(files: CarFiles, on_way: frozenset[str]) -> Iterator[Ladder]:
    """Shorter frames, then frames that carry more."""
    for bus in files.vehicle.vehicle.buses:
        at = f"buses.{bus.name}"
        if bus.name not in on_way or bus.kind is BusKind.ETHERNET:
            continue
        ladder = []
        if bus.identifier_bits == 29:
            edit = YamlEdit(at, "identifier_bits", 11)
            what = f"identifiers of 11 bits on {bus.name}"
            ladder.append(CandidateChange(what=what, amount=1.0, vehicle=(edit,)))
        if bus.kind is BusKind.CAN:
            for number, data in enumerate(_FD_DATA_RATES, start=2):
                text = format_bit_rate(data)
                edits = (YamlEdit(at, "kind", "can_fd"), YamlEdit(at, "data_bit_rate", text))
                what = f"CAN FD on {bus.name}, its data at {text}"
                ladder.append(CandidateChange(what=what, amount=float(number), vehicle=edits))
            edits = (YamlEdit(at, "kind", "ethernet"), YamlEdit(at, "bit_rate", "100 Mbit/s"))
            what = f"Ethernet in place of {bus.name}"
            ladder.append(CandidateChange(what=what, amount=10.0, vehicle=edits))
        yield tuple(ladder)


def _faster_media(files: CarFiles, on_way: frozenset[str]) -> Iterator[Ladder]:
    for bus in files.vehicle.vehicle.buses:
        if bus.name in on_way:
            yield tuple(_faster_bus(bus))
    for link in files.vehicle.vehicle.links:
        if link.name in on_way:
            ladder = []
            for factor in (2, 5, 10, 100):
                text = format_bit_rate(link.speed * factor)
                edit = YamlEdit(f"links.{link.name}", "speed", text)
                what = f"{link.name} at {text}"
                ladder.append(CandidateChange(what=what, amount=float(factor), vehicle=(edit,)))
            yield tuple(ladder)


def _faster_bus(bus: Bus) -> Iterator[CandidateChange]:
    at = f"buses.{bus.name}"
    if bus.kind is BusKind.CAN_FD:
        present, key = bus.data_bit_rate or bus.bit_rate, "data_bit_rate"
        known = _FD_DATA_RATES
    elif bus.kind is BusKind.CAN:
        present, key, known = bus.bit_rate, "bit_rate", _CAN_RATES
    else:
        present, key, known = bus.bit_rate, "bit_rate", _ETHERNET_RATES
    for faster in known:
        if faster > present:
            text = format_bit_rate(faster)
            edit = YamlEdit(at, key, text)
            yield CandidateChange(
                what=f"{bus.name} at {text}", amount=faster / present, vehicle=(edit,)
            )


def _faster_nodes(files: CarFiles, on_way: frozenset[str]) -> Iterator[Ladder]:
    nodes = {node.name: node.rate for node in files.vehicle.vehicle.nodes if node.name in on_way}
    for name, rate in nodes.items():
        yield tuple(_faster({name: rate}))
    if len(nodes) > 1:
        yield tuple(_faster(nodes))


def faster_everything(files: CarFiles, on_way: frozenset[str]) -> Iterator[Ladder]:
    """CAN FD on every CAN bus on the way, and faster nodes: where one of both is not enough."""
    vehicle, data = files.vehicle.vehicle, format_bit_rate(_FD_DATA_RATES[1])
    nodes = {node.name: node.rate for node in vehicle.nodes if node.name in on_way}
    buses = [one.name for one in vehicle.buses if one.name in on_way and one.kind is BusKind.CAN]
    if not buses:
        return
    edits = tuple(
        edit
        for name in buses
        for edit in (
            YamlEdit(f"buses.{name}", "kind", "can_fd"),
            YamlEdit(f"buses.{name}", "data_bit_rate", data),
        )
    )
    yield tuple(
        CandidateChange(
            what=f"CAN FD on {listed(buses)}, data at {data}, and {step.what}",
            amount=step.amount,
            vehicle=(*edits, *step.vehicle),
        )
        for step in _faster(nodes)
    )


def _faster(nodes: dict[str, float]) -> Iterator[CandidateChange]:
    for factor in FACTORS:
        edits = tuple(
            YamlEdit(f"nodes.{name}", "rate", _plain(rate * factor)) for name, rate in nodes.items()
        )
        what = f"{listed(nodes)} {factor:g} times as fast"
        # Two nodes a bit faster cost more than one.
        yield CandidateChange(what=what, amount=factor * len(nodes), vehicle=edits)


def _plain(rate: float) -> float | int:
    short = float(f"{rate:.4g}")
    return int(short) if short.is_integer() else short


def listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
