"""Beyond the papers: a minute of a real drive through the collision warning's components.

The papers leave measurements on real traffic for later. Grid: the rate of the one ECU, each with
every policy; the car ahead beside what the radar says by itself; the own position beside the
reference trajectory, with every fix and with every tenth. Each cell carries which recording it is
of, so that cells of another are not taken for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import numpy as np

from headway.drive.encounters import STOPPING_TIME
from headway.model.quantities import MILLISECOND
from headway.report.charts import LineChart, Point, Series
from headway_studies.beyond.comma2k19 import load_segment
from headway_studies.beyond.recorded_positions import (
    CARRIED,
    FUSED,
    HELD,
    SHARED_VARIANCE,
    TRUSTED,
    arrivals,
    error_lines,
    fused,
    inside,
    operator,
    thinned,
)
from headway_studies.beyond.recorded_segment import (
    CLOSING,
    CarAhead,
    agreement,
    car_ahead,
    car_ahead_application,
    declaring,
    drive,
    lacks,
    plan_at,
    radar_alone,
    recorded,
    recording,
    segment_of,
)
from headway_studies.provenance import assumed, fitted
from headway_studies.row_reading import (
    POLICY_NAMES,
    distinct,
    flag,
    number,
    number_or_none,
    text,
    values,
    where,
    whole,
)
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Scalar, Study, beyond
from headway_studies.study_charts import BarChart, Grid, Picture

FIGURE = "recorded drive"
ONE_MINUTE = assumed("one recorded minute, chosen before; costs of operators as in the example")
TOLD_SCATTER = fitted(
    "where fusion is told the fixes' scatter, it is that of this drive; all else was chosen before",
    tried="position_variance 9 (the default), 1, 0.25 and 0.0625 m²",
)
RECORDED_POLICIES = {policy: POLICY_NAMES[policy] for policy in ("s-edf", "fifo+", "mc+", "pcs")}
DECLARED, GATE_ALONE, PLAIN = "with both", "with the gate alone", "without either"
"""what type 2 fusion is told of objects and dependent reports: as the query says, and less"""
FUSIONS, QUICK_FUSIONS = (DECLARED, GATE_ALONE, PLAIN), (DECLARED, PLAIN)
FUSED_VIEW, RADAR_VIEW = "fused by the query", "radar alone"


def rates_of(rows: Sequence[Row]) -> list[float]:
    """The rates that were run, the fastest first."""
    return sorted(set(values(where(rows, part="rate"), "rate")), reverse=True)


def outputs_at(rows: Sequence[Row], policy: str, rate: float) -> list[Row]:
    """A row for each output of a run."""
    return where(rows, part="rate", policy=policy, rate=rate)


def missed_share(rows: Sequence[Row], policy: str, rate: float) -> float:
    """Of the tuples of all outputs."""
    found = outputs_at(rows, policy, rate)
    return sum(values(found, "misses")) / (sum(values(found, "tuples")) or 1)


def slowest_kept(rows: Sequence[Row], policy: str) -> float | None:
    """The slowest rate at which, and above which, no deadline was missed; None if there is none."""
    return _slowest(rows, lambda rate: missed_share(rows, policy, rate) == 0)


def slowest_promised(rows: Sequence[Row]) -> float | None:
    """The slowest rate at which, and above which, the compiler promises the deadline of every
    output (:attr:`headway.model.plan.Promise.kept`); the promises are for S-EDF."""

    def all_promised(rate: float) -> bool:
        bounds = [
            (number_or_none(row, "bound_ms"), number(row, "deadline_ms"))
            for row in outputs_at(rows, "s-edf", rate)
        ]
        return all(bound is not None and bound <= deadline for bound, deadline in bounds)

    return _slowest(rows, all_promised)


def _slowest(rows: Sequence[Row], holds: Callable[[float], bool]) -> float | None:
    """The last rate before the first at which it does not hold, from the fastest down."""
    found = None
    for rate in rates_of(rows):
        if not holds(rate):
            break
        found = rate
    return found


def milliseconds(row: Row, key: str) -> str:
    return "–" if row[key] is None else f"{number(row, key):.1f}"


def fixes(every: Scalar) -> str:
    return "every fix" if every == 1 else f"one fix in {every}"


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
    keeping = {name: slowest_kept(rows, policy) for policy, name in RECORDED_POLICIES.items()}
    compared = min((rate for rate in keeping.values() if rate is not None), default=fastest)
    missed = ", ".join(
        f"{name} {missed_share(rows, policy, compared):.1%}"
        for policy, name in RECORDED_POLICIES.items()
    )
    return [
        beyond(
            FIGURE,
            "does S-EDF keep what the compiler promises, on real sensors?",
            f"{len(bounded) - len(over)} of {len(bounded)} bounds kept; the longest latencies at "
            f"rate {fastest:g}: {told or 'nothing is promised'}; "
            f"{sum(values(where(ours, rate=fastest), 'misses')):.0f} of "
            f"{sum(values(where(ours, rate=fastest), 'tuples')):,.0f} deadlines missed",
            came=ONE_MINUTE,
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
            came=ONE_MINUTE,
        ),
        beyond(FIGURE, f"missed deadlines at rate {compared:g}", missed, came=ONE_MINUTE),
        beyond(
            FIGURE,
            f"times to collision that come out at rate {compared:g}, in time or late",
            ", ".join(
                f"{name} {number(row, 'tuples'):,.0f}"
                for policy, name in RECORDED_POLICIES.items()
                for row in where(outputs_at(rows, policy, compared), output="output2")
            ),
            came=ONE_MINUTE,
        ),
    ]


def agreement_claims(rows: Sequence[Row]) -> list[Claim]:
    """The car ahead beside what the radar says by itself; there is no ground truth."""
    agreements = {text(row, "fusion"): row for row in where(rows, part="agreement")}
    found = agreements[DECLARED]
    least = "; ".join(
        f"{text(row, 'view')} {number(row, 'ttc'):.1f} s at {number(row, 'second'):.1f} s "
        f"({number(row, 'distance'):.1f} m, closing at {-number(row, 'opening'):.1f} m/s)"
        for row in where(rows, part="least")
    )
    return [
        beyond(
            FIGURE,
            "is the car ahead where the radar alone has it (no ground truth)?",
            f"distance: median difference {number(found, 'distance_median'):.2f} m, 95 % within "
            f"{number(found, 'distance_95'):.2f} m, more than 5 m at "
            f"{number(found, 'another_car'):.1%} of {number(found, 'both'):.0f} moments; "
            f"relative speed: {number(found, 'speed_median'):.2f} m/s, 95 % within "
            f"{number(found, 'speed_95'):.2f} m/s",
            came=ONE_MINUTE,
        ),
        beyond(
            FIGURE,
            "what the gate is worth, and taking no report for independent: moments with more than "
            "5 m between the two",
            ", ".join(
                f"{fusion} {number(row, 'another_car'):.1%}" for fusion, row in agreements.items()
            )
            + _why_without(agreements),
            came=ONE_MINUTE,
        ),
        beyond(
            FIGURE,
            f"the least time to collision ({STOPPING_TIME} s are needed to stop)",
            least or "the distance never shrinks",
            came=ONE_MINUTE,
        ),
    ]


def _why_without(agreements: Mapping[str, Row]) -> str:
    """Told only if the gate was missed."""
    without, gated = (agreements.get(name) for name in (PLAIN, DECLARED))
    if without is None or gated is None:
        return ""
    missed = number(without, "another_car")
    if missed <= OFTEN or missed <= number(gated, "another_car"):
        return ""
    return (
        f" ({PLAIN} a track number that the radar gives to another car goes on as the same object)"
    )


def position_claims(rows: Sequence[Row]) -> list[Claim]:
    """Mean distance from the reference trajectory, shortcomings included."""
    names = {
        HELD: "last fix held",
        CARRIED: "last two fixes carried on",
        FUSED: "type 1 fusion",
        TRUSTED: "told the fixes' scatter (fitted)",
    }
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
                f"{plain}; without the constant offset of the GNSS {less} m; an estimate that had "
                f"that offset and no other error {number(found[names[HELD]], 'offset'):.2f} m",
                came=TOLD_SCATTER,
            )
        )
    claims += [
        beyond(
            FIGURE,
            "how often the 95 % interval of our own position holds the reference",
            f"{number(row, 'scatter'):.0%} by the fixes' scatter alone, "
            f"{number(row, 'shared'):.0%} with the error that all fixes share declared "
            f"({SHARED_VARIANCE} m², 2.5 m CEP); one drive is one draw of it",
            came=ONE_MINUTE,
        )
        for row in where(rows, part="confidence")
    ]
    return claims


LONGEST_TTC = 40.0
"""s, the end of the picture's scale"""
HARDEST = "output1"
"""the output with the shortest deadline"""


