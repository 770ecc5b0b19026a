"""Whatever an attempt holds, its arrivals are within what the sources declare."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from tests.engine.random_runs import Shape, random_query

from headway.engine.adversary.attempts import (
    EVERY,
    Attempt,
    Change,
    ShortenedTimes,
    arrivals_of,
    horizon_of,
)
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost
from headway.model.query import Query

MS = MILLISECOND


def any_attempt(draw: Random, query: Query) -> Attempt:
    """Numbers far out of what is allowed, too."""
    far = 10**9

    def number() -> int:
        return draw.choice((0, 1, draw.randint(0, 20 * MS), draw.randint(-far, far), far))

    names = [source.name for source in query.sources]
    return Attempt(
        {name: abs(number()) for name in names},
        {
            (draw.choice(names), draw.randint(0, 8), draw.choice(list(Change))): number()
            for _ in range(draw.randint(0, 12))
        },
        group=draw.choice((1, 3, 1000)),
        spreads={draw.choice(names): number() for _ in range(draw.randint(0, 2))},
    )


def test_every_attempt_is_within_what_is_declared() -> None:
    looked_at = 0
    for seed in range(30):
        draw = Random(seed)
        query = random_query(draw, Shape())
        for _ in range(3):
            attempt = any_attempt(draw, query)
            found = arrivals_of(attempt, query, min(horizon_of(query), 60 * MS))
            assert list(found) == sorted(found, key=lambda arrival: arrival.time)
            for source in query.sources:
                own = [one for one in found if one.source == source.name]
                times = [one.time for one in own]
                assert all(0 <= one.time - one.row[0] * MICROSECOND <= source.delay for one in own)
                assert source.gap is not None
                assert max((b - a for a, b in pairwise(times)), default=0) <= source.gap
                if source.rate is None:
                    continue
                for first in range(len(times)):
                    for last in range(first, min(first + 30, len(times))):
                        length = times[last] - times[first]
                        assert last - first + 1 <= source.rate.in_interval(length)
                looked_at += len(own)
    assert looked_at > 500


def test_executions_are_shortened_by_number_and_never_below_the_best() -> None:
    times = ShortenedTimes({("o", 1): 0.0, ("p", EVERY): 0.5})
    cost = Cost(100, per_item=10, best=40)
    assert times.varies("o", cost)
    assert not times.varies("q", cost)
    assert [times.next("o", cost).base for _ in range(3)] == [100, 40, 100]
    assert times.next("p", cost) == Cost(70, per_item=5)
    assert times.next("q", cost) == cost
