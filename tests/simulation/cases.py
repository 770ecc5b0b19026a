"""A query over three nodes, small enough for hundreds of runs, and what may befall them."""

from __future__ import annotations

from tests.engine.nodes.study import study_arrivals, study_plan

from headway.engine.jobs import Arrival
from headway.engine.nodes.peers import PeerTiming
from headway.model.quantities import MILLISECOND, SECOND
from headway.simulation.campaign import Campaign
from headway.simulation.load_faults import parse_faults
from headway.simulation.simulated_car import CarSetting

ROUGH = """
faults: rough
within: 0.4
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
CALM = """
faults: one_at_a_time
within: 0.4
isolation: {chance: 0.3, shortest: 250 ms, longest: 700 ms}
partition: {chance: 0.3, shortest: 250 ms, longest: 900 ms}
crash: {chance: 0.2, shortest: 10 ms, longest: 400 ms, returns: 0.9}
reset: {chance: 0.2, most: 2}
"""
OVERLOAD = """
faults: overload
within: 0.4
slow: {chance: 0.9, most: 2, shortest: 200 ms, longest: 600 ms, factor: 900}
partition: {chance: 0.6, most: 2, shortest: 100 ms, longest: 900 ms}
reset: {chance: 0.6, most: 3}
power_cut: {chance: 0.2, shortest: 100 ms, longest: 600 ms}
"""
TIMING = PeerTiming(give_up=SECOND, linger=2 * SECOND)


def _later(arrival: Arrival) -> Arrival:
    """What the radar senses arrives 40 ms later, so that time has to wait for it."""
    return arrival._replace(time=arrival.time + 40 * MILLISECOND * (arrival.source == "radar"))


def campaign(
    faults: str = ROUGH,
    tuples: int = 60,
    every: int = 30_000,
    most_kept: int = 4096,
    most_waiting: int | None = None,
    checkpoint: int = 300 * MILLISECOND,
) -> Campaign:
    """``tuples`` of each of two sources, one each ``every`` microseconds."""
    setting = CarSetting(
        plan=study_plan(within=15 * MILLISECOND),
        arrivals=tuple(sorted(map(_later, study_arrivals(tuples, every=every)))),
        timing=TIMING,
        most_kept=most_kept,
        most_waiting=most_waiting,
        checkpoint=checkpoint,
    )
    return Campaign(setting, parse_faults(faults))


def campaigns() -> dict[str, Campaign]:
    """Different ways to make it hard."""
    return {
        "rough": campaign(),
        "calm": campaign(CALM),
        "forgetful": campaign(checkpoint=0),
        "overload": campaign(OVERLOAD, every=10_000, tuples=100, most_kept=8, most_waiting=6),
    }
