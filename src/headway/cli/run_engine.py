"""What the options of `headway run` make of the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headway.cli.run_plan import RunnablePlan
from headway.errors import InputError, Problem
from headway.model.time import milliseconds
from headway.runtime.engine import Engine
from headway.runtime.keeping_up import KeepingUp
from headway.runtime.wall_engine import WallEngine
from headway.schedule.online import engine_policy_named, policy_named


class EngineName(StrEnum):
    SPARK = "spark"
    VEHICLE = "vehicle"


class Clock(StrEnum):
    VIRTUAL = "virtual"
    WALL = "wall"


class Cores(StrEnum):
    GLOBAL = "global"
    PARTITIONED = "partitioned"


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """Checked when made: InputError for what does not go together."""

    engine: EngineName
    policy: str
    clock: Clock
    cores: Cores
    speed: float | None
    batching: bool
    zero_cost: bool
    trace: bool
    watches: list[KeepingUp] = field(default_factory=list)
    """of the engines made in wall-clock time"""

    def __post_init__(self) -> None:
        if self.clock is Clock.VIRTUAL:
            engine_policy_named(self.policy)
        else:
            policy_named(self.policy)
        if self.clock is Clock.VIRTUAL and self.speed is not None:
            raise InputError("--speed is for --clock wall; virtual time is as fast as it can be")
        if self.speed is not None and not 0 < self.speed < 1e6:
            raise InputError(Problem("--speed must be more than nothing", got=f"{self.speed}"))
        if self.clock is Clock.WALL:
            given = {
                "--zero-cost": self.zero_cost,
                "--batching": self.batching,
                "--cores partitioned": self.cores is Cores.PARTITIONED,
            }
            for option, used in given.items():
                if used:
                    raise InputError(f"{option} is for virtual time; leave out --clock wall")

    def make(self, prepared: RunnablePlan) -> Engine | WallEngine:
        """A fresh engine."""
        if self.clock is Clock.WALL:
            wall = WallEngine(
                plan=prepared.plan,
                policy=self.policy,
                speed=self.speed or 1.0,
                keep_trace=self.trace,
            )
            self.watches.append(wall.keeping_up)
            return wall
        return Engine(
            plan=prepared.plan,
            policy=self.policy,
            charged=prepared.charged,
            partitioned=self.cores is Cores.PARTITIONED,
            batching=self.batching,
            keep_trace=self.trace,
        )

    def data(self, prepared: RunnablePlan) -> dict[str, Any]:
        """For the summary; whether a run in wall-clock time kept up is known after it."""
        wall = self.clock is Clock.WALL
        costs = "declared" if prepared.charged else "no"
        data: dict[str, Any] = {
            "engine": self.engine.value,
            "policy": self.policy,
            "clock": self.clock.value,
            "costs": "real" if wall else costs,
            "cores": self.cores.value,
            "batching": self.batching,
        }
        if wall:
            data["speed"] = self.speed or 1.0
            data["late_arrivals"] = sum(watch.late_arrivals for watch in self.watches)
            data["worst_lag_ns"] = max((watch.worst_lag for watch in self.watches), default=0)
        return data

    def complaint(self) -> str:
        """What must be said loudly of a run that could not keep up."""
        late = sum(watch.late_arrivals for watch in self.watches)
        if all(watch.kept_up for watch in self.watches):
            return ""
        worst = max(watch.worst_lag for watch in self.watches)
        return (
            f"the engine could not keep up: {late:,} tuples were taken in late, "
            f"by up to {milliseconds(worst)} ms"
        )
