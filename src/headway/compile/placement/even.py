"""Evens out the load of a placement by moving and swapping operators, without more network usage.

A quick start for the exact search for the flattest load, and the answer when that runs out of time.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.compile.placement.layout import Layout, Measures
from headway.compile.placement.problem import PlacementProblem
from headway.compile.placement.state import State

_POWER = 16  # a high power of the utilisations stands for the largest, and sees the next ones too
_MOST_SWEEPS = 20


def even_out(problem: PlacementProblem, layout: Layout, found: Measures) -> tuple[Layout, Measures]:
    """A layout of no more usage and no larger peak."""
    state = State(problem)
    numbers = {node: number for number, node in enumerate(state.nodes)}
    for index, name in enumerate(state.names):
        state.move(index, numbers[layout.placement[name]])
    most = found.usage * (1 + 1e-9)
    if not state.complete or state.usage > most:
        return layout, found
    movable = [index for index, nodes in enumerate(state.allowed) if len(nodes) > 1]
    for _ in range(_MOST_SWEEPS):
        if not (_sweep_moves(state, movable, most) | _sweep_swaps(state, movable, most)):
            break
    better = state.measured(state.at)
    if better is None or better[1].peak > found.peak or better[1].usage > most:
        return layout, found
    return better


def _sweep_moves(state: State, movable: Sequence[int], most: float) -> bool:
    moved = False
    for index in movable:
        for node in state.allowed[index]:
            moved |= _try(state, [(index, node)], most)
    return moved


def _sweep_swaps(state: State, movable: Sequence[int], most: float) -> bool:
    moved = False
    for place, one in enumerate(movable):
        for other in movable[place + 1 :]:
            here, there = state.at[one], state.at[other]
            if there in state.allowed[one] and here in state.allowed[other]:
                moved |= _try(state, [(one, there), (other, here)], most)
    return moved


def _try(state: State, moves: list[tuple[int, int]], most: float) -> bool:
    """Makes the moves if the load is flatter after them and the usage no larger."""
    back = [(index, state.at[index]) for index, _ in moves]
    nodes = {node for _, node in moves} | {node for _, node in back}
    if len(nodes) == 1:
        return False
    before = _unevenness(state, nodes)
    for index, node in moves:
        state.move(index, node)
    if state.usage <= most and _unevenness(state, nodes) < before * (1 - 1e-6):
        return True
    for index, node in back:
        state.move(index, node)
    return False


def _unevenness(state: State, nodes: set[int]) -> float:
    return sum(
        float((state.used[n] / (state.capacity[n] or 1e-9)) ** _POWER) for n in sorted(nodes)
    )
