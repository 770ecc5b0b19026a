"""Gives problems of compilation their place in the file they come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headway.errors import InputError, PlacementError, Problem, VehicleError
from headway.files import LoadedQuery, LoadedVehicle

VEHICLE_PARTS = frozenset({"nodes", "buses", "gateways", "links", "sensors", "pins"})
"""What stands at the top of a vehicle file; nothing in a query file bears these names."""


@contextmanager
def placed(query: LoadedQuery, vehicle: LoadedVehicle | None = None) -> Iterator[None]:
    """Problems raised inside get their place in the query, its libraries or the vehicle."""
    try:
        yield
    except InputError as error:
        of_vehicle = isinstance(error, VehicleError | PlacementError)

        def place(problem: Problem) -> Problem:
            part = problem.at.partition(".")[0]
            in_vehicle = part in VEHICLE_PARTS or (of_vehicle and not part)
            loaded = vehicle if vehicle is not None and in_vehicle else query
            return loaded.places.attach_all([problem])[0]

        raise type(error)(place(problem) for problem in error.problems) from None
