"""Hill climbing for the latest tuple of every output.

Each try changes the best attempt known for one output in a few places, runs it in virtual time, and
keeps it where some output came later than ever (or as late, for the output in turn: plateaus are
wide). Changes are not blind: most go to bursts and operators near the worst tuple so far, and
phases snap to instants at which something happened, a little before or after. The same seed and
number of tries give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from headway.engine.adversary.attempts import (
    EVERY,
    Attempt,
    Change,
    ShortenedTimes,
    arrivals_of,
    bursts_of,
    declared_rate,
    horizon_of,
    latest_phase,
    longest_silence,
    widest_spread,
)
from headway.engine.adversary.stand_ins import build_stand_in, stand_in_plan
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.results import RunResult
from headway.errors import InputError
from headway.model.graph import graph_of
from headway.model.plan import Plan, Promise
from headway.model.quantities import MICROSECOND
from headway.model.query import Source


@dataclass(frozen=True, kw_only=True)
class LatestTuple:
    """The latest tuple of an output that was found: sensed and completed at these instants (ns)."""

    output: str
    sensed: int
    completed: int
    attempt: Attempt
    found_at: int
    """the number of the try that first came so late"""

    @property
    def latency(self) -> int:
        return self.completed - self.sensed


@dataclass(frozen=True, kw_only=True)
class AttackResult:
    """What came of a search, by output in the order of the query."""

    plan: Plan
    """with stand-ins"""
    tries: int
    seed: int
    discarded: int
    """tries that broke what the query declares of its joins, and did not count"""
    found: dict[str, LatestTuple]
    promises: dict[str, Promise]

    def share(self, output: str) -> float | None:
        """Latest tuple over bound."""
        latest, bound = self.found.get(output), self.promises[output].bound
        if latest is None or not bound:
            return None
        return latest.latency / bound

    @property
    def exceeded(self) -> list[str]:
        """Outputs that came later than their bound: the compiler is wrong there."""
        return [
            name
            for name, latest in self.found.items()
            if (bound := self.promises[name].bound) is not None and latest.latency > bound
        ]

    def replay(self, output: str) -> RunResult:
        """The run of the latest tuple once more, with its trace."""
        return run_attempt(self.plan, self.found[output].attempt, keep_trace=True)

    def arrivals(self, output: str) -> Sequence[Arrival]:
        return attempt_arrivals(self.plan, self.found[output].attempt)


def attempt_arrivals(plan: Plan, attempt: Attempt) -> Sequence[Arrival]:
    """What arrives in an attempt."""
    return arrivals_of(attempt, plan.query, horizon_of(plan.query))


def run_attempt(plan: Plan, attempt: Attempt, *, keep_trace: bool = False) -> RunResult:
    """Runs an attempt on a plan with stand-ins."""
    times = ShortenedTimes(attempt.shares) if attempt.shares else None
    engine = Engine(plan=plan, times=times, build=build_stand_in, keep_trace=keep_trace)
    return engine.run(attempt_arrivals(plan, attempt))


# ---------------------------------------------------------------- the search


def attack(
    plan: Plan,
    *,
    tries: int = 2_000,
    seed: int = 0,
    outputs: Sequence[str] = (),
    going_on: Callable[[], bool] = lambda: True,
    advance: Callable[[], None] = lambda: None,
) -> AttackResult:
    """Searches for the latest tuple of the outputs (all, if none are named). It ends after so many
    tries, or before one when ``going_on`` says no; ``advance`` is called after each."""
    if plan.verdict is None:
        raise InputError("a plan without a vehicle promises nothing", want="name a vehicle")
    names = [output.name for output in plan.query.outputs]
    for name in outputs:
        if name not in names:
            raise InputError(f"there is no output {name!r}", want=f"one of {', '.join(names)}")
    promises = {promise.output: promise for promise in plan.verdict.promises}
    climb = Climb(stand_in_plan(plan), list(outputs) or names, seed)
    done = 0
    while done < tries and going_on():
        climb.step(done)
        done += 1
        advance()
    return AttackResult(
        plan=climb.plan,
        tries=done,
        seed=seed,
        discarded=climb.discarded,
        found={name: climb.best[name] for name in climb.targets if name in climb.best},
        promises=promises,
    )


@dataclass
class Climb:
    """The state of a search."""

    plan: Plan
    targets: list[str]
    seed: int
    best: dict[str, LatestTuple] = field(default_factory=dict)
    discarded: int = 0

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.query = self.plan.query
        self.horizon = horizon_of(self.query)
        self.sources = {source.name: source for source in self.query.sources}
        self.bursting = [one for one in self.query.sources if declared_rate(one).count > 1]
        graph = graph_of(self.query)
        self.windowed: set[str] = set()
        for name in graph.order:
            operator = graph.operators[name]
            if operator.traits.emits_on_time or self.windowed & set(operator.streams):
                self.windowed.add(name)
        self.stream_of = {output.name: output.stream for output in self.query.outputs}
        self.starts = self._starts()

    def _starts(self) -> list[Attempt]:
        """All sources at once; each a timeout after the one before; anyhow."""
        timeouts = sorted({o.timeout for o in self.query.operators if o.timeout})
        found = [Attempt(), Attempt(group=1_000_000)]
        for timeout in timeouts:
            for more in (-MICROSECOND, 0, MICROSECOND):
                phases = {name: i * (timeout + more) for i, name in enumerate(self.sources)}
                found.append(Attempt(phases))
                last = max(phases.values())
                found.append(Attempt({name: last - phase for name, phase in phases.items()}))
        return found[:24]

    # ------------------------------------------------------------ a try

    def step(self, number: int) -> None:
        """One try."""
        target = self.targets[number % len(self.targets)]
        if number < len(self.starts):
            attempt = self.starts[number]
        elif target not in self.best or self.random.random() < 0.08:
            phases = {name: self._any_phase(source) for name, source in self.sources.items()}
            attempt = Attempt(phases, group=self.random.choice((1, 1, 2, 5, 1_000_000)))
        else:
            others = [one for one in self.best.values() if one.output != target]
            known = self.best[target]
            if others and self.random.random() < 0.1:
                known = self.random.choice(others)
            attempt = known.attempt
            for _ in range(self.random.choice((1, 1, 1, 2, 3, 5))):
                attempt = self._changed(attempt, known)
        result = run_attempt(self.plan, attempt)
        if result.kernel.exceeded():
            self.discarded += 1
            return
        for name, (sensed, completed) in self._latest(result, attempt).items():
            known_best = self.best.get(name)
            latency = completed - sensed
            least = -1 if known_best is None else known_best.latency
            if latency > least or (latency == least and name == target):
                self.best[name] = LatestTuple(
                    output=name,
                    sensed=sensed,
                    completed=completed,
                    attempt=attempt,
                    found_at=number,
                )

    def _latest(self, result: RunResult, attempt: Attempt) -> dict[str, tuple[int, int]]:
        """(sensed, completed) of the latest tuple of each output. Behind a window nothing counts
        once a source has been silent for longer than its gap: there the recording ends."""
        end = min(
            (
                bursts_of(attempt, source, self.horizon)[-1][1] + source.gap
                for source in self.query.sources
                if source.gap is not None
            ),
            default=0,
        )
        found: dict[str, tuple[int, int]] = {}
        for name, record in result.outputs.items():
            until = end if self.stream_of[name] in self.windowed else None
            worst = -1
            for row, completed in zip(record.rows, record.completed, strict=True):
                if until is not None and completed > until:
                    continue
                sensed = row[0] * MICROSECOND
                if completed - sensed > worst:
                    worst = completed - sensed
                    found[name] = (sensed, completed)
        return found

    # ------------------------------------------------------------ changes

    def _any_phase(self, source: Source) -> int:
        latest = min(latest_phase(source), self.horizon)
        return self.random.randint(0, latest // MICROSECOND) * MICROSECOND

    def _changed(self, attempt: Attempt, known: LatestTuple) -> Attempt:
        """One change, near the worst tuple known."""
        kind = self.random.random()
        if kind < 0.45:
            return self._phase(attempt, known)
        if kind < 0.8:
            return self._burst(attempt, known)
        if kind < 0.93:
            return self._share(attempt)
        if kind < 0.97 and self.bursting:
            return self._spread(attempt)
        return replace(attempt, group=self.random.choice((1, 1, 2, 3, 5, 10, 1_000_000)))

    def _phase(self, attempt: Attempt, known: LatestTuple) -> Attempt:
        """Another phase: any, a little off, or so that a burst falls on an instant that matters."""
        name = self.random.choice(list(self.sources))
        source = self.sources[name]
        phase = attempt.phases.get(name, 0)
        way = self.random.random()
        if way < 0.2:
            phase = self._any_phase(source)
        elif way < 0.4:
            step = self.random.choice((1, 10, 100, 1_000, 5_000)) * MICROSECOND
            phase += self.random.choice((-1, 1)) * self.random.randint(1, 9) * step
        else:
            period = declared_rate(source).period
            instant = self._instant(attempt, known)
            _, burst = min(
                bursts_of(attempt, source, self.horizon), key=lambda one: abs(one[1] - instant)
            )
            phase += instant - burst
            if phase < 0:
                phase += period
        phase = min(max(phase, 0), latest_phase(source))
        return replace(attempt, phases={**attempt.phases, name: phase})

    def _instant(self, attempt: Attempt, known: LatestTuple) -> int:
        """An instant near the worst tuple: its sensing, somebody's burst, a timeout later; or a
        little before or after."""
        instants = [known.sensed, known.completed]
        for source in self.sources.values():
            for _, instant in bursts_of(attempt, source, self.horizon):
                if known.sensed - source.delay <= instant <= known.completed:
                    instants.append(instant)
        instant = self.random.choice(instants)
        timeouts = [one.timeout for one in self.query.operators if one.timeout]
        costs = [one.cost.base for one in self.query.operators if one.cost is not None]
        if timeouts and self.random.random() < 0.3:
            instant += self.random.choice((-1, 1)) * self.random.choice(timeouts)
        if costs and self.random.random() < 0.3:
            instant += self.random.choice((-1, 1)) * self.random.choice(costs)
        return instant + self.random.choice((0, 0, 0, -1, 1, -MICROSECOND, MICROSECOND))

    def _burst(self, attempt: Attempt, known: LatestTuple) -> Attempt:
        """A burst that is earlier, later, older, smaller; or as it was at first."""
        name = self.random.choice(list(self.sources))
        source = self.sources[name]
        bursts = bursts_of(attempt, source, self.horizon)
        near = [n for n, instant in bursts if instant <= known.completed][-6:]
        number = self.random.choice(near or [0])
        kind = self.random.choice(list(Change))
        key = (name, number, kind)
        changes = dict(attempt.changes)
        if key in changes and self.random.random() < 0.4:
            del changes[key]
        else:
            changes[key] = self._amount(kind, source, bursts[number][1], attempt, known)
        return replace(attempt, changes=changes)

    def _amount(
        self, kind: Change, source: Source, instant: int, attempt: Attempt, known: LatestTuple
    ) -> int:
        rate = declared_rate(source)
        random = self.random
        if kind is Change.SIZE:
            return random.randint(0, rate.count)
        if kind in (Change.DROPPED, Change.ALONE):
            return 1
        most = {
            Change.SILENCE: longest_silence(source),
            Change.DISPLACED: rate.jitter,
            Change.AGE: source.delay,
        }[kind]
        if kind is Change.SILENCE and random.random() < 0.4:
            return max(0, self._instant(attempt, known) - instant)
        return random.choice((0, most, random.randint(0, most)))

    def _share(self, attempt: Attempt) -> Attempt:
        """Executions that take less than the worst case, one or all of an operator."""
        operator = self.random.choice([operator.name for operator in self.query.operators])
        key = (operator, self.random.choice((EVERY, *range(8))))
        shares = dict(attempt.shares)
        if key in shares and self.random.random() < 0.5:
            del shares[key]
        else:
            shares[key] = self.random.choice((0.0, 0.5, self.random.random()))
        return replace(attempt, shares=shares)

    def _spread(self, attempt: Attempt) -> Attempt:
        """The tuples of a source's bursts further apart, or together again."""
        source = self.random.choice(self.bursting)
        most = widest_spread(source)
        steps = [0, MICROSECOND, most, self.random.randint(0, most)]
        for one in self.query.operators:
            steps += [one.timeout or 0, 0 if one.cost is None else one.cost.base]
        step = self.random.choice(steps) + self.random.choice((0, 0, -MICROSECOND, MICROSECOND))
        return replace(attempt, spreads={**attempt.spreads, source.name: step})
