"""What is counted of a run and of several, on results made by hand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import cast

from headway.engine.chain_watch import ChainMeasure
from headway.engine.declared_limits import Beyond
from headway.engine.kernel import Precision
from headway.engine.operators.operator_base import DropKind, Dropped
from headway.engine.results import (
    COUNTS,
    KernelCounts,
    OutputRecord,
    OutputTuple,
    RunResult,
    SideOutput,
    Totals,
    VehicleRun,
    output_data,
    records_of,
    summary_data,
)
from headway.engine.trace import Trace
from headway.model.query import Criticality, Output, Query


@dataclass
class Counted:
    """A kernel that has counted so much."""

    now: int
    arrived: int = 0
    timeouts: int = 0
    decisions: int = 0
    preemptions: int = 0
    refused: int = 0
    beyond: tuple[Beyond, ...] = ()
    precision: dict[str, Precision] = field(default_factory=dict)

    def exceeded(self) -> tuple[Beyond, ...]:
        return self.beyond

    def output_precision(self) -> dict[str, Precision]:
        return self.precision


def result(kernel: Counted, *outputs: OutputRecord, side: SideOutput | None = None) -> RunResult:
    return RunResult(
        outputs={output.name: output for output in outputs},
        side=side or SideOutput(),
        trace=Trace(),
        kernel=cast(KernelCounts, kernel),
    )


def output(name: str, *latencies: int, weight: float = 1.0, hard: bool = True) -> OutputRecord:
    """Tuples sensed at 1, 2, 3… us, with a deadline of 100 ns."""
    rows = [(number + 1, 0.0) for number in range(len(latencies))]
    completed = [1000 * (n + 1) + latency for n, latency in enumerate(latencies)]
    return OutputRecord(name, 100, weight, hard, [*rows], completed)


def test_a_tuple_and_its_deadline() -> None:
    one = OutputTuple((3, 0.0), 3_100, 3_100)
    assert (one.latency, one.missed) == (100, False)
    assert OutputTuple((3, 0.0), 3_101, 3_100).missed
    assert list(output("o", 100, 7)) == [
        OutputTuple((1, 0.0), 1_100, 1_100),
        OutputTuple((2, 0.0), 2_007, 2_100),
    ]
    record = output("o", 5)
    record.extend([(2, 1.0), (3, 2.0)], 3_050)
    assert record.completed == [1_005, 3_050, 3_050]
    assert list(record.latencies) == [5, 1_050, 50]
    assert len(record) == 3


def test_the_summary_of_an_output() -> None:
    record = output("o", 10, 101, 30, 100, 40, weight=3.0, hard=False)
    record.precision = Precision(done=3, asked=4)
    assert record.misses == 1
    found = record.summary()
    assert (found.output, found.tuples, found.misses, found.deadline) == ("o", 5, 1, 100)
    assert (found.hard, found.weight, found.precision) == (False, 3.0, 0.75)
    assert (found.latency_median, found.latency_99, found.latency_max) == (40, 100, 101)
    assert output_data(found)["latency_max_ns"] == 101
    assert output_data(found)["precision"] == 0.75
    empty = output("o").summary()
    assert (empty.tuples, empty.latency_median, empty.latency_99, empty.latency_max) == (0,) * 4
    assert empty.precision is None
    assert "precision" not in output_data(empty)


def test_records_of_a_query() -> None:
    outputs = (
        Output(name="a", stream="s", deadline=5, criticality=Criticality.SOFT, weight=2.0),
        Output(name="b", stream="s", deadline=None, criticality=Criticality.HARD),
    )
    found = records_of(Query(name="q", sources=(), steps=(), outputs=outputs))
    told = [(one.name, one.relative_deadline, one.weight, one.hard) for one in found.values()]
    assert told == [("a", 5, 2.0, False), ("b", 0, 1.0, True)]


def dropped(kind: DropKind, where: str = "x") -> Dropped:
    return Dropped(where, kind, (0,), "why")


def test_what_left_its_way_is_counted_beyond_what_is_kept() -> None:
    side = SideOutput(most=2)
    for kind in (DropKind.LATE, DropKind.SHED, DropKind.LATE, DropKind.FAILED, DropKind.LATE):
        side.take(dropped(kind), 7)
    assert [(time, one.kind) for time, one in side.dropped] == [
        (7, DropKind.LATE),
        (7, DropKind.SHED),
    ]
    assert [side.count(kind) for kind in DropKind] == [
        {DropKind.LATE: 3, DropKind.SHED: 1, DropKind.FAILED: 1}.get(kind, 0) for kind in DropKind
    ]
    assert side.by_place() == Counter(
        {("x", DropKind.LATE): 3, ("x", DropKind.SHED): 1, ("x", DropKind.FAILED): 1}
    )
    everything = SideOutput()
    for _ in range(9):
        everything.take(dropped(DropKind.REJECTED), 1)
    assert (len(everything.dropped), everything.count(DropKind.REJECTED)) == (9, 9)


def test_the_summary_of_a_run() -> None:
    side = SideOutput()
    for kind, count in (("shed", 1), ("late", 2), ("rejected", 3), ("failed", 4)):
        for _ in range(count):
            side.take(dropped(DropKind(kind)), 0)
    beyond = (Beyond("s", "1 per 2 ms", 6), Beyond("j", "partners: {a: 1}", 5))
    kernel = Counted(
        now=99, arrived=20, timeouts=7, decisions=8, preemptions=9, refused=10, beyond=beyond
    )
    found = result(kernel, output("a", 50, 150, weight=3.0), output("b", 10), side=side).summary()
    told = {name: getattr(found, name) for name in COUNTS}
    assert told == {
        "arrived": 20,
        "shed": 1,
        "late": 2,
        "rejected": 3,
        "failed": 4,
        "refused": 10,
        "beyond": 11,
        "decisions": 8,
        "preemptions": 9,
        "timeouts": 7,
    }
    assert (found.end, found.exceeded) == (99, beyond)
    assert found.miss_ratio == 3 / 8  # half of what weighs 3, none of what weighs 1
    data = summary_data(found)
    assert (data["end_ns"], data["miss_ratio"], data["beyond"]) == (99, 3 / 8, 11)
    assert [one["misses"] for one in data["outputs"]] == [1, 0]
    assert data["exceeded"][0] == {"where": "s", "declared": "1 per 2 ms", "count": 6}
    assert "chains" not in data


def measure(age: int | None, reaction: int | None, name: str = "a") -> ChainMeasure:
    return ChainMeasure(output=name, streams=("s", name), age=age, reaction=reaction)


def test_runs_of_several_vehicles() -> None:
    """Counts add up, percentiles are of all tuples, the end is the last one's; each declaration
    that was exceeded and each chain is told once."""
    first = result(
        Counted(
            now=500, arrived=2, beyond=(Beyond("s", "d", 1),), precision={"a": Precision(1, 4)}
        ),
        output("a", 10, 20, 30),
        output("b", 1, hard=False),
    )
    second = result(
        Counted(
            now=300,
            arrived=5,
            beyond=(Beyond("s", "d", 2), Beyond("t", "d", 4)),
            precision={"a": Precision(2, 4)},
        ),
        output("a", 400, 500),
        output("b", 101, hard=False),
    )
    first.chains, second.chains = (measure(5, None),), (measure(4, 9), measure(1, 1, "b"))
    totals = Totals()
    totals.add(VehicleRun("one", first))
    totals.add(VehicleRun("two", second))
    found = totals.summary
    assert (found.arrived, found.end, found.beyond) == (7, 500, 7)
    assert found.exceeded == (Beyond("s", "d", 3), Beyond("t", "d", 4))
    assert found.chains == (measure(5, 9), measure(1, 1, "b"))
    a, b = found.outputs
    assert (a.tuples, a.misses, a.latency_median, a.latency_max) == (5, 2, 30, 500)
    assert a.precision == 3 / 8
    assert (b.tuples, b.misses, b.precision) == (2, 1, None)
    assert totals.hard_misses == ["a"]
    assert [(vehicle, run.end) for vehicle, run in totals.by_vehicle] == [
        ("one", 500),
        ("two", 300),
    ]
    data = summary_data(found)
    assert data["chains"][0] == {
        "output": "a",
        "streams": ["s", "a"],
        "age_ns": 5,
        "reaction_ns": 9,
    }


def test_no_run_at_all() -> None:
    found = Totals().summary
    assert (found.outputs, found.end, found.exceeded, found.chains) == ((), 0, (), ())
    assert [getattr(found, name) for name in COUNTS] == [0] * len(COUNTS)
    assert found.miss_ratio == 0.0
