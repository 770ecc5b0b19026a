"""The papers' scenario as data, with random numbers for each of its purposes (AEDSMS section 6)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import isfinite

import numpy as np

from headway.errors import InputError, Problem

# --------------------------------- random numbers: drawing more for one purpose never moves another


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


# ---------------------------------------------------------------- the drive (AEDSMS section 6.1)


KMH = 1 / 3.6
"""m/s"""


@dataclass(frozen=True, slots=True)
class Scenario:
    """Our car drives east along a street of a grid, straight on, past ``columns`` crossings.

    Printed in the papers: blocks of 100 m, 60 km/h, two crowded crossings, six cars without V2V
    that arrive at a crossing when we do. Their figure with the initial positions cannot be read
    from the text, so how the cars are placed is ours (:mod:`headway.world.grid_traffic`).
    """

    cars: int = 54
    """other cars, those on collision course among them; more cars, more V2V tuples"""
    seed: int = 1
    duration: float = 48.0
    """seconds"""
    v2v: bool = True
    """whether cars (but those on collision course) have a radio"""
    block: float = 100.0
    """metres from crossing to crossing"""
    speed: float = 60 * KMH
    """m/s, of every car"""
    street_width: float = 20.0
    """metres from building to building (3GPP TR 36.885, urban grid)"""
    lane_width: float = 3.5
    lanes: int = 2
    """in each direction; one drives on the left, as where 700 MHz is for V2V"""
    columns: int = 8
    """crossings on our way, numbered from 0"""
    rows: int = 9
    """streets parallel to ours, ours in the middle; an odd number"""
    start: float = -100.0
    """where our car is at time 0: metres east of crossing 0"""
    collision_crossings: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    """at each of these a car without V2V meets us"""
    witnesses: bool = True
    """whether each of them is seen by a car with a radio, the vehicle E of the papers' figure 1"""
    crowded_crossings: tuple[int, ...] = (2, 5)
    crowd: float = 0.5
    """share of the other cars that are at a crowded crossing when we are"""

    def arrival(self, crossing: int) -> float:
        """Seconds until our car is in the middle of a crossing."""
        return (crossing * self.block - self.start) / self.speed

    def validate(self) -> None:
        """InputError naming every field that cannot be."""
        problems = [*_numbers(self), *_counts(self)]
        if not problems:
            problems = list(_crossings(self))
        if problems:
            raise InputError(problems)


def _numbers(scenario: Scenario) -> list[Problem]:
    problems = [
        Problem("must be a positive number", at=f"scenario.{name}", got=repr(value))
        for name in ("duration", "block", "speed", "street_width", "lane_width")
        if not (isfinite(value := getattr(scenario, name)) and value > 0)
    ]
    if not isfinite(scenario.start):
        problems.append(Problem("must be a number", at="scenario.start", got=repr(scenario.start)))
    if not 0 <= scenario.crowd <= 1:
        problems.append(
            Problem("must be from 0 to 1", at="scenario.crowd", got=repr(scenario.crowd))
        )
    return problems


def _counts(scenario: Scenario) -> list[Problem]:
    problems = [
        Problem(f"must be at least {least}", at=f"scenario.{name}", got=str(value))
        for name, least in (("seed", 0), ("lanes", 1), ("columns", 1), ("rows", 1))
        if (value := getattr(scenario, name)) < least
    ]
    if scenario.rows % 2 == 0:
        problems.append(
            Problem("must be odd: our street is the middle one", at="scenario.rows",
                    got=str(scenario.rows))
        )  # fmt: skip
    needed = len(scenario.collision_crossings) * (2 if scenario.witnesses else 1)
    if scenario.cars < needed:
        problems.append(
            Problem(
                "fewer cars than are on collision course, or see one that is",
                at="scenario.cars",
                got=f"{scenario.cars}, and {needed} are needed",
                want="give more cars or fewer collision crossings",
            )
        )
    if 2 * scenario.lanes * scenario.lane_width > scenario.street_width:
        problems.append(
            Problem(
                "the lanes do not fit between the buildings",
                at="scenario.street_width",
                got=f"{scenario.street_width} m for {2 * scenario.lanes} lanes",
            )
        )
    if scenario.street_width >= scenario.block:
        problems.append(
            Problem(
                "streets as wide as a block leave no buildings",
                at="scenario.street_width",
                got=f"{scenario.street_width} m, block {scenario.block} m",
            )
        )
    return problems


def _crossings(scenario: Scenario) -> list[Problem]:
    problems = []
    beyond = scenario.street_width / 2 / scenario.speed  # from the middle to the last lane
    for name in ("collision_crossings", "crowded_crossings"):
        crossings: tuple[int, ...] = getattr(scenario, name)
        at = f"scenario.{name}"
        if len(set(crossings)) < len(crossings):
            problems.append(Problem("a crossing is named twice", at=at, got=str(crossings)))
        for crossing in crossings:
            if not 0 <= crossing < scenario.columns:
                problems.append(
                    Problem(
                        "there is no such crossing",
                        at=at,
                        got=str(crossing),
                        want=f"they are 0 to {scenario.columns - 1}",
                    )
                )
            elif not beyond < scenario.arrival(crossing) < scenario.duration - beyond:
                problems.append(
                    Problem(
                        f"our car is at crossing {crossing} after {scenario.arrival(crossing):g} s,"
                        " outside the drive",
                        at=at,
                        want=f"it takes {scenario.duration:g} s",
                    )
                )
    if scenario.crowd > 0 and not scenario.crowded_crossings:
        problems.append(
            Problem("a crowd needs a crowded crossing", at="scenario.crowd",
                    got=repr(scenario.crowd), want="name one, or set crowd to 0")
        )  # fmt: skip
    return problems
