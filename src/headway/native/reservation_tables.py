"""What is reserved, as the tables of a program (``headway/tables.hpp``): which task a tuple's job
belongs to, how much work it brings, what each node has to give, and which sources are held to their
declared rates.

All of it is computed by the Python engine's own rules (:mod:`headway.engine.path_tasks`, the
ledgers of :mod:`headway.schedule.online.rop_edf`); here it only gets numbers in place of names.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.engine.path_tasks import PathTasks
from headway.engine.program import Unit
from headway.engine.reserved_paths import JobWork, PathPlace, ReservedPaths
from headway.errors import UnsupportedError
from headway.model.quantities import Rate
from headway.native.cpp_text import Fields, constant_name, fields, number, span_of, table, truth
from headway.native.program_layout import ProgramForm, ProgramLayout
from headway.schedule.online.reservation import Ledger, ReservationPolicy
from headway.schedule.online.rop_edf import SharesOfTuples, WholeTuples

NAME = "RESERVATIONS"
NONE = "headway::NONE"
MOST = (1 << 32) - 1
"""tuples that a rate may count"""


def reserves(layout: ProgramLayout) -> ReservationPolicy | None:
    """The policy, if the program's jobs have to be admitted."""
    policy = layout.policy
    guarded = isinstance(policy, ReservationPolicy) and policy.guarded and layout.charged
    return policy if guarded and isinstance(policy, ReservationPolicy) else None


def reservation_lines(layout: ProgramLayout) -> list[str]:
    """The tables of a program whose policy reserves, and above them all that they show;
    UnsupportedError for a policy whose books are not known here."""
    policy = reserves(layout)
    assert policy is not None
    return _LedgerTables(layout, _paths(layout), policy).write()


def _paths(layout: ProgramLayout) -> ReservedPaths:
    if layout.form is ProgramForm.NODE:
        assert layout.part is not None
        assert layout.part.reserved is not None
        return layout.part.reserved
    return PathTasks(layout.plan, layout.program).tables()


@dataclass
class _LedgerTables:
    layout: ProgramLayout
    paths: ReservedPaths
    policy: ReservationPolicy
    lines: list[str] = field(default_factory=list)

    def write(self) -> list[str]:
        ledgers = self._ledgers()
        units = self._table(
            "UnitReservation", "RESERVED_UNITS", [self._unit(u) for u in self.layout.program.units]
        )
        names = list(self.layout.graph.sources)
        sources = self._table("PolicedSource", "POLICED", [self._source(name) for name in names])
        parts = fields(rule=self._rule(), ledgers=ledgers, units=units, sources=sources)
        body = parts.lines(indent=0, end=";")
        self.lines += [f"constexpr headway::ReservationTables {NAME} = {body[0]}", *body[1:], ""]
        return self.lines

    def _table(self, kind: str, name: str, rows: list[Fields]) -> str:
        if rows:
            self.lines += [*table(f"headway::{kind}", name, rows), ""]
        return span_of(name, len(rows))

    # ---------------------------------------------------------------- what nodes have to give

    def _books(self, node: str) -> Ledger:
        return self.policy.open_for_tuples(
            self.paths.facts[node], self.paths.overheads.get(node, 0)
        )

    def _rule(self) -> str:
        kinds = {type(self._books(node)) for node in self.paths.facts}
        if kinds <= {WholeTuples}:
            return "headway::SoftRule::WHOLE_TUPLES"
        if kinds <= {SharesOfTuples}:
            return "headway::SoftRule::SHARES"
        raise UnsupportedError(
            f"native code does not keep the books of the policy {self.policy.name!r}",
            want="use 'rop-edf-1' or 'rop-edf-2', or the engine 'vehicle'",
        )

    def _ledgers(self) -> str:
        self._rule()
        rows = []
        for node in self.paths.facts:
            books = self._books(node)
            assert isinstance(books, WholeTuples | SharesOfTuples)
            shares = books.unused if isinstance(books, SharesOfTuples) else [0] * len(books.tasks)
            tasks = self._table(
                "ReservedTask",
                f"RESERVED_TASKS_ON_{constant_name(node)}",
                [
                    fields(hard=truth(task.hard), share=number(share))
                    for task, share in zip(books.tasks, shares, strict=True)
                ],
            )
            rows.append(
                fields(
                    tasks=tasks,
                    soft_capacity=number(books.soft_capacity),
                    overhead=number(books.overhead),
                )
            )
        return self._table("LedgerTable", "LEDGERS", rows)

    # ---------------------------------------------------------------- units

    def _unit(self, unit: Unit) -> Fields:
        sources, paths = self.paths.sources, self.paths
        name = constant_name(unit.name)
        found = [paths.places.get((unit.name, source)) for source in sources]
        places = works = "{}"
        if any(found):
            ports = [one.port for one in unit.head.inputs]
            known = [
                paths.works.get((unit.name, port, source)) for source in sources for port in ports
            ]
            places = self._table("PathPlace", f"PATHS_OF_{name}", [self._place(p) for p in found])
            works = self._table("PathWork", f"WORK_OF_{name}", [_work(one) for one in known])
        first = sources.index(paths.first_source[unit.name])
        return fields(first_source=str(first), places=places, works=works)

    def _place(self, place: PathPlace | None) -> Fields:
        if place is None:
            return fields(ledger=NONE, task="0", stage="0", hard="false")
        ledger = list(self.paths.facts).index(place.node)
        return fields(
            ledger=str(ledger), task=str(place.task), stage=str(place.stage), hard=truth(place.hard)
        )

    # ---------------------------------------------------------------- sources

    def _source(self, name: str) -> Fields:
        layout, paths = self.layout, self.paths
        origin = str(paths.sources.index(name)) if name in paths.sources else NONE
        entrance, curve = paths.entrances.get(name), layout.graph.sources[name].arrivals
        if entrance is None or curve is None:
            return fields(origin=origin, rates="{}", takers="{}", outputs="{}")
        outlet = layout.outlets[layout.outlet(name, dict(layout.plan.placement)[name])]
        constant = constant_name(name)
        takers = [
            fields(unit=str(unit.index), port=str([i.port for i in unit.head.inputs].index(port)))
            for unit, port in outlet.entries
            if (unit.name, port) in entrance.units
        ]
        places = list(layout.graph.outputs)
        outputs = [str(places.index(o)) for o in outlet.outputs if o in entrance.outputs]
        rates = [_rate(rate) for rate in curve.rates]
        shown = self._table("DeclaredRate", f"RATES_OF_{constant}", rates)
        soft = self._table("Entry", f"SOFT_TAKERS_OF_{constant}", takers)
        if outputs:
            self.lines += [*table("headway::Index", f"SOFT_OUTPUTS_OF_{constant}", outputs), ""]
        return fields(
            origin=origin,
            rates=shown,
            takers=soft,
            outputs=span_of(f"SOFT_OUTPUTS_OF_{constant}", len(outputs)),
        )


def _work(work: JobWork | None) -> Fields:
    if work is None:
        return fields(once="0", each="0", last="0", bounded="true")
    return fields(
        once=number(work.once),
        each=number(work.each),
        last=number(work.last),
        bounded=truth(work.bounded),
    )


def _rate(rate: Rate) -> Fields:
    return fields(
        count=str(min(rate.count, MOST)), period=number(rate.period), jitter=number(rate.jitter)
    )
