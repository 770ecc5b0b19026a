"""Two queries over three nodes, small enough for hundreds of runs, and what may befall them."""

from __future__ import annotations

from tests.engine.nodes.study import study_arrivals, study_plan
from tests.simulation.branching import branching_arrivals, branching_plan

from headway.engine.jobs import Arrival
from headway.engine.nodes.liveness import PeerTiming
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
DENSE = """
faults: dense
within: 0.9
network: {runs: 0.3, loss: 0.01, retransmit: 20 ms}
reset: {chance: 1.0, most: 20}
crash: {chance: 0.5, most: 2, shortest: 10 ms, longest: 60 ms}
"""
AWAY = """
faults: away
within: 0.3
crash: {chance: 0.4, shortest: 1 s, longest: 2 s}
isolation: {chance: 0.4, shortest: 500 ms, longest: 900 ms}
partition: {chance: 0.3, shortest: 500 ms, longest: 900 ms}
power_cut: {chance: 0.2, shortest: 500 ms, longest: 900 ms, returns: 0.3}
"""
FORGETFUL = """
faults: forgetful
within: 1.0
crash: {chance: 0.9, most: 3, shortest: 10 ms, longest: 300 ms}
"""
BUSY = """
faults: busy
slow: {chance: 1.0, most: 3, shortest: 100 ms, longest: 400 ms, factor: 1000}
reset: {chance: 0.7, most: 20}
crash: {chance: 0.7, most: 3, shortest: 10 ms, longest: 60 ms}
"""
NARROW = """
faults: narrow
network: {runs: 0.3, jitter: 1 ms, window: 1024}
reset: {chance: 0.5, most: 5}
pause: {chance: 0.5, most: 2, shortest: 10 ms, longest: 100 ms}
"""
PATIENT = """
faults: patient
within: 1.0
isolation: {chance: 0.3, shortest: 100 ms, longest: 1500 ms}
partition: {chance: 0.3, shortest: 100 ms, longest: 1500 ms}
crash: {chance: 0.4, shortest: 500 ms, longest: 2500 ms}
reset: {chance: 0.4, most: 3}
"""
ANEW = """
faults: anew
within: 1.0
crash: {chance: 0.6, shortest: 10 ms, longest: 60 ms}
partition: {chance: 0.4, shortest: 50 ms, longest: 300 ms}
pause: {chance: 0.3, shortest: 10 ms, longest: 100 ms}
"""
TIMING = PeerTiming(give_up=SECOND, linger=2 * SECOND)
PATIENCE = PeerTiming(give_up=4 * SECOND, linger=8 * SECOND)
TALKATIVE = PeerTiming(heartbeat=10 * MILLISECOND, missed=15, give_up=SECOND, linger=2 * SECOND)
LATE = 40 * MILLISECOND


def _later(arrival: Arrival, late: int = LATE) -> Arrival:
    """What the radar senses arrives later, so that time has to wait for it."""
    return arrival._replace(time=arrival.time + late * (arrival.source == "radar"))


def campaign(
    faults: str = ROUGH,
    tuples: int = 60,
    every: int = 30_000,
    most_kept: int = 4096,
    most_waiting: int | None = None,
    checkpoint: int = 300 * MILLISECOND,
    timing: PeerTiming = TIMING,
) -> Campaign:
    """``tuples`` of each of two sources, one each ``every`` microseconds."""
    setting = CarSetting(
        plan=study_plan(within=15 * MILLISECOND),
        arrivals=tuple(sorted(map(_later, study_arrivals(tuples, every=every)))),
        timing=timing,
        most_kept=most_kept,
        most_waiting=most_waiting,
        checkpoint=checkpoint,
    )
    return Campaign(setting, parse_faults(faults))


def branching(
    faults: str,
    tuples: int = 160,
    every: int = 2_000,
    own: int = 160,
    late: int = LATE,
    checkpoint: int = 100 * MILLISECOND,
) -> Campaign:
    """Of the query whose streams part and meet again; ``late``: how much later what the radar
    senses comes."""
    arrivals = branching_arrivals(tuples, every, own)
    setting = CarSetting(
        plan=branching_plan(),
        arrivals=tuple(sorted(_later(one, late) for one in arrivals)),
        timing=TIMING,
        checkpoint=checkpoint,
    )
    return Campaign(setting, parse_faults(faults))


def campaigns() -> dict[str, Campaign]:
    """Different ways to make it hard."""
    return {
        "rough": campaign(),
        "calm": campaign(CALM),
        "dense": campaign(DENSE, every=3_000, tuples=120, checkpoint=100 * MILLISECOND),
        "away": campaign(AWAY, tuples=90, every=50_000),
        "forgetful": campaign(FORGETFUL, checkpoint=0),
        "overload": campaign(OVERLOAD, every=10_000, tuples=100, most_kept=8, most_waiting=6),
        "busy": campaign(BUSY, every=5_000, checkpoint=15 * MILLISECOND, timing=TALKATIVE),
        "narrow": branching(NARROW),
        "patient": campaign(PATIENT, every=60_000, tuples=60, timing=PATIENCE),
        "anew": branching(
            ANEW, tuples=60, every=3_000, own=180, checkpoint=0, late=150 * MILLISECOND
        ),
    }
