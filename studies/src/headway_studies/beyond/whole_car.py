"""A car as large as AEDSMS says that cars are, 70 to 100 ECUs on their buses, and 60 applications
on it as one query: does it compile, what is promised, and how long does it take?

The paper gives the number of ECUs and nothing else, and nobody publishes a car's network and load.
So car and applications are drawn from a seed, and everything about them is assumed: six domains
with the share of ECUs and the kind of bus that is usual for each (at most 12 ECUs a CAN bus), one
central gateway, one strong controller a domain, the others between a quarter and one of the machine
that costs were measured on. An application reads one to three sensors of its domain, some one of
another domain or a state that many share (speed, position), filters, converts, joins or aggregates,
and ends at an actuator: its last operator is pinned there. All other operators are for the compiler
to place.

Grid: ECUs x applications x seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from headway.compiler import compile_query
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Filter, Input, Join, Map, Operator
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Cost, Rate
from headway.model.query import Criticality, Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle
from headway_studies.provenance import assumed
from headway_studies.row_reading import number, span, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import Grid


@dataclass(frozen=True, kw_only=True)
class Domain:
    """``share`` of a car's ECUs; ``at_most`` ECUs on one of its buses."""

    name: str
    share: float
    kind: BusKind
    bit_rate: int
    at_most: int = 12
    data_bit_rate: int | None = None