def pictures(rows: Sequence[Row]) -> tuple[Picture, ...]:
    hardest = where(rows, part="rate", output=HARDEST)
    return (
        _over_time(rows, "Distance to the car ahead", "m", lambda row: number(row, "distance")),
        _over_time(
            rows,
            "Time to collision with the car ahead",
            "s",
            _shown_ttc,
            f"At the top: {LONGEST_TTC:g} s or more, or not closing by {CLOSING:g} m/s. "
            f"{STOPPING_TIME} s are needed to stop.",
        ),
        _by_rate(
            rows,
            "Missed deadlines by rate of the ECU",
            "missed, %",
            lambda policy, rate: 100 * missed_share(rows, policy, rate),
            "Of the tuples of all outputs. The paper's processor has rate 1.",
        ),
        _by_rate(
            rows,
            f"Longest latency of {HARDEST} by rate of the ECU",
            "ms",
            lambda policy, rate: number(outputs_at(hardest, policy, rate)[0], "longest_ms"),
            f"Deadline {number(hardest[0], 'deadline_ms'):g} ms.",
        ),
        _outputs(rows),
        _misses(rows),
        _positions(rows),
        _position_table(rows),
    )


def _shown_ttc(row: Row) -> float:
    found = number_or_none(row, "ttc")
    return LONGEST_TTC if found is None else min(found, LONGEST_TTC)


