"""Simulated annealing over placements: an answer when the exact search ran out of time.

Streams take the shortest routes. Moves and swaps of operators are accepted by the change of network
usage plus a penalty for overload; the best placement within the capacities is kept. Seeded.
"""

from __future__ import annotations

import math
import random

from headway.compile.placement.layout import Layout, Measures
from headway.compile.placement.problem import PlacementProblem
from headway.compile.placement.state import State

_STEPS_EACH = 8_000
_PENALTY = 1.0


def anneal(problem: PlacementProblem, seed: int = 0) -> tuple[Layout, Measures] | None:
    """The best layout met, or None when none respected the capacities."""
    state = State(problem)
    draw = random.Random(seed)
    movable = [index for index, nodes in enumerate(state.allowed) if len(nodes) > 1]
    volumes = [volume for _, _, volume in state.streams if volume]
    if not movable or not volumes or not state.complete:
        return None
    for index in movable:
        state.move(index, draw.choice(state.allowed[index]))
    hot, cold = max(volumes), min(volumes) / 4
    steps = _STEPS_EACH * len(movable)
    best: tuple[float, list[int]] | None = None
    for step in range(steps):
        temperature = hot * (cold / hot) ** (step / steps)
        index = draw.choice(movable)
        before, after = state.at[index], _destination(state, draw, index)
        if before == after:
            continue
        moves = [(index, before, after)]
        other = draw.choice(movable)
        if draw.random() < 0.5 and state.at[other] == after and before in state.allowed[other]:
            moves.append((other, after, before))
        old = state.usage + state.overload * hot * _PENALTY
        for who, _, to in moves:
            state.move(who, to)
        worse = state.usage + state.overload * hot * _PENALTY - old
        if worse > 0 and draw.random() >= math.exp(-worse / temperature):
            for who, back, _ in reversed(moves):
                state.move(who, back)
        elif state.overload <= 0 and (best is None or state.usage < best[0] - 1e-9):
            best = (state.usage, state.at.copy())
    return None if best is None else state.measured(best[1])


def _destination(state: State, draw: random.Random, index: int) -> int:
    """A node for an operator: half the time one where a partner of one of its streams is."""
    if state.touches[index] and draw.random() < 0.5:
        producer, readers, _ = state.streams[draw.choice(state.touches[index])]
        wanted = state.at[draw.choice((producer, *readers))]
        if wanted in state.allowed[index]:
            return wanted
    return draw.choice(state.allowed[index])
