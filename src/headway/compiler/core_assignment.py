"""Which core each train of a node has, where its cores have a queue each (``partitioned``)."""

from __future__ import annotations

from collections.abc import Sequence


def cores_of_trains(
    costs: Sequence[int], shared: Sequence[frozenset[str]], cores: int
) -> list[int]:
    """The core of each train, by its place: the costliest first to the core with the least cost so
    far. Trains that pass an operator with state together (``shared`` names those of each train)
    stay on one core."""
    given = [0] * cores
    found = [0] * len(costs)
    groups = _together(shared)
    groups.sort(key=lambda places: (-sum(costs[place] for place in places), places[0]))
    for places in groups:
        least = min(range(cores), key=lambda core: (given[core], core))
        for place in places:
            found[place] = least
            given[least] += costs[place]
    return found


def _together(shared: Sequence[frozenset[str]]) -> list[list[int]]:
    """Places of trains that are joined by operators they share."""
    groups: list[tuple[frozenset[str], list[int]]] = []
    for place, names in enumerate(shared):
        joined, places = names, [place]
        rest = []
        for others, members in groups:
            if joined & others:
                joined, places = joined | others, members + places
            else:
                rest.append((others, members))
        groups = [*rest, (joined, places)]
    return [places for _, places in groups]