def _over_time(
    rows: Sequence[Row], title: str, unit: str, shown: Callable[[Row], float], note: str = ""
) -> LineChart:
    return LineChart(
        title=title,
        x="s of the drive",
        y=unit,
        series=tuple(
            Series(
                name=view,
                points=tuple(
                    Point(x=number(row, "second"), y=shown(row))
                    for row in where(rows, part="moment", view=view)
                ),
            )
            for view in (RADAR_VIEW, FUSED_VIEW)
        ),
        note=note,
    )


def _by_rate(
    rows: Sequence[Row], title: str, y: str, shown: Callable[[str, float], float], note: str
) -> BarChart:
    rates = rates_of(rows)
    return BarChart(
        title=title,
        y=y,
        groups=tuple(f"rate {rate:g}" for rate in rates),
        bars=tuple(RECORDED_POLICIES.values()),
        values=tuple(tuple(shown(policy, rate) for policy in RECORDED_POLICIES) for rate in rates),
        note=note,
    )


def _outputs(rows: Sequence[Row]) -> Grid:
    """At the fastest rate that was run; the promises are for S-EDF."""
    fastest = rates_of(rows)[0]
    return Grid(
        title=f"Outputs at rate {fastest:g}, latencies in ms (the promises are for S-EDF)",
        headers=(
            "Policy", "Output", "Tuples", "Median", "Longest", "Promised", "Deadline", "Missed"
        ),
        rows=tuple(
            (
                name,
                text(row, "output"),
                f"{number(row, 'tuples'):,.0f}",
                milliseconds(row, "median_ms"),
                milliseconds(row, "longest_ms"),
                milliseconds(row, "bound_ms") if policy == "s-edf" else "–",
                f"{number(row, 'deadline_ms'):g}",
                f"{number(row, 'misses'):,.0f}",
            )
            for policy, name in RECORDED_POLICIES.items()
            for row in outputs_at(rows, policy, fastest)
        ),
    )  # fmt: skip


def _misses(rows: Sequence[Row]) -> Grid:
    outputs = distinct(where(rows, part="rate"), "output")
    return Grid(
        title="Missed of all tuples by rate of the ECU",
        headers=("Rate", "Output", *RECORDED_POLICIES.values()),
        rows=tuple(
            (
                f"{rate:g}",
                str(output),
                *(
                    f"{number(row, 'misses'):,.0f} of {number(row, 'tuples'):,.0f}"
                    for policy in RECORDED_POLICIES
                    for row in where(outputs_at(rows, policy, rate), output=output)
                ),
            )
            for rate in rates_of(rows)
            for output in outputs
        ),
    )


def _positions(rows: Sequence[Row]) -> BarChart:
    found = where(rows, part="position")
    thinned = distinct(found, "every")
    return BarChart(
        title="Mean error of our own position",
        y="m",
        groups=tuple(fixes(every) for every in thinned),
        bars=(HELD, CARRIED, FUSED, TRUSTED),
        values=tuple(
            tuple(
                values(where(found, every=every, line=line), "mean")[0]
                for line in (HELD, CARRIED, FUSED, TRUSTED)
            )
            for every in thinned
        ),
        note="Against the reference trajectory.",
    )


def _position_table(rows: Sequence[Row]) -> Grid:
    keys = ("mean", "rms", "percentile95", "without_offset")
    return Grid(
        title="Error of our own position in metres",
        headers=("Fixes", "Known by", "Mean", "RMS", "95th percentile", "Mean without GNSS offset"),
        rows=tuple(
            (
                fixes(row["every"]),
                text(row, "line"),
                *(f"{number(row, key):.3f}" for key in keys),
            )
            for row in where(rows, part="position")
        ),
    )


