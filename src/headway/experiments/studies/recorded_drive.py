"""Beyond the papers: a minute of a real drive through the collision warning's components.

The papers leave measurements on real traffic for later. Grid: the rate of the one ECU, each with
every policy; the car ahead beside what the radar says by itself; the own position beside the
reference trajectory, with every fix and with every tenth. Each cell carries which recording it is
of, so that cells of another are not taken for its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np

from headway.experiments.findings import Findings
from headway.experiments.recorded.car_ahead import CarAhead, agreement, car_ahead, radar_alone
from headway.experiments.recorded.drive import car_ahead_application, drive, plan_at, recorded
from headway.experiments.recorded.findings import (
    agreement_claims,
    deadline_claims,
    position_claims,
)
from headway.experiments.recorded.fusion import thinned
from headway.experiments.recorded.pictures import pictures
from headway.experiments.recorded.positions import error_lines
from headway.experiments.recorded.rows import FIGURE, FUSED_VIEW, POLICIES, RADAR_VIEW
from headway.experiments.recorded.segment import lacks, recording, segment_of
from headway.experiments.rows import number, text, whole
from headway.experiments.study import Cell, Paper, Row, Study
from headway.model.quantities import MILLISECOND
from headway.sources.comma2k19 import load_segment

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
        {"part": "ahead", "recording": which},
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
        lines = error_lines(thinned(load_segment(folder), every), SEED)
        return [
            {
                "part": "position", "every": every, "line": line.name, "mean": line.mean,
                "rms": line.rms, "percentile95": line.percentile95,
                "without_offset": line.less(lines[0]).mean,
            }
            for line in lines
        ]  # fmt: skip
    given = car_ahead_application()
    if cell["part"] == "ahead":
        radar = radar_alone(folder)
        (node,) = given.vehicle.nodes
        plan = plan_at(given, node.rate)
        return _ahead(car_ahead(drive(recorded(folder, given.query.sources), plan)), radar)
    arrivals = recorded(folder, given.query.sources)
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
        for policy in POLICIES
        for found in drive(arrivals, plan, policy).summary().outputs
    ]  # fmt: skip


def _ahead(fused: CarAhead, radar: CarAhead) -> list[Row]:
    """Agreement and least TTC from all moments; the moments thinned for the picture."""
    start = min(fused.time[0], radar.time[0])
    end = max(fused.time[-1], radar.time[-1])
    moments = start + np.arange(0, end - start + STEP_S / 2, STEP_S)
    rows: list[Row] = [{"part": "agreement", **asdict(agreement(fused, radar))}]
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
