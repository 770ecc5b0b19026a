"""Nodes as threads of one process: placements in which ends and watermarks go in circles."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.compiler.build import VALUE
from tests.engine.nodes.study import CHEAP, EPOCH
from tests.waiting import PATIENCE_S

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import slices_of
from headway.engine.nodes.liveness import PeerTiming
from headway.engine.nodes.node_key import new_key
from headway.engine.nodes.node_process import NodeProcess, NodeSettings
from headway.engine.nodes.node_slice import slice_from_json, slice_to_json
from headway.engine.program import Unit
from headway.engine.reservations import Books
from headway.model.expression import Column, Sql
from headway.model.operators import Aggregate, Filter, Input, Join, Map, Operator, Union
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND, Rate
from headway.model.query import Criticality, Decide, LoadShedder, Output, Query, Source
from headway.model.schema import schema
from headway.model.vehicle import Bus, BusKind, Node, Vehicle
from headway.sources.parquet_file import StreamWriter

CALM = PeerTiming(
    heartbeat=50 * MILLISECOND, missed=12_000, start=600 * SECOND, linger=600 * SECOND
)
"""A busy machine is not to be taken for a lost node, nor is anything left behind at the end."""


def one(stream: str) -> tuple[Input, ...]:
    return (Input("input", stream),)


def average(name: str, stream: str, window: int) -> Aggregate:
    return Aggregate(
        name=name,
        inputs=one(stream),
        cost=CHEAP,
        window=window * MILLISECOND,
        every=window * MILLISECOND,
        columns=(Column("v", Sql("avg(v)")),),
    )


def plan_of(
    operators: list[Operator],
    pins: dict[str, str],
    shedder: bool = False,
    criticality: Criticality = Criticality.SOFT,
) -> Plan:
    """Sources a (on x) and b (on y); every operator is an output."""
    shed = LoadShedder(at_most=3, per=50 * MILLISECOND, value=Sql("v"), decide=Decide.WINDOW_END)
    rate = Rate(1, 10 * MILLISECOND)
    query = Query(
        name="circles",
        sources=(
            Source(name="a", schema=VALUE, rate=rate, shedder=shed if shedder else None),
            Source(name="b", schema=VALUE, rate=rate, lateness=5 * MILLISECOND),
        ),
        steps=tuple(operators),
        outputs=tuple(
            Output(
                name=f"out_{o.name}", stream=o.name, deadline=5 * SECOND, criticality=criticality
            )
            for o in operators
        ),
    )
    nodes = ("x", "y", "z")
    bus = Bus(name="bus", kind=BusKind.ETHERNET, bit_rate=100_000_000, nodes=nodes)
    vehicle = Vehicle(
        name="three",
        nodes=tuple(Node(name=name) for name in nodes),
        buses=(bus,),
        sensors=(("a", "x"), ("b", "y")),
        pins=tuple(pins.items()),
    )
    return compile_query(query, vehicle)


def step(name: str, stream: str) -> Map:
    return Map(name=name, inputs=one(stream), cost=CHEAP, columns=(Column("v", Sql("v + 1")),))


CASES: dict[str, Plan] = {
    "to and fro": plan_of(
        [
            *(step(n, s) for n, s in (("m1", "a"), ("m2", "m1"), ("m3", "m2"), ("m4", "b"))),
            average("s1", "m3", 40),
        ],
        {"m1": "x", "m2": "y", "m3": "x", "m4": "x", "s1": "y"},
    ),
    "sources cross as they are": plan_of(
        [
            Union(name="u", inputs=(Input("input1", "a"), Input("input2", "b")), cost=CHEAP),
            average("s1", "u", 30),
        ],
        {"u": "z", "s1": "z"},
    ),
    "an aggregate of aggregates elsewhere": plan_of(
        [average("s1", "a", 60), average("s2", "s1", 20), average("s3", "b", 30)],
        {"s1": "x", "s2": "z", "s3": "x"},
    ),
    "a join behind a shedder that decides at the window's end": plan_of(
        [
            Filter(name="f", inputs=one("b"), cost=CHEAP, where=Sql("v > 3")),
            Join(
                name="j",
                inputs=(Input("left", "a"), Input("right", "f")),
                cost=CHEAP,
                within=20 * MILLISECOND,
                columns=(Column("v", Sql("left.v + right.v")),),
                most_outputs=5,
            ),
            average("s1", "j", 50),
        ],
        {"f": "x", "j": "y", "s1": "x"},
        shedder=True,
    ),
}


def recorded(folder: Path, count: int = 40) -> list[Arrival]:
    arrivals = []
    for name, offset in (("a", 0), ("b", 3_000)):
        with StreamWriter(folder / f"{name}.parquet", schema(v="double")) as writer:
            for n in range(count):
                at = EPOCH + n * 10_000 + offset
                writer.write((at, float(n % 7)), arrived_at=at)
                arrivals.append(Arrival(at * MICROSECOND, name, (at, float(n % 7))))
    return sorted(arrivals)


def run_nodes(
    plan: Plan, folder: Path, found: dict[str, list[tuple[Any, ...]]], policy: str = "s-edf"
) -> None:
    parts = slices_of(plan, policy)
    with ExitStack() as stack:
        servers = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in parts]
        addresses = {
            part.node: ("127.0.0.1", int(server.getsockname()[1]))
            for part, server in zip(parts, servers, strict=True)
        }

    class Kept(NodeProcess):
        def _publish(self, output: str, row: tuple[Any, ...], completed: int) -> None:
            found.setdefault(output, []).append(row)

    settings = NodeSettings(addresses=addresses, key=new_key(), inputs=folder, timing=CALM)
    nodes = [Kept(part, settings) for part in parts]
    start = time.monotonic_ns() + 50 * MILLISECOND
    threads = [
        threading.Thread(target=node.run, args=(EPOCH * MICROSECOND, start)) for node in nodes
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the run does not end"


@pytest.mark.parametrize("plan", CASES.values(), ids=CASES)
def test_the_run_ends_with_the_outputs_of_one_process(plan: Plan, tmp_path: Path) -> None:
    arrivals = recorded(tmp_path)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    found: dict[str, list[tuple[Any, ...]]] = {}
    run_nodes(plan, tmp_path, found)
    for name, record in meant.outputs.items():
        assert len(record), name
        assert sorted(found.get(name, [])) == sorted(record.rows), name


@pytest.mark.parametrize("policy", ["rop-edf-1", "rop-edf-2", "er-edf", "cbs"])
def test_each_node_reserves_its_own_processor(policy: str, tmp_path: Path) -> None:
    """Hard tuples within their rate are admitted however slow this machine is (ER-EDF: unless
    their deadline has passed), so none may be missing; those of two sources come over the wire in
    one stream."""
    both = Union(name="u", inputs=(Input("input1", "a"), Input("input2", "b")), cost=CHEAP)
    plan = plan_of(
        [both, step("m1", "u"), step("m2", "m1")],
        {"u": "x", "m1": "z", "m2": "x"},
        criticality=Criticality.HARD,
    )
    arrivals = recorded(tmp_path)
    meant = Engine(plan=plan, charged=False).run(arrivals)
    found: dict[str, list[tuple[Any, ...]]] = {}
    run_nodes(plan, tmp_path, found, policy)
    for name, record in meant.outputs.items():
        assert sorted(found.get(name, [])) == sorted(record.rows), name


def test_tuples_tell_on_the_wire_which_source_they_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sources come to z in one stream; each tuple is a job of its own source's task there."""
    both = Union(name="u", inputs=(Input("input1", "a"), Input("input2", "b")), cost=CHEAP)
    plan = plan_of([both, step("m1", "u")], {"u": "x", "m1": "z"}, criticality=Criticality.HARD)
    released: list[tuple[str, str]] = []
    release = Books.release

    def noted(books: Books, unit: Unit, port: str, source: str | None, *more: Any) -> Any:
        released.append((unit.head.name, str(source)))
        return release(books, unit, port, source, *more)

    monkeypatch.setattr(Books, "release", noted)
    recorded(tmp_path)
    run_nodes(plan, tmp_path, {}, "rop-edf")
    assert released.count(("m1", "a")) == released.count(("m1", "b")) == 40


def test_a_slice_tells_what_is_reserved_on_its_node() -> None:
    plan = CASES["to and fro"]
    for part in slices_of(plan, "rop-edf"):
        assert part.reserved is not None
        assert set(part.reserved.facts) == {part.node}
        assert {place.node for place in part.reserved.places.values()} <= {part.node}
        assert slice_from_json(slice_to_json(part)) == part
    assert all(part.reserved is None for part in slices_of(plan, "op-edf"))
