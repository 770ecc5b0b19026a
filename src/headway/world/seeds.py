"""Random numbers, one generator per purpose: drawing more for one never moves another."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Purpose(IntEnum):
    """What is drawn; the numbers are part of the recordings' identity, so they stay."""

    PHASE = 1
    SENDING = 2
    GPS = 3
    SPEED = 4
    HEADING = 5
    OWN_RADAR = 6
    OTHER_RADAR = 7
    LOSS = 8
    DAMAGE = 9
    OWN_ESTIMATE = 10


def generator(seed: int, trial: int, purpose: Purpose, car: int = 0) -> np.random.Generator:
    """The generator for one purpose of one repetition of the traffic with that seed."""
    return np.random.default_rng(np.random.SeedSequence((seed, trial, purpose, car)))
