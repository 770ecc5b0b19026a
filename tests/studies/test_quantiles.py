"""Quantiles of several samples together, by hand and against the values themselves."""

from __future__ import annotations

import numpy as np
import pytest

from headway_studies.aedsms.position_error import SHARES, Quantiles, pooled, quantiles

LOW = Quantiles(10, tuple(share / 100 for share in SHARES))
"""evenly from 0 to 1"""
HIGH = Quantiles(10, tuple(10 + share / 100 for share in SHARES))
"""evenly from 10 to 11"""


def test_one_sample_is_itself() -> None:
    for share, value in zip(SHARES, LOW.at, strict=True):
        assert pooled([LOW], share) == pytest.approx(value)
        assert pooled([LOW, LOW], share) == pytest.approx(value)


def test_two_samples_apart() -> None:
    """A quarter of both together is half of the lower one."""
    assert pooled([LOW, HIGH], 25) == pytest.approx(0.5)
    assert pooled([LOW, HIGH], 75) == pytest.approx(10.5)
    assert pooled([LOW, HIGH], 0) == 0
    assert pooled([LOW, HIGH], 100) == 11


def test_larger_samples_count_for_more() -> None:
    """Three of four values are low: three quarters end where the low ones end."""
    many = Quantiles(30, LOW.at)
    assert pooled([many, HIGH], 37.5) == pytest.approx(0.5)
    assert pooled([many, HIGH], 87.5) == pytest.approx(10.5)


def test_close_to_the_quantiles_of_all_values() -> None:
    random = np.random.default_rng(3)
    drawn = [random.rayleigh(scale, count) for scale, count in ((1.0, 4000), (2.0, 500))]
    together = np.concatenate(drawn)
    for share in (5, 25, 50, 75, 95):
        exact = float(np.percentile(together, share))
        assert pooled([quantiles(one) for one in drawn], share) == pytest.approx(exact, rel=0.02)
