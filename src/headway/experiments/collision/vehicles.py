"""The vehicles of the study: the AEDSMS paper's three ECUs, and the S-EDF paper's one machine."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from headway.experiments.collision.application import Application, application
from headway.model.vehicle import Vehicle

THREE_NODES, ONE_NODE = "three nodes", "one node"


@cache
def application_on(vehicle: str) -> Application:
    """The example on one of the two."""
    given = application()
    return given if vehicle == THREE_NODES else Application(given.query, alone(given))


def alone(given: Application) -> Vehicle:
    """Everything on one ECU like the first of the vehicle: no network (S-EDF section 6)."""
    node = replace(given.vehicle.nodes[0], name="ecu")
    sensors = tuple((source.name, node.name) for source in given.query.sources)
    return Vehicle(name="one_node", nodes=(node,), sensors=sensors)
