"""How often the truth is in the 95 % interval that is told, in a simulation of the filter's model.

Cars whose velocity wanders as the filter assumes know themselves by type 1 and tell it by radio;
our type 2 fuses what they tell. The interval of each axis is 1.96 σ wide to each side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, hypot, pi, sin, sqrt
from random import Random

from headway.fusion.own_vehicle import OwnVehicleFusion
from headway.fusion.state import NORMAL_95
from headway.fusion.surroundings import SurroundingsFusion
from headway.model.schema import schema
from headway.model.user_operator import OperatorContext, Row

STEP = 0.1
WARM_UP = 60
"""cycles"""
SCATTER, SPEED_SCATTER, SCALE_SCATTER = 3.0, 0.2, 0.02
WINDOW = 1_000_000_000
GPS = schema(x="double [m]", y="double [m]", var_pos="double")
SPEED = schema(v="double [m/s]", var_v="double")
TOLD = schema(
    at="timestamp",
    x="double [m]",
    y="double [m]",
    vx="double [m/s]",
    vy="double [m/s]",
    var_x="double",
    var_y="double",
    var_vx="double",
    var_vy="double",
)
NUMBERS = ("x", "y", "vx", "vy", "var_x", "var_y", "var_vx", "var_vy")
HEARD = schema(id="bigint", sensor="string(5)", own="boolean", **dict.fromkeys(NUMBERS, "double"))
FUSED = schema(id="bigint", at="timestamp", x="double", y="double", var_x="double", var_y="double")


@dataclass
class Counted:
    """Intervals that held the truth, of how many."""

    held: int = 0
    of: int = 0

    def count(self, truth: Sequence[float], place: Row, variances: Row) -> None:
        """The first two of each are x and y."""
        for one, true, variance in zip(place[:2], truth[:2], variances[:2], strict=True):
            self.held += abs(one - true) <= NORMAL_95 * sqrt(variance)
            self.of += 1

    @property
    def share(self) -> float:
        return self.held / self.of


class WanderingCar:
    """Drives, and knows itself by GPS and wheels; all its fixes may share an error."""

    def __init__(self, random: Random, shared: float) -> None:
        self.random = random
        way = random.uniform(0.0, 2.0 * pi)
        self.truth = [random.gauss(0, 100), random.gauss(0, 100), 16 * cos(way), 16 * sin(way)]
        self.offset = [random.gauss(0, shared) for _ in range(2)]
        self.scale = random.gauss(1.0, SCALE_SCATTER)
        self.fusion = OwnVehicleFusion()
        parameters = {"shared_variance": shared**2} if shared else {}
        self.fusion.open(
            OperatorContext(
                name="own",
                inputs={"gps": GPS, "speed": SPEED},
                output=TOLD,
                windows={"front": WINDOW, "rear": WINDOW},
                parameters=parameters,
            )
        )

    def moves(self) -> None:
        """Continuous white noise of acceleration with the filter's default strength, 1 m²/s⁴."""
        for axis in (0, 1):
            gained = sqrt(STEP) * self.random.gauss(0, 1)
            aside = sqrt(STEP**3 / 12) * self.random.gauss(0, 1)
            self.truth[axis] += STEP * self.truth[2 + axis] + STEP * gained / 2 + aside
            self.truth[2 + axis] += gained

    def tells(self, time: int) -> Row:
        """x, y, vx, vy and their variances."""
        x, y = (
            self.truth[axis] + self.offset[axis] + self.random.gauss(0, SCATTER) for axis in (0, 1)
        )
        speed = hypot(*self.truth[2:]) * self.scale + self.random.gauss(0, SPEED_SCATTER)
        tuples: dict[str, list[Row]] = {
            "gps": [(time, x, y, SCATTER**2)],
            "speed": [(time, speed, SPEED_SCATTER**2)],
        }
        (row,) = self.fusion.process(tuples, 0)
        return row[2:]


def shares(
    *, correlated: bool, shared: float = 0.0, cars: int = 40, cycles: int = 160, seed: int = 1
) -> tuple[float, float]:
    """Of the intervals that the cars tell, and of those of our fusion: how many hold the truth.
    ``shared`` is the deviation (m) of the error that all fixes of a car have in common."""
    random = Random(seed)
    fleet = [WanderingCar(random, shared) for _ in range(cars)]
    ours = SurroundingsFusion()
    ours.open(
        OperatorContext(
            name="ours",
            inputs={"v2v": HEARD},
            output=FUSED,
            windows={
                "front": WINDOW,
                "rear": WINDOW,
                "object_key": "id",
                "sensor_key": "sensor",
                "correlated": correlated,
            },
            parameters={"own_id": -1, "acceleration_variance": 1.0},
        )
    )
    told, fused = Counted(), Counted()
    for cycle in range(cycles):
        time = round(cycle * STEP * 1e6)
        rows = [car.tells(time) for car in fleet]
        reports = [(time, id, "v2v", False, *row) for id, row in enumerate(rows)]
        estimates = list(ours.process({"v2v": reports}, 0))
        for car, row, estimate in zip(fleet, rows, estimates, strict=True):
            if cycle >= WARM_UP:
                told.count(car.truth, row, row[4:])
                fused.count(car.truth, estimate[3:], estimate[5:])
            car.moves()
    return told.share, fused.share