FAST, CAN_RATE, FD_RATE = 100_000_000, 500_000, 2_000_000
DOMAINS = (
    Domain(name="powertrain", share=0.15, kind=BusKind.CAN, bit_rate=CAN_RATE),
    Domain(
        name="chassis",
        share=0.15,
        kind=BusKind.CAN_FD,
        bit_rate=CAN_RATE,
        data_bit_rate=FD_RATE,
    ),
    Domain(name="assistance", share=0.175, kind=BusKind.ETHERNET, bit_rate=FAST, at_most=16),
    Domain(name="body", share=0.3, kind=BusKind.CAN, bit_rate=CAN_RATE),
    Domain(name="cabin", share=0.125, kind=BusKind.ETHERNET, bit_rate=FAST, at_most=16),
    Domain(name="outside", share=0.1, kind=BusKind.CAN, bit_rate=CAN_RATE),
)
"""last: what talks to other cars and to the road"""
LEAST_ECUS = 20
GATEWAY_DELAY = 200 * MICROSECOND
CONTROLLER, WEAKEST = 2.0, 0.25
"""execution rates"""
SHARED: Mapping[str, str] = MappingProxyType({"speed": "chassis", "position": "assistance"})
"""states that many applications read -> the domain that has them"""
SHARED_PERIOD = 20 * MILLISECOND
COLUMNS = schema(v="double", id="int")


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What kinds of applications want: period of sensors and deadline in ms."""

    name: str
    weight: int
    periods: tuple[int, ...]
    deadline: int
    criticality: Criticality


DEMANDS = (
    Demand(name="control", weight=3, periods=(10, 20), deadline=50, criticality=Criticality.HARD),
    Demand(name="warn", weight=4, periods=(50, 100), deadline=300, criticality=Criticality.HARD),
    Demand(
        name="inform", weight=3, periods=(100, 500), deadline=3_000, criticality=Criticality.SOFT
    ),
)


@dataclass(frozen=True, kw_only=True)
class Car:
    """A query and the vehicle that it is for."""

    query: Query
    vehicle: Vehicle


def draw_car(ecus: int, applications: int, seed: int) -> Car:
    """The same for the same numbers; ValueError where some domain would have no ECU."""
    if ecus < LEAST_ECUS:
        raise ValueError(f"a car of {ecus} ECUs: at least {LEAST_ECUS}, or a domain has none")
    return _Drawing(Random(f"{ecus} {applications} {seed}"), ecus, applications).car()


class _Drawing:
    def __init__(self, random: Random, ecus: int, applications: int) -> None:
        self._random = random
        self._count, self._applications = ecus, applications
        self._ecus: dict[str, list[str]] = {}
        self._sources: list[Source] = []
        self._steps: list[Operator] = []
        self._outputs: list[Output] = []
        self._sensors: list[tuple[str, str]] = []
        self._pins: list[tuple[str, str]] = []

    def car(self) -> Car:
        nodes, buses = self._network()
        for state, domain in SHARED.items():
            sensor = self._sensor(f"{state}_sensor", domain, SHARED_PERIOD)
            self._map(state, sensor)
        states = list(SHARED)
        for place in range(1, self._applications + 1):  # the first ones read a state each
            self._application(f"q{place:02}", states.pop(0) if states else None)
        return Car(
            query=Query(
                name="whole_car",
                sources=tuple(self._sources),
                steps=tuple(self._steps),
                outputs=tuple(self._outputs),
            ),
            vehicle=Vehicle(
                name=f"car_{self._count}",
                nodes=tuple(nodes),
                buses=tuple(buses),
                gateways=(
                    Gateway(
                        name="gateway", buses=tuple(bus.name for bus in buses), delay=GATEWAY_DELAY
                    ),
                ),
                sensors=tuple(self._sensors),
                pins=tuple(self._pins),
            ),
        )

    def _network(self) -> tuple[list[Node], list[Bus]]:
        nodes: list[Node] = []
        buses: list[Bus] = []
        left = self._count
        for place, domain in enumerate(DOMAINS):
            last = place == len(DOMAINS) - 1
            count = left if last else max(1, round(self._count * domain.share))
            left -= count
            names = [f"{domain.name}_{one:02}" for one in range(1, count + 1)]
            self._ecus[domain.name] = names
            for first, name in enumerate(names):
                rate = CONTROLLER if first == 0 else self._random.uniform(WEAKEST, 1.0)
                nodes.append(Node(name=name, rate=round(rate, 2)))
            parts = -(-count // domain.at_most)
            buses += [
                Bus(
                    name=domain.name if parts == 1 else f"{domain.name}_bus{part + 1}",
                    kind=domain.kind,
                    bit_rate=domain.bit_rate,
                    data_bit_rate=domain.data_bit_rate,
                    nodes=tuple(names[part::parts]),
                )
                for part in range(parts)
            ]
        return nodes, buses

    def _cost(self, least: int, most: int) -> Cost:
        return Cost(self._random.randint(least, most) * 10 * MICROSECOND)

    def _sensor(self, name: str, domain: str, period: int) -> str:
        self._sources.append(
            Source(
                name=name,
                schema=COLUMNS,
                rate=Rate(1, period),
                gap=2 * period,
                delay=MILLISECOND,
            )
        )
        self._sensors.append((name, self._random.choice(self._ecus[domain])))
        return name

    def _map(self, name: str, stream: str) -> str:
        columns = (Column("v", Sql("v * 0.5 + 1")),)
        inputs = (Input("input", stream),)
        cost = self._cost(2, 20)
        self._steps.append(Map(name=name, inputs=inputs, cost=cost, columns=columns, keep=True))
        return name

    def _joined(self, name: str, own: str, other: str, within: int) -> str:
        self._steps.append(
            Join(
                name=name,
                inputs=(Input("own", own), Input("other", other)),
                cost=self._cost(2, 20),
                within=within,
                columns=(Column("v", Sql("own.v - other.v")), Column("id", Sql("own.id"))),
                partners=("own", 1),
            )
        )
        return name

    def _application(self, name: str, reads: str | None) -> None:
        random = self._random
        (demand,) = random.choices(DEMANDS, [one.weight for one in DEMANDS])
        (domain,) = random.choices(DOMAINS, [one.share for one in DOMAINS])
        period = random.choice(demand.periods) * MILLISECOND
        stream = self._map(f"{name}_read", self._sensor(f"{name}_s1", domain.name, period))
        for extra in range(random.choice((0, 0, 1, 1, 2))):
            there = domain if random.random() < 0.75 else random.choice(DOMAINS)
            sensor = self._sensor(f"{name}_s{extra + 2}", there.name, period)
            other = self._map(f"{name}_read{extra + 2}", sensor)
            stream = self._joined(f"{name}_join{extra + 1}", stream, other, period // 2)
        state = reads or (random.choice(tuple(SHARED)) if random.random() < 0.3 else None)
        if state is not None:
            stream = self._joined(f"{name}_with_{state}", stream, state, SHARED_PERIOD // 2)
        if random.random() < 0.5:
            inputs = (Input("input", stream),)
            self._steps.append(
                Filter(
                    name=f"{name}_filter",
                    inputs=inputs,
                    cost=self._cost(2, 20),
                    where=Sql("v > 10"),
                    selectivity=0.5,
                )
            )
            stream = f"{name}_filter"
        if demand.name == "inform" and random.random() < 0.5:
            self._steps.append(
                Aggregate(
                    name=f"{name}_mean",
                    inputs=(Input("input", stream),),
                    cost=self._cost(2, 20),
                    window=SECOND,
                    every=SECOND,
                    by=("id",),
                    columns=(Column("v", Sql("avg(v)")),),
                    most_outputs=1,
                )
            )
            stream = f"{name}_mean"
        last = self._map(f"{name}_act", stream)
        self._pins.append((last, random.choice(self._ecus[domain.name])))
        self._outputs.append(
            Output(
                name=f"{name}_{demand.name}",
                stream=last,
                deadline=demand.deadline * MILLISECOND,
                criticality=demand.criticality,
            )
        )


# ---------------------------------------------------------------- the study

SIZES: tuple[tuple[int, int], ...] = ((70, 60), (85, 60), (100, 60))
"""(ECUs, applications)"""
SEEDS = (1, 2, 3)
QUICK_SIZES: tuple[tuple[int, int], ...] = ((24, 12),)
DRAWN = assumed(
    "network, sensors, applications, costs and deadlines are drawn from a seed; published is only "
    "that a car has 70 to 100 ECUs"
)


def cells(quick: bool) -> list[Cell]:
    return [
        {"ecus": ecus, "applications": applications, "seed": seed}
        for ecus, applications in (QUICK_SIZES if quick else SIZES)
        for seed in (SEEDS[:2] if quick else SEEDS)
    ]


def run(cell: Cell) -> list[Row]:
    """No time is in a row: that of compiling is measured by ``benchmarks/bench_whole_car.py``."""
    ecus, applications, seed = (whole(cell, key) for key in ("ecus", "applications", "seed"))
    car = draw_car(ecus, applications, seed)
    return [dict(cell) | told(compile_query(car.query, car.vehicle))]


def told(plan: Plan) -> dict[str, int | float]:
    """What a plan is like, in numbers."""
    verdict = plan.verdict
    assert verdict is not None
    loads = {
        kind: max(one.utilisation / one.capacity for one in verdict.loads if one.kind == kind)
        for kind in ("node", "bus")
    }
    hard = [one for one in verdict.promises if one.hard]
    return {
        "sources": len(plan.query.sources),
        "operators": len(plan.query.steps),
        "buses": len(plan.vehicle.buses),
        "crossings": len(plan.crossings),
        "outputs": len(verdict.promises),
        "kept": sum(one.kept for one in verdict.promises),
        "hard": len(hard),
        "hard_kept": sum(one.kept for one in hard),
        "node_load": loads["node"],
        "bus_load": loads["bus"],
    }


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(claims=tuple(_claims(rows)), pictures=(_table(rows),))


def _claims(rows: Sequence[Row]) -> Iterator[Claim]:
    for ecus in dict.fromkeys(whole(row, "ecus") for row in rows):
        mine = where(rows, ecus=ecus)
        outputs, kept = (sum(whole(row, key) for row in mine) for key in ("outputs", "kept"))
        hard, hard_kept = (sum(whole(row, key) for row in mine) for key in ("hard", "hard_kept"))
        yield beyond(
            "section 1",
            f"what can be promised of {whole(mine[0], 'applications')} applications in a car with "
            f"{ecus} ECUs?",
            f"{kept} of {outputs} deadlines, of hard ones {hard_kept} of {hard} "
            f"({len(mine)} cars drawn; {span([float(whole(row, 'operators')) for row in mine], 0)} "
            "operators); the fullest bus is used to "
            f"{span([100 * number(row, 'bus_load') for row in mine], 0)} %, the fullest ECU to "
            f"{span([100 * number(row, 'node_load') for row in mine], 0)} %",
            came=DRAWN,
        )


def _table(rows: Sequence[Row]) -> Grid:
    columns = ("ecus", "buses", "sources", "operators", "crossings", "outputs", "kept")
    return Grid(
        title="Cars drawn: what they have, and how many deadlines are promised",
        headers=(
            "ECUs",
            "buses",
            "sources",
            "operators",
            "streams between ECUs",
            "outputs",
            "kept",
        ),
        rows=tuple(tuple(str(whole(row, column)) for column in columns) for row in rows),
    )


STUDY = Study(
    name="whole-car",
    paper=Paper.NONE,
    figures=("whole car",),
    title="A car with 70 to 100 ECUs and 60 applications",
    seconds=120,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
