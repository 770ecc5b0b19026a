"""How hypothesis draws its examples: one profile for every run of the suite, one to explore with.

``make test`` draws the same examples on every machine and never looks at a clock, so it passes or
fails by the code alone. New ones are for ``make explore``: it sets ``HEADWAY_EXPLORE`` to how many
times as many are drawn, from a seed that it shows.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

VARIABLE = "HEADWAY_EXPLORE"
TIMES = int(os.environ.get(VARIABLE, "0"))
"""0: not exploring"""
USUAL = 100
"""examples of a test that does not say how many"""
HOW_TO_PIN = (
    "Found while exploring. To keep it: write the failing case above the test as @example(...),\n"
    "or, where it is drawn step by step, as a test of its own. Until then the @reproduce_failure\n"
    "line shown with it draws it again, and so does\n"
    "make explore SEED={seed} TIMES={times} TESTS=<the test's file>"
)


def load_profile() -> None:
    """The profile of this run. Drawing slowly is no failure of a test (``too_slow``), and the
    fuzzers mean to draw much (``data_too_large``)."""
    settings.register_profile(
        "headway",
        derandomize=not TIMES,
        max_examples=_examples(USUAL),
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile("headway")


def examples(count: int) -> settings:
    """A decorator for tests that need more or fewer examples than usual."""
    return settings(max_examples=_examples(count))


def _examples(count: int) -> int:
    return count * max(TIMES, 1)
