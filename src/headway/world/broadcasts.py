"""What the other cars send, and what of it one car hears.

Every cycle each car with a radio sends one message about itself and one about each vehicle its
radar sees, as the papers' cars send their output1 (S-EDF section 6.2.1). It sends at a moment of
its own in the cycle, up to 100 ms after sensing, so messages arrive out of order by as much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.world.cam_values import Reports
from headway.world.own_estimate import Estimates
from headway.world.radio import RadioModel
from headway.world.seeds import Purpose, generator
from headway.world.sensors import CYCLE, SensorModel, look
from headway.world.traffic import Array, Integers, Traffic, seconds

CYCLE_US = round(CYCLE * 1e6)


@dataclass(frozen=True, slots=True)
class Heard:
    """Messages strong enough at the receiver, before loss; times in µs from the drive's begin."""

    sender: Integers
    """column of the car that sent it"""
    about: Integers
    """column of the car it tells of"""
    sent_at: Integers
    reports: Reports
    """what it says; ``id`` is the column it tells of, ``timestamp`` from the drive's begin"""
    out_of_reach: int
    """broadcasts, each all messages of a car in a cycle, that were too weak"""


def sending_delays(
    model: RadioModel, sensors: SensorModel, seed: int, trial: int, cars: int
) -> Integers:
    """From sensing to the first message, each car's own (µs): the last goes before 100 ms."""
    burst = round(model.interval * 1e6) * sensors.radar_objects
    return generator(seed, trial, Purpose.SENDING).integers(0, CYCLE_US - burst, cars)


def hear(
    traffic: Traffic,
    receiver: int,
    sensed_at: Integers,
    estimates: Estimates,
    sensors: SensorModel,
    radio: RadioModel,
    trial: int,
) -> Heard:
    """All messages that reach the car of column ``receiver``.

    ``sensed_at`` (µs) and ``estimates`` are of all cars in all cycles, shape (cycles, cars).
    """
    cars = len(traffic.ids)
    delays = sending_delays(radio, sensors, traffic.seed, trial, cars)
    candidates = traffic.radio.copy()
    candidates[receiver] = False
    senders = np.flatnonzero(candidates)
    cycle, sender = (index.ravel() for index in np.indices((sensed_at.shape[0], len(senders))))
    sender = senders[sender]
    sent = sensed_at[cycle, sender] + delays[sender]
    at = seconds(sent)
    there, here = traffic.of(sender, at), traffic.of(np.full(sender.shape, receiver), at)
    sends = np.isfinite(there.x) & np.isfinite(here.x) & np.isfinite(estimates.x[cycle, sender])
    sends &= sent < round(traffic.duration * 1e6)
    power = np.full(sender.shape, -np.inf)
    power[sends] = radio.received(
        traffic, there.x[sends], there.y[sends], here.x[sends], here.y[sends]
    )
    heard = radio.heard(power)
    cycle, sender, sent = cycle[heard], sender[heard], sent[heard]

    random = generator(traffic.seed, trial, Purpose.OTHER_RADAR, receiver)
    seen = look(sensors, traffic, sender, seconds(sensed_at[cycle, sender]), random)
    # One row per message: first every car about itself, then about what it sees.
    broadcast = np.concatenate([np.arange(len(sender)), seen.look])
    order_in_burst = np.concatenate([np.zeros(len(sender), np.int64), _rank(seen.look) + 1])
    interval = round(radio.interval * 1e6)
    own = Estimates(*(column[cycle, sender][broadcast] for column in estimates))
    dx, dy, dvx, dvy = (
        _padded(len(sender), column) for column in (seen.dx, seen.dy, seen.dvx, seen.dvy)
    )
    position = _padded(len(sender), np.full(len(seen.look), sensors.radar_position**2))
    velocity = _padded(len(sender), np.full(len(seen.look), sensors.radar_velocity**2))
    about = np.concatenate([sender, seen.column])
    reports = Reports(
        about,
        sensed_at[cycle, sender][broadcast],
        own.x + dx,
        own.y + dy,
        own.vx + dvx,
        own.vy + dvy,
        own.var_x + position,
        own.var_y + position,
        own.var_vx + velocity,
        own.var_vy + velocity,
    )
    return Heard(
        sender[broadcast],
        about,
        sent[broadcast] + order_in_burst * interval,
        reports,
        int(sends.sum() - heard.sum()),
    )


def _rank(groups: Integers) -> Integers:
    """The place of each in its group; groups stand together, in order."""
    rank: Integers = np.arange(len(groups)) - np.searchsorted(groups, groups)
    return rank


def _padded(zeros: int, values: Array) -> Array:
    return np.concatenate([np.zeros(zeros), values])
