"""Nodes that are killed again and again, with a checkpoint every few milliseconds: whatever moment
it was, the run is done over again just as it was."""

from __future__ import annotations

import os

from tests.engine.nodes.study import study_arrivals, study_plan
from tests.simulation.cases import TIMING

from headway.model.quantities import MILLISECOND
from headway.simulation.campaign import Campaign
from headway.simulation.load_faults import parse_faults
from headway.simulation.simulated_car import CarSetting

KILLED = """
faults: killed
network: {runs: 0.3, jitter: 2 ms, loss: 0.02}
crash: {chance: 1.0, most: 6, shortest: 1 ms, longest: 60 ms, returns: 1.0}
power_cut: {chance: 0.2, shortest: 10 ms, longest: 100 ms, returns: 1.0}
full_disk: {chance: 0.2, shortest: 10 ms, longest: 100 ms}
reset: {chance: 0.3, most: 3}
"""
SEEDS = 2000 if os.environ.get("HEADWAY_SLOW") else 30


def test_a_run_is_done_over_again_just_as_it_was() -> None:
    setting = CarSetting(
        plan=study_plan(within=15 * MILLISECOND),
        arrivals=tuple(study_arrivals(40)),
        timing=TIMING,
        checkpoint=15 * MILLISECOND,
    )
    found, believed, checkpoints = [], 0, 0
    for result in Campaign(setting, parse_faults(KILLED)).runs(range(SEEDS)):
        found += [f"seed {result.faults.seed}: {one}" for one in result.judgement.violations]
        for process in result.run.processes:
            report = process.report or {}
            checkpoints += report.get("checkpoints", 0)
            if process.taken_up and report:
                believed += 1
                resumed = report["resumed"]
                wrong = (
                    resumed["damage"] or resumed["given_only_once"] or resumed["went_another_way"]
                )
                if wrong:
                    found.append(f"seed {result.faults.seed}: {process.node} {resumed}")
    assert not found
    assert believed > SEEDS // 2
    assert checkpoints > 10 * SEEDS
