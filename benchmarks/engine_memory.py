"""Memory over long runs: ``python engine_memory.py CASE TUPLES`` prints, as JSON, the resident
memory (KiB) at every tenth of the run, the most rows that operators kept, and the CPU seconds.

Arrivals come from a generator, outputs and trace are not kept. One process a case, so that no case
sees what another left behind.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time

from engine_chain import COLUMNS, chain_plan, plan_of, singles

from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Input, Join, Operator, UserDefined
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost, Rate
from headway.model.query import Output, Query, Source
from headway.model.user_operator import Row, State, UserOperator

TENTHS = 10
EVERY = 20 * MICROSECOND


class Merge(UserOperator):
    """The newest tuple of what was gathered."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> list[Row]:
        return [max(row for rows in inputs.values() for row in rows)]

    def snapshot(self) -> State:
        return {}

    def restore(self, state: State) -> None:
        pass


def two_sources_plan(operator: Operator) -> Plan:
    sources = tuple(
        Source(
            name=name,
            schema=COLUMNS,
            rate=Rate(1, EVERY),
            lateness=2 * MILLISECOND,
            gap=10 * MILLISECOND,
        )
        for name in dict.fromkeys(operator.streams)
    )
    output = Output(name="out", stream=operator.name, deadline=500 * MILLISECOND)
    return plan_of(Query(name="long", sources=sources, steps=(operator,), outputs=(output,)))


def join_plan() -> Plan:
    return two_sources_plan(
        Join(
            name="join",
            inputs=(Input("a", "s"), Input("b", "t")),
            cost=Cost(MICROSECOND),
            within=EVERY,
            keys=(("k", "k"),),
            columns=(Column("v", Sql("a.v + b.v")), Column("k", Sql("a.k"))),
            partners=("a", 3),
        )
    )


def aggregate_plan() -> Plan:
    return two_sources_plan(
        Aggregate(
            name="sums",
            inputs=(Input("input", "s"),),
            cost=Cost(MICROSECOND),
            window=10 * MILLISECOND,
            every=5 * MILLISECOND,
            by=("k",),
            columns=(Column("v", Sql("sum(v)")),),
        )
    )


def gather_plan() -> Plan:
    return two_sources_plan(
        UserDefined(
            name="merge",
            inputs=(Input("a", "s"), Input("b", "t")),
            cost=Cost(MICROSECOND),
            timeout=MILLISECOND,
            implementation="engine_memory:Merge",
            schema=COLUMNS,
        )
    )


def alternating(count: int) -> Iterator[Arrival]:
    for i in range(count // 2):
        row = (i * EVERY // MICROSECOND, float(i), i % 7)
        yield Arrival(i * EVERY, "s", row)
        yield Arrival(i * EVERY, "t", row)


def only_s(count: int) -> Iterator[Arrival]:
    for i in range(count):
        yield Arrival(i * EVERY, "s", (i * EVERY // MICROSECOND, float(i), i % 7))


Case = tuple[Callable[[], Plan], Callable[[int], Iterator[Arrival]]]
CASES: dict[str, Case] = {
    "chain": (lambda: chain_plan(Rate(1, 10 * MICROSECOND), MILLISECOND), singles),
    "join": (join_plan, alternating),
    "aggregate": (aggregate_plan, only_s),
    "gather": (gather_plan, alternating),
}


def resident() -> int:
    """KiB in real memory."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line
    )
    return int(line.split()[1])


def main() -> None:
    name, count = sys.argv[1], int(sys.argv[2])
    make, arrivals = CASES[name]
    engine = Engine(plan=make(), keep_trace=False, keep_outputs=False)
    memory: list[int] = []
    sizes = [0]
    operators = engine._program.stateful.values()

    def watched() -> Iterator[Arrival]:
        for number, arrival in enumerate(arrivals(count), start=1):
            yield arrival
            if number % 1_000 == 0:
                sizes.append(sum(operator.size() for operator in operators))
                if number % (count // TENTHS) == 0:
                    memory.append(resident())

    start = process_time()
    result = engine.run(watched())
    seconds = process_time() - start
    assert result.kernel.arrived == count
    print(json.dumps({"memory": memory, "most_kept": max(sizes), "seconds": seconds}))


if __name__ == "__main__":
    main()
