"""Each fault of a vehicle is found, at its path; a sound vehicle has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headway.compiler.check_vehicle import vehicle_problems
from headway.model.vehicle import Bus, BusKind, Gateway, Link, Node, Vehicle

SOUND = Vehicle(
    name="sound",
    nodes=(Node(name="n1"), Node(name="n2", rate=0.5, capacity=0.9, cores=2)),
    buses=(
        Bus(name="b1", kind=BusKind.CAN, bit_rate=500_000, nodes=("n1", "n2")),
        Bus(name="b2", kind=BusKind.CAN_FD, bit_rate=500_000, nodes=(), data_bit_rate=2_000_000),
    ),
    gateways=(Gateway(name="g", buses=("b1", "b2"), delay=5),),
    links=(Link(name="l", ends=("n1", "g"), speed=10**8),),
    sensors=(("gps", "n1"),),
    pins=(("own.map1", "n2"),),
)


def test_a_sound_vehicle_has_no_problems() -> None:
    assert vehicle_problems(SOUND) == []


def test_two_are_enough_for_a_gateway() -> None:
    """Two buses, or a bus and a link; not one bus, though a link goes elsewhere."""
    assert vehicle_problems(replace(SOUND, links=())) == []
    assert vehicle_problems(gateway(buses=("b1",))) == []
    elsewhere = Link(name="l", ends=("n1", "n2"), speed=10**8)
    alone = replace(gateway(buses=("b1",)), links=(elsewhere,))
    (problem,) = vehicle_problems(alone)
    assert (problem.at, problem.got) == ("gateways.g", "1")
    (problem,) = vehicle_problems(gateway(buses=()))
    assert problem.got == "1"  # its link


def node(**changes: Any) -> Vehicle:
    return replace(SOUND, nodes=(SOUND.nodes[0], replace(SOUND.nodes[1], **changes)))


def bus(**changes: Any) -> Vehicle:
    return replace(SOUND, buses=(replace(SOUND.buses[0], **changes), SOUND.buses[1]))


def gateway(**changes: Any) -> Vehicle:
    return replace(SOUND, gateways=(replace(SOUND.gateways[0], **changes),))


def link(**changes: Any) -> Vehicle:
    return replace(SOUND, links=(replace(SOUND.links[0], **changes),))


@pytest.mark.parametrize(
    ("vehicle", "at", "what"),
    [
        (node(rate=0.0), "nodes.n2.rate", "must be positive"),
        (node(rate=float("nan")), "nodes.n2.rate", "must be positive"),
        (node(capacity=1.1), "nodes.n2.capacity", "not a share"),
        (node(capacity=float("nan")), "nodes.n2.capacity", "not a share"),
        (node(cores=0), "nodes.n2.cores", "a node needs a core"),
        (node(decision_cost=-1), "nodes.n2.decision_cost", "a time below zero"),
        (node(preemption_cost=-1), "nodes.n2.preemption_cost", "a time below zero"),
        (bus(nodes=("n1", "n3")), "buses.b1.nodes", "no node 'n3'"),
        (bus(nodes=("n1", "n1")), "buses.b1.nodes", "the node 'n1' stands twice"),
        (bus(bit_rate=0), "buses.b1.bit_rate", "must be positive"),
        (bus(capacity=0.0), "buses.b1.capacity", "not a share"),
        (bus(identifier_bits=12), "buses.b1.identifier_bits", "no such identifier"),
        (bus(data_bit_rate=5), "buses.b1.data_bit_rate", "only CAN FD has a second bit rate"),
        (gateway(buses=("b1", "b3")), "gateways.g.buses", "no bus 'b3'"),
        (gateway(buses=("b1", "n1")), "gateways.g.buses", "no bus 'n1'"),
        (gateway(delay=-1), "gateways.g.delay", "a time below zero"),
        (gateway(buses=()), "gateways.g", "a gateway joins at least two buses or links"),
        (link(ends=("n1", "n9")), "links.l.ends", "no node or gateway 'n9'"),
        (link(ends=("n1", "b1")), "links.l.ends", "no node or gateway 'b1'"),
        (link(ends=("n1", "n1")), "links.l.ends", "both ends of the link are the same"),
        (link(speed=-5), "links.l.speed", "must be positive"),
        (link(capacity=2.0), "links.l.capacity", "not a share"),
        (link(name="b1"), "links.b1", "the name 'b1' is taken"),
        (link(name="a b"), "links.a b", "not a name"),
        (replace(SOUND, sensors=(("gps", "n7"),)), "sensors.gps", "no node 'n7'"),
        (replace(SOUND, pins=(("own.map1", "b1"),)), "pins.own.map1", "no node 'b1'"),
        (
            replace(SOUND, pins=(("map1", "n1"), ("map1", "n2"))),
            "pins.map1",
            "'map1' stands twice",
        ),
        (Vehicle(name="empty", nodes=()), "nodes", "a vehicle without nodes"),
        (node(name="n1"), "nodes.n1", "the name 'n1' is taken"),
    ],
)
def test_each_fault_is_found(vehicle: Vehicle, at: str, what: str) -> None:
    assert (at, what) in [(problem.at, problem.what) for problem in vehicle_problems(vehicle)]


def test_an_unknown_name_is_met_with_a_suggestion() -> None:
    vehicle = replace(SOUND, sensors=(("gps", "nn1"),))
    assert [str(problem) for problem in vehicle_problems(vehicle)] == [
        "sensors.gps: no node 'nn1'; did you mean 'n1'? known: n1, n2"
    ]
