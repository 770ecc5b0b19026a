"""S-EDF figures 9 to 12: trains against single operators, S-EDF against FIFO+, MC+ and PCS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from headway.experiments.findings import Claim, Findings, LineChart, Point, Series, stated
from headway.experiments.policy_names import POLICY_NAMES
from headway.experiments.sedf import basic as basic_study
from headway.experiments.study import Cell, Paper, Row, Study

MARGIN = 0.1
"""Miss ratios this near are `about the same`: the paper prints curves, not numbers."""
RIVALS = ("fifo+", "mc+", "pcs")


def cells(quick: bool) -> list[Cell]:
    """All of them take seconds, so a quick run leaves none out."""
    return [
        {"input": name, "tuples": count}
        for name, counts in basic_study.TUPLES.items()
        for count in counts
    ]


def run(cell: Cell) -> list[Row]:
    tuples = {str(cell["input"]): [int(str(cell["tuples"]))]}
    return [asdict(row) for row in basic_study.run(basic_study.grid(tuples))]


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(*_trains(rows), *_rivals(rows)),
        pictures=(
            _chart(
                rows, "input1", "Figure 9: operator trains", ("s-edf", "s-edf-primitive"), both=True
            ),
            _chart(rows, "input2", "Figure 10: operator trains", ("s-edf", "s-edf-primitive")),
            _chart(rows, "input1", "Figure 11: policies", ("s-edf", *RIVALS)),
            _chart(rows, "input2", "Figure 12: policies", ("s-edf", *RIVALS)),
        ),
    )


def _mean(rows: Sequence[Row], given: str, policy: str, *, batches: bool) -> float:
    found = [
        float(str(row["miss_ratio"]))
        for row in rows
        if (row["input"], row["policy"], row["batches"]) == (given, policy, batches)
    ]
    return sum(found) / len(found)


def _trains(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for figure, given in (("figure 9", "input1"), ("figure 10", "input2")):
        train = _mean(rows, given, "s-edf", batches=False)
        single = _mean(rows, given, "s-edf-primitive", batches=False)
        claims.append(
            stated(
                figure,
                f"operator trains lower the miss ratio on {given}",
                f"mean miss ratio {single:.1%} → {train:.1%}",
                holds=train < single,
            )
        )
    alone, batched = _gain(rows, batches=False), _gain(rows, batches=True)
    claims.append(
        stated(
            "figure 9",
            "batches leave trains less to gain",
            f"the gain falls from {alone:.1%} to {batched:.1%}",
            holds=batched < alone,
        )
    )
    return claims


def _gain(rows: Sequence[Row], *, batches: bool) -> float:
    single = _mean(rows, "input1", "s-edf-primitive", batches=batches)
    return single - _mean(rows, "input1", "s-edf", batches=batches)


def _rivals(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for figure, given in (("figure 11", "input1"), ("figure 12", "input2")):
        mean = {name: _mean(rows, given, name, batches=True) for name in ("s-edf", *RIVALS)}
        claims += [
            stated(
                figure,
                f"S-EDF misses less than FIFO+, MC+ and PCS on {given}",
                ", ".join(f"{POLICY_NAMES[name]} {mean[name]:.1%}" for name in mean),
                holds=all(mean["s-edf"] < mean[rival] for rival in RIVALS),
            ),
            stated(
                figure,
                f"FIFO+ is better than PCS on {given}",
                f"{mean['fifo+']:.1%} against {mean['pcs']:.1%}",
                holds=mean["fifo+"] < mean["pcs"],
            ),
        ]
    mc = {given: _mean(rows, given, "mc+", batches=True) for given in ("input1", "input2")}
    fifo = {given: _mean(rows, given, "fifo+", batches=True) for given in ("input1", "input2")}
    return [
        *claims,
        stated(
            "figure 11",
            "MC+ is about like FIFO+ on input1",
            f"the mean miss ratios are {abs(mc['input1'] - fifo['input1']):.1%} apart",
            holds=abs(mc["input1"] - fifo["input1"]) < MARGIN,
        ),
        stated(
            "figure 12",
            "MC+ is worse than FIFO+ on input2",
            f"{mc['input2']:.1%} against {fifo['input2']:.1%}",
            holds=mc["input2"] > fifo["input2"],
        ),
    ]


def _chart(
    rows: Sequence[Row], given: str, title: str, policies: Sequence[str], *, both: bool = False
) -> LineChart:
    kinds = (True, False) if both else (True,)
    series = []
    for batches in kinds:
        for policy in policies:
            points = tuple(
                Point(x=float(str(row["tuples"])), y=100 * float(str(row["miss_ratio"])))
                for row in rows
                if (row["input"], row["policy"], row["batches"]) == (given, policy, batches)
            )
            name = POLICY_NAMES[policy] + (", single tuples" if not batches else "")
            series.append(Series(name=name, points=points))
    return LineChart(
        title=f"{title}, {given}",
        x="tuples N",
        y="deadline miss ratio, %",
        series=tuple(series),
        note=f"A decision costs {basic_study.DECISION_COST // 1000} µs, a preemption 2.6 µs.",
    )


STUDY = Study(
    name="basic",
    paper=Paper.S_EDF,
    figures=("figure 9", "figure 10", "figure 11", "figure 12"),
    title="The basic study: one branching query, two input patterns",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