RATES = (10.0, 5.0, 2.0, 1.5, 1.25, 1.0, 0.8, 0.7)
"""of the ECU; 10 in the example's file, 1 is the paper's processor"""
QUICK_RATES = (10.0, 1.0)
EVERY, QUICK_EVERY = (1, 10), (1,)
STEP_S = 0.25
"""between two moments of the picture"""
SEED = 1


def cells(quick: bool) -> list[Cell]:
    which = recording()
    return [
        *(
            {"part": "rate", "rate": rate, "recording": which}
            for rate in (QUICK_RATES if quick else RATES)
        ),
        *(
            {"part": "ahead", "fusion": fusion, "recording": which}
            for fusion in (QUICK_FUSIONS if quick else FUSIONS)
        ),
        *(
            {"part": "position", "every": every, "recording": which}
            for every in (QUICK_EVERY if quick else EVERY)
        ),
    ]


def run(cell: Cell) -> list[Row]:
    which = cell["recording"]
    folder = segment_of(None if which is None else text(cell, "recording"))
    if cell["part"] == "position":
        every = whole(cell, "every")
        segment = thinned(load_segment(folder), every)
        lines = error_lines(segment, SEED)
        offset = float(np.hypot(lines[0].along.mean(), lines[0].left.mean()))
        told: list[Row] = []
        if every == 1:
            states = fused(segment, arrivals(segment, 0, SEED), operator())
            scatter, shared = (inside(segment, states, one) for one in (0.0, SHARED_VARIANCE))
            told.append({"part": "confidence", "scatter": scatter, "shared": shared})
        return told + [
            {
                "part": "position", "every": every, "line": line.name, "mean": line.mean,
                "rms": line.rms, "percentile95": line.percentile95,
                "without_offset": line.less(lines[0]).mean, "offset": offset,
            }
            for line in lines
        ]  # fmt: skip
    given = car_ahead_application()
    if cell["part"] == "ahead":
        fusion = text(cell, "fusion")
        given = declaring(given, gate=fusion != PLAIN, correlated=fusion == DECLARED)
        radar = radar_alone(folder)
        (node,) = given.vehicle.nodes
        plan = plan_at(given, node.rate)
        seen = car_ahead(drive(recorded(folder, given.query.sources), plan))
        agreed: Row = {"part": "agreement", "fusion": fusion, **asdict(agreement(seen, radar))}
        return [agreed, *(_ahead(seen, radar) if fusion == DECLARED else ())]
    tuples = recorded(folder, given.query.sources)
    rate = number(cell, "rate")
    plan = plan_at(given, rate)
    promised = {
        one.output: one.bound / MILLISECOND
        for one in (plan.verdict.promises if plan.verdict else ())
        if one.bound is not None
    }
    return [
        {
            "part": "rate", "rate": rate, "policy": policy, "output": found.output,
            "tuples": found.tuples, "misses": found.misses,
            "median_ms": found.latency_median / MILLISECOND,
            "longest_ms": found.latency_max / MILLISECOND,
            "deadline_ms": found.deadline / MILLISECOND,
            "bound_ms": promised.get(found.output), "compiled": plan.verdict is not None,
        }
        for policy in RECORDED_POLICIES
        for found in drive(tuples, plan, policy).summary().outputs
    ]  # fmt: skip


def _ahead(fused: CarAhead, radar: CarAhead) -> list[Row]:
    """The least TTC from all moments; the moments thinned for the picture."""
    start = min(fused.time[0], radar.time[0])
    end = max(fused.time[-1], radar.time[-1])
    moments = start + np.arange(0, end - start + STEP_S / 2, STEP_S)
    rows: list[Row] = []
    for view, one in ((FUSED_VIEW, fused), (RADAR_VIEW, radar)):
        if np.isfinite(one.ttc).any():
            least = int(np.nanargmin(one.ttc))
            rows.append(
                {
                    "part": "least", "view": view, "second": float(one.time[least] - start),
                    "distance": float(one.distance[least]), "ttc": float(one.ttc[least]),
                    "opening": float(one.opening[least]),
                }
            )  # fmt: skip
        there = one.at(moments, reach=STEP_S / 2)
        rows += [
            {
                "part": "moment", "view": view, "second": float(moment - start),
                "distance": float(distance), "ttc": float(ttc) if np.isfinite(ttc) else None,
            }
            for moment, distance, ttc in zip(moments, there.distance, there.ttc, strict=True)
            if np.isfinite(distance)
        ]  # fmt: skip
    return rows


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(*deadline_claims(rows), *agreement_claims(rows), *position_claims(rows)),
        pictures=pictures(rows),
    )


STUDY = Study(
    name="recorded-drive",
    paper=Paper.NONE,
    figures=(FIGURE,),
    title="A recorded real drive",
    seconds=25,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
    lacks=lacks,
)
