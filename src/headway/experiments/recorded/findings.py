"""What the rows of the recorded drive show (:mod:`headway.experiments.studies.recorded_drive`)."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.collision.encounters import STOPPING_TIME
from headway.experiments.findings import Claim, beyond
from headway.experiments.recorded.positions import CARRIED, FUSED, HELD
from headway.experiments.recorded.rows import (
    FIGURE,
    POLICIES,
    fixes,
    milliseconds,
    missed_share,
    outputs_at,
    rates_of,
    slowest_kept,
    slowest_promised,
)
from headway.experiments.rows import distinct, flag, number, text, values, where
from headway.experiments.study import Row

OFTEN = 0.01
"""share of the moments with more than 5 m between the two from which a cause is told"""


def deadline_claims(rows: Sequence[Row]) -> list[Claim]:
    """Promises, and which policy keeps the deadlines down to which rate."""
    ours = where(rows, part="rate", policy="s-edf")
    bounded = [row for row in ours if row["bound_ms"] is not None]
    over = [row for row in bounded if number(row, "longest_ms") > number(row, "bound_ms")]
    refused = [number(row, "rate") for row in ours if not flag(row, "compiled")]
    fastest = rates_of(rows)[0]
    told = ", ".join(
        f"{text(row, 'output')} {milliseconds(row, 'longest_ms')} "
        f"of {milliseconds(row, 'bound_ms')} ms"
        for row in where(bounded, rate=fastest)
    )
    promised = slowest_promised(rows)
    rates = ", ".join(f"{rate:g}" for rate in rates_of(rows))
    keeping = {name: slowest_kept(rows, policy) for policy, name in POLICIES.items()}
    compared = min((rate for rate in keeping.values() if rate is not None), default=fastest)
    missed = ", ".join(
        f"{name} {missed_share(rows, policy, compared):.1%}" for policy, name in POLICIES.items()
    )
    return [
        beyond(
            FIGURE,
            "does S-EDF keep what the compiler promises, on real sensors?",
            f"{len(bounded) - len(over)} of {len(bounded)} bounds kept; the longest latencies at "
            f"rate {fastest:g}: {told or 'nothing is promised'}; "
            f"{sum(values(where(ours, rate=fastest), 'misses')):.0f} of "
            f"{sum(values(where(ours, rate=fastest), 'tuples')):,.0f} deadlines missed",
        ),
        beyond(
            FIGURE,
            f"the slowest ECU (of the rates {rates}) that keeps every deadline of this minute",
            ", ".join(
                f"{name} {'none' if rate is None else f'{rate:g}'}"
                for name, rate in keeping.items()
            )
            + f"; promised down to {'none' if promised is None else f'{promised:g}'}"
            + (f", refused by the compiler from {max(refused):g}" if refused else ""),
        ),
        beyond(FIGURE, f"missed deadlines at rate {compared:g}", missed),
        beyond(
            FIGURE,
            f"times to collision that come out at rate {compared:g}, in time or late",
            ", ".join(
                f"{name} {number(row, 'tuples'):,.0f}"
                for policy, name in POLICIES.items()
                for row in where(outputs_at(rows, policy, compared), output="output2")
            ),
        ),
    ]


def agreement_claims(rows: Sequence[Row]) -> list[Claim]:
    """The car ahead beside what the radar says by itself; there is no ground truth."""
    (found,) = where(rows, part="agreement")
    least = "; ".join(
        f"{text(row, 'view')} {number(row, 'ttc'):.1f} s at {number(row, 'second'):.1f} s "
        f"({number(row, 'distance'):.1f} m, closing at {-number(row, 'opening'):.1f} m/s)"
        for row in where(rows, part="least")
    )
    cause = (
        " (the fusion has no gate: a track number that the radar gives to another car goes on as "
        "the same object)"
        if number(found, "another_car") > OFTEN
        else ""
    )
    return [
        beyond(
            FIGURE,
            "is the car ahead where the radar alone has it (no ground truth)?",
            f"distance: median difference {number(found, 'distance_median'):.2f} m, 95 % within "
            f"{number(found, 'distance_95'):.2f} m, more than 5 m at "
            f"{number(found, 'another_car'):.1%} of {number(found, 'both'):.0f} moments{cause}; "
            f"relative speed: {number(found, 'speed_median'):.2f} m/s, 95 % within "
            f"{number(found, 'speed_95'):.2f} m/s",
        ),
        beyond(
            FIGURE,
            f"the least time to collision ({STOPPING_TIME} s are needed to stop)",
            least or "the distance never shrinks",
        ),
    ]


def position_claims(rows: Sequence[Row]) -> list[Claim]:
    """Mean distance from the reference trajectory, shortcomings included."""
    names = {HELD: "last fix held", CARRIED: "last two fixes carried on", FUSED: "type 1 fusion"}
    claims = []
    for every in distinct(where(rows, part="position"), "every"):
        found = {
            name: where(rows, part="position", every=every, line=line)[0]
            for line, name in names.items()
        }
        plain = ", ".join(f"{name} {number(row, 'mean'):.2f} m" for name, row in found.items())
        less = ", ".join(f"{number(row, 'without_offset'):.2f}" for row in found.values())
        claims.append(
            beyond(
                FIGURE,
                f"mean error of our own position, {fixes(every)}",
                f"{plain}; without the constant offset of the GNSS {less} m",
            )
        )
    return claims
