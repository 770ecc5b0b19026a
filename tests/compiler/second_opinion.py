"""A second opinion on latency bounds: chains of operators on one node under EDF, worked out another
way by other code, and runs of them by a scheduler of its own.

The compiler works with arrival curves, offsets and steps, all at once. This one writes the densest
sequence of arrivals down, instant by instant, and counts jobs in it: by deadlines (the processor
demand criterion, Baruah, Rosier and Howell, 1990, with one section of a less urgent job before it,
Jeffay, Stanat and Martel, 1991) and by arrivals (a busy period); each job ends by the earlier of
both. It imports nothing of the compiler.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from random import Random


@dataclass(frozen=True)
class Chain:
    """A source and the operators behind it; tuples arrive ``count`` at a time, a ``period`` apart
    and displaced by up to ``jitter``, at most ``delay`` after sensing."""

    count: int
    period: int
    jitter: int
    delay: int
    costs: tuple[int, ...]
    deadline: int


@dataclass(frozen=True)
class Processor:
    decision: int
    preemption: int

    def work(self, chain: Chain) -> int:
        """All that a job costs: a decision before each operator, one preemption and a decision to
        resume."""
        resume = self.preemption + self.decision
        return sum(cost + self.decision for cost in chain.costs) + resume

    def section(self, chain: Chain) -> int:
        return max(chain.costs) + self.decision + self.preemption


def densest(chain: Chain, until: int) -> list[int]:
    """The instants of the densest arrivals: all jitter used up at first."""
    found = []
    burst = 0
    while (instant := max(0, burst * chain.period - chain.jitter)) <= until:
        found += [instant] * chain.count
        burst += 1
    return found


def opinion(chains: list[Chain], processor: Processor) -> list[int] | None:
    """The latest that a tuple of each chain can be done, from its sensing; None without a bound."""
    work = [processor.work(chain) for chain in chains]
    share = sum(
        (Fraction(w * c.count, c.period) for w, c in zip(work, chains, strict=True)), Fraction(0)
    )
    if share >= 1:
        return None
    busy = _busy(chains, work)
    return [
        min(
            chain.deadline
            + _lateness(chains, work, processor, chain.deadline - chain.delay, share),
            chain.delay + busy,
        )
        for chain in chains
    ]


def _busy(chains: list[Chain], work: list[int]) -> int:
    length = 0
    while True:
        longer = sum(w * len(densest(chain, length)) for w, chain in zip(work, chains, strict=True))
        if longer == length:
            return length
        length = longer


def _lateness(
    chains: list[Chain], work: list[int], processor: Processor, least: int, share: Fraction
) -> int:
    """The most that demand and a section under way exceed an interval of at least that length."""
    sections = [(chain.deadline, processor.section(chain)) for chain in chains]
    constant = sum(
        Fraction(w * c.count * (c.period + max(0, c.jitter + c.delay - c.deadline)), c.period)
        + w * c.count
        for w, c in zip(work, chains, strict=True)
    ) + max(length for _, length in sections)
    end = int(constant / (1 - share)) + max(abs(least), 1)
    jobs = sorted(
        (instant + chain.deadline - chain.delay, w)
        for w, chain in zip(work, chains, strict=True)
        for instant in densest(chain, end - chain.deadline + chain.delay)
    )

    def excess(length: int, demand: int) -> int:
        return demand + max((s for d, s in sections if d > length), default=0) - length

    demand = sum(w for due, w in jobs if due <= least)
    worst = excess(least, demand)
    for due, w in jobs:
        if due > least:
            demand += w
            worst = max(worst, excess(due, demand))
    return worst


# ---------------------------------------------------------------- runs


def simulated(chains: list[Chain], processor: Processor, random: Random, until: int) -> list[int]:
    """The latest tuple of each chain in a run with hostile arrivals: earliest deadline first,
    operators not interrupted."""
    arrivals: list[tuple[int, int, int]] = []
    for index, chain in enumerate(chains):
        ideal = random.choice((0, random.randrange(chain.period)))
        first = ideal
        while ideal < until:
            for _ in range(chain.count):
                shift = random.choice(
                    (max(0, chain.jitter - (ideal - first)), random.randint(0, chain.jitter))
                )
                instant = ideal + shift
                age = random.choice((chain.delay, random.randint(0, chain.delay)))
                arrivals.append((instant, index, instant - age))
            ideal += chain.period + random.choice((0, 0, 0, random.randrange(chain.period)))
    arrivals.sort()
    latest = [0] * len(chains)
    ready: list[tuple[int, int, int, int, int]] = []
    now = number = 0
    running: int | None = None
    place = 0
    while place < len(arrivals) or ready:
        if not ready:
            now = max(now, arrivals[place][0])
        while place < len(arrivals) and arrivals[place][0] <= now:
            _, index, sensed = arrivals[place]
            heappush(ready, (sensed + chains[index].deadline, number, index, sensed, 0))
            number, place = number + 1, place + 1
        deadline, job, index, sensed, done = heappop(ready)
        costs = chains[index].costs
        now += processor.decision + costs[done]
        if running is not None and running != job:
            now += processor.preemption
        if done + 1 < len(costs):
            running = job
            heappush(ready, (deadline, job, index, sensed, done + 1))
        else:
            running = None
            latest[index] = max(latest[index], now - sensed)
    return latest


def random_set(random: Random) -> tuple[list[Chain], Processor]:
    """One to five chains that use 20 to 95 % of a processor."""
    count = random.randint(1, 5)
    target = random.uniform(0.2, 0.95)
    chains = []
    for _ in range(count):
        period = random.choice((20, 50, 100, 100, 200, 333, 400)) * 100
        burst = random.choice((1, 1, 1, 2, 3))
        parts = random.choice((1, 1, 2, 3))
        budget = max(parts, int(target / count * period / burst))
        costs = tuple(max(1, int(budget / parts * random.uniform(0.5, 1.3))) for _ in range(parts))
        chains.append(
            Chain(
                count=burst,
                period=period,
                jitter=random.choice((0, 0, random.randint(0, period))),
                delay=random.choice((0, 0, random.randint(0, period))),
                costs=costs,
                deadline=random.randint(budget * burst, 4 * period),
            )
        )
    decision = random.choice((0, 0, 3))
    return chains, Processor(decision, decision * random.choice((0, 2)))
