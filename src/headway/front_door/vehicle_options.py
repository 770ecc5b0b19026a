"""What may be asked of the engine of the car, from Python and on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from headway.engine.clock import MonotonicClock, WallClock
from headway.engine.engine import Engine, OutputCallback
from headway.engine.execution_times import DrawnTimes
from headway.engine.waiting_room import WhenFull
from headway.engine.wall_engine import WallEngine
from headway.errors import InputError
from headway.front_door.runnable_plan import RunnablePlan
from headway.model.plan import Plan
from headway.schedule.online import engine_policy_named

if TYPE_CHECKING:
    from headway.native.native_engine import NativeEngine


@dataclass(frozen=True, kw_only=True)
class OptionWords:
    """What messages call the options."""

    speed: str
    wall: str
    zero_cost: str
    batching: str
    partitioned: str
    virtual_again: str
    native: str
    most_waiting: str
    when_full: str
    cost_seed: str


IN_PYTHON = OptionWords(
    speed="speed",
    wall="clock='wall'",
    zero_cost="zero_cost",
    batching="batching",
    partitioned="cores='partitioned'",
    virtual_again="leave out clock=",
    native="engine='native'",
    most_waiting="most_waiting",
    when_full="when_full",
    cost_seed="cost_seed",
)


@dataclass(frozen=True, kw_only=True)
class VehicleOptions:
    """Checked when made: InputError for what does not go together."""

    policy: str
    clock: Literal["virtual", "wall"] | WallClock
    speed: float | None
    partitioned: bool
    batching: bool
    zero_cost: bool
    trace: bool
    native: bool = False
    """compiled to C++, in this process"""
    most_waiting: int | None = None
    when_full: str | None = None
    """``shed`` (the default), ``oldest`` or ``refuse``"""
    cost_seed: int | None = None
    """execution times are drawn between best and worst; None: always the worst"""
    words: OptionWords = IN_PYTHON

    def __post_init__(self) -> None:
        engine_policy_named(self.policy)
        if isinstance(self.clock, str) and self.clock not in ("virtual", "wall"):
            want = "'virtual', 'wall' or a clock"
            raise InputError("there is no such clock", got=repr(self.clock), want=want)
        words = self.words
        if self.virtual and self.speed is not None:
            raise InputError(
                f"{words.speed} is for {words.wall}; virtual time is as fast as it can be"
            )
        if self.virtual and self.most_waiting is not None:
            raise InputError(f"{words.most_waiting} is for {words.wall}")
        if self.virtual and self.when_full is not None:
            raise InputError(f"{words.when_full} is for {words.wall}")
        if self.when_full is not None and self.when_full not in tuple(WhenFull):
            want = f"one of {', '.join(WhenFull)}"
            raise InputError(f"{words.when_full} has no such rule", got=self.when_full, want=want)
        if self.most_waiting is not None and self.most_waiting < 1:
            raise InputError(f"{words.most_waiting} must be 1 or more", got=f"{self.most_waiting}")
        if self.speed is not None and not 0 < self.speed < 1e6:
            raise InputError(f"{words.speed} must be more than nothing", got=f"{self.speed}")
        given = {
            words.zero_cost: self.zero_cost,
            words.batching: self.batching,
            words.partitioned: self.partitioned,
            words.cost_seed: self.cost_seed is not None,
        }
        for option, used in given.items():
            if used and not self.virtual:
                raise InputError(f"{option} is for virtual time; {words.virtual_again}")
        if self.native and not self.virtual:
            raise InputError(
                f"{words.native} runs in virtual time; {words.virtual_again}",
                want="in real time compiled nodes run by themselves: headway build --target native",
            )
        native_refuses = {
            words.batching: self.batching,
            words.cost_seed: self.cost_seed is not None,
        }
        for option, used in native_refuses.items():
            if self.native and used:
                raise InputError(f"{option} is not for {words.native}", want="leave it out")
        if self.cost_seed is not None and self.zero_cost:
            raise InputError(f"{words.cost_seed} and {words.zero_cost} do not go together")

    def not_covered(self, plan: Plan) -> str:
        """Why the plan's promises do not hold for such a run; empty where they do."""
        if plan.verdict is None or not self.partitioned:
            return ""
        used = {task.node for task in plan.tasks}
        shared = [
            node.name
            for node in plan.vehicle.nodes
            if node.cores > 1 and not node.partitioned and node.name in used
        ]
        if not shared:
            return ""
        return (
            f"No promise covers this run: {self.words.partitioned} gives each train of "
            f"{', '.join(shared)} one core, and the bounds are for one queue for all cores. "
            "Declare 'partitioned: true' there."
        )

    @property
    def virtual(self) -> bool:
        return isinstance(self.clock, str) and self.clock == "virtual"

    def engine(
        self, prepared: RunnablePlan, on_output: OutputCallback | None = None
    ) -> Engine | WallEngine | NativeEngine:
        """A fresh one; ``on_output`` is told in virtual time, in real time applications
        subscribe."""
        if self.native:
            # Only who compiles needs what compiles.
            from headway.native.native_engine import NativeEngine

            return NativeEngine(
                plan=prepared.plan,
                policy=self.policy,
                charged=prepared.charged,
                partitioned=self.partitioned,
                keep_trace=self.trace,
                on_output=on_output,
            )
        if self.virtual:
            return Engine(
                plan=prepared.plan,
                policy=self.policy,
                charged=prepared.charged,
                partitioned=self.partitioned,
                batching=self.batching,
                times=None if self.cost_seed is None else DrawnTimes(self.cost_seed),
                keep_trace=self.trace,
                on_output=on_output,
            )
        return WallEngine(
            plan=prepared.plan,
            policy=self.policy,
            clock=MonotonicClock() if isinstance(self.clock, str) else self.clock,
            speed=self.speed or 1.0,
            most_waiting=self.most_waiting,
            when_full=WhenFull(self.when_full or WhenFull.SHED),
            keep_trace=self.trace,
        )
