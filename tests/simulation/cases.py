"""A query over three nodes, small enough for hundreds of runs, and what may befall them."""

from __future__ import annotations

from tests.engine.nodes.study import study_arrivals, study_plan

from headway.engine.nodes.peers import PeerTiming
from headway.model.quantities import MILLISECOND, SECOND
from headway.simulation.campaign import Campaign
from headway.simulation.load_faults import parse_faults
from headway.simulation.simulated_car import CarSetting

ROUGH = """
faults: rough
network: {runs: 0.5, jitter: 2 ms, loss: 0.02, corrupt: 0.002, doubled: 0.05}
clocks: {drift: 100, offset: 1 ms}
reset: {chance: 0.3, most: 3}
partition: {chance: 0.3, most: 2, shortest: 10 ms, longest: 600 ms}
isolation: {chance: 0.2, shortest: 10 ms, longest: 400 ms}
crash: {chance: 0.3, most: 2, shortest: 10 ms, longest: 300 ms, returns: 0.8}
power_cut: {chance: 0.2, shortest: 10 ms, longest: 300 ms, returns: 0.8}
pause: {chance: 0.3, most: 2, shortest: 10 ms, longest: 300 ms}
slow: {chance: 0.2, shortest: 50 ms, longest: 300 ms, factor: 20}
full_disk: {chance: 0.1, shortest: 10 ms, longest: 300 ms}
"""
TIMING = PeerTiming(give_up=SECOND, linger=2 * SECOND)


def campaign(faults: str = ROUGH, tuples: int = 40, most_kept: int = 4096) -> Campaign:
    """Tuples of each of two sources, one each 10 ms."""
    setting = CarSetting(
        plan=study_plan(within=15 * MILLISECOND),
        arrivals=tuple(study_arrivals(tuples)),
        timing=TIMING,
        most_kept=most_kept,
    )
    return Campaign(setting, parse_faults(faults))
