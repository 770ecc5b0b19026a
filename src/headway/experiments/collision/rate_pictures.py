"""Rates and miss ratios as pictures: figure 17, and the table of what it hangs on."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.rate_rows import (
    LIMITS,
    MAIN,
    OTHERS,
    POLICIES,
    least_rate,
    rate_words,
)
from headway.experiments.findings import Grid, LineChart, Point, Series
from headway.experiments.policy_names import POLICY_NAMES
from headway.experiments.rows import distinct, sample, values, where
from headway.experiments.study import Row


def rate_chart(curve: Sequence[Row]) -> LineChart:
    series = tuple(
        Series(
            name=f"{POLICY_NAMES[policy]}, {words}",
            points=tuple(
                Point(x=limit, y=sample(values(mine, column)).mean)
                for limit in LIMITS
                for mine in [where(curve, policy=policy, limit=limit)]
                if mine
            ),
        )
        for policy in POLICIES
        for words, column in (("both", "miss_ratio"), ("output1", "miss_ratio1"))
    )
    return LineChart(
        title="Figure 17: miss ratio over the load shedder's limit",
        x="V2V tuples let in, per second at most",
        y="deadline miss ratio",
        series=series,
        note="`both` is the papers' weighted ratio of output1 and output2.",
    )


def rate_table(limits: Sequence[Row]) -> Grid:
    return Grid(
        title="Largest V2V rate with no miss in any trial (tuples/s)",
        headers=("Vehicle, item, radar", "Trials", *(POLICY_NAMES[one] for one in POLICIES)),
        rows=tuple(
            (
                variant.words,
                str(len(distinct(mine, "trial"))),
                *(rate_words(least_rate(mine, policy)) for policy in POLICIES),
            )
            for variant in (MAIN, *OTHERS)
            for mine in [variant.of(limits)]
            if mine
        ),
    )
