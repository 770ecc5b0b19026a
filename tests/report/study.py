"""The collision-warning study of the AEDSMS paper as a plan, with a made-up verdict."""

from __future__ import annotations

from tests.report.build import operator, plan_of, source

from headway.model.expression import Sql
from headway.model.plan import LatencyStep, Load, Plan, Promise, Verdict
from headway.model.quantities import MICROSECOND, MILLISECOND, SECOND
from headway.model.query import LoadShedder, Output, Query
from headway.model.vehicle import Bus, BusKind, Gateway, Node, Vehicle


def collision_warning() -> Plan:
    """Three nodes, two buses and a gateway; output3 is given a bound that is too long."""
    shedder = LoadShedder(at_most=20, per=100 * MILLISECOND, value=Sql("-v"))
    query = Query(
        name="collision_warning",
        sources=(source("gps"), source("speed"), source("radar"), source("v2v", shedder)),
        steps=(
            operator("spc_a.sdfo1", ["gps", "speed"], "udo", 1_840_000, 10 * MILLISECOND),
            operator("spc_a.map1", ["spc_a.sdfo1"]),
            operator("spc_b.join1", ["radar", "spc_a.map1"], "join"),
            operator("spc_b.map2", ["spc_b.join1"]),
            operator("union1", ["spc_a.map1", "spc_b.map2"], "union"),
            operator("map3", ["union1"]),
            operator("sdfo2", ["union1", "v2v"], "udo", 11 * MILLISECOND, 100 * MILLISECOND),
            operator("filter1", ["sdfo2"], "filter"),
            operator("filter2", ["sdfo2"], "filter"),
            operator("spc_c.join2", ["filter1", "filter2"], "join"),
            operator("spc_c.map4", ["spc_c.join2"]),
            operator("map5", ["sdfo2"]),
        ),
        outputs=(
            Output(name="output1", stream="map3", deadline=30 * MILLISECOND),
            Output(name="output2", stream="spc_c.map4", deadline=300 * MILLISECOND),
            Output(name="output3", stream="map5", deadline=3 * SECOND),
        ),
    )
    nodes = {
        "node1": ("gps", "speed", "spc_a.sdfo1", "spc_a.map1"),
        "node2": ("radar", "spc_b.join1", "spc_b.map2", "union1"),
        "node3": (
            "v2v",
            "map3",
            "sdfo2",
            "filter1",
            "filter2",
            "spc_c.join2",
            "spc_c.map4",
            "map5",
        ),
    }
    vehicle = Vehicle(
        name="test_car",
        nodes=(Node(name="node1", rate=0.5), Node(name="node2"), Node(name="node3", capacity=0.8)),
        buses=(
            Bus(name="bus1", kind=BusKind.CAN, bit_rate=500_000, nodes=("node1", "node2")),
            Bus(name="bus2", kind=BusKind.CAN_FD, bit_rate=500_000, nodes=("node3",)),
        ),
        gateways=(Gateway(name="gateway", buses=("bus1", "bus2"), delay=500 * MICROSECOND),),
    )
    return plan_of(
        query,
        vehicle,
        {name: node for node, names in nodes.items() for name in names},
        [
            ["spc_a.sdfo1", "spc_a.map1"],
            ["union1"],
            ["spc_b.join1", "spc_b.map2", "union1"],
            ["sdfo2"],
            ["map3"],
            ["filter1", "spc_c.join2", "spc_c.map4"],
            ["filter2", "spc_c.join2", "spc_c.map4"],
            ["map5"],
        ],
        Verdict(loads=_loads(), promises=_promises()),
    )


def _loads() -> tuple[Load, ...]:
    return (
        Load(name="node1", kind="node", utilisation=0.0478, capacity=1.0),
        Load(name="node2", kind="node", utilisation=0.31, capacity=1.0),
        Load(name="node3", kind="node", utilisation=0.93, capacity=0.8),
        Load(name="bus1", kind="bus", utilisation=0.22, capacity=1.0),
        Load(name="bus2", kind="bus", utilisation=0.09, capacity=1.0),
    )


def _promises() -> tuple[Promise, ...]:
    steps = (
        LatencyStep(place="gps", what="gps arrives after sensing", time=2 * MILLISECOND),
        LatencyStep(place="spc_a.sdfo1", what="waits for its other inputs", time=10 * MILLISECOND),
        LatencyStep(place="node1", what="T1 waits for the processor and runs", time=4_100_000),
        LatencyStep(place="bus1", what="spc_a.map1 passes bus1", time=1_326_000),
        LatencyStep(place="node2", what="T2 waits for the processor and runs", time=2_300_000),
        LatencyStep(place="bus1", what="union1 passes bus1", time=1_326_000),
        LatencyStep(place="gateway", what="union1 passes gateway", time=500_000),
        LatencyStep(place="bus2", what="union1 passes bus2", time=400_000),
        LatencyStep(place="node3", what="T5 waits for the processor and runs", time=1_200_000),
    )
    bound = sum(step.time for step in steps)
    deadline = 30 * MILLISECOND
    return (
        Promise(output="output1", deadline=deadline, hard=True, bound=bound, steps=steps),
        Promise(
            output="output2",
            deadline=300 * MILLISECOND,
            hard=True,
            bound=300 * MILLISECOND + 1,
            steps=(LatencyStep(place="node3", what="T4 runs", time=300 * MILLISECOND + 1),),
            blame="node3",
            advice="node3 1.25 times as fast; or a deadline of 301 ms",
        ),
        Promise(
            output="output3",
            deadline=3 * SECOND,
            hard=False,
            bound=None,
            reason="node3 can be asked for more than it can do",
            blame="node3",
            advice="lower rates or costs, or spread the operators",
        ),
    )
