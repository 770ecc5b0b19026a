"""What the other cars send, and what of it one car hears, decodes and believes.

Every cycle each car with a radio sends one message about itself and one about each vehicle its
radar sees, as the papers' cars send their output1 (S-EDF section 6.2.1). It sends at a moment of
its own in the cycle, up to 100 ms after sensing, so messages arrive out of order by as much.

What is sent comes from a model of the senders (:func:`hear`), or from their own queries
(:class:`Broadcasts`, :func:`hear_broadcasts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import InputError
from headway.world.cam import (
    CamReports,
    CamValues,
    Codec,
    Drop,
    codec,
    quantise,
    reports_of,
    values_of,
)
from headway.world.car_sensors import CYCLE, SensorModel, look
from headway.world.drive_scenario import Purpose, generator
from headway.world.own_estimate import OwnEstimates
from headway.world.radio import RadioModel
from headway.world.traffic import Array, Integers, Traffic, Truths, seconds

# --------------------------------------------------------------- from messages in the air to tuples

OLDEST = 1_000_000
"""µs: the lifetime of a CAM (EN 302 637-2)"""
FARTHEST = 10.0
"""times the radio's reach: a position further off than that was not sent so"""


@dataclass(frozen=True, slots=True)
class RadioCounts:
    """What became of the messages: ``sent == lost + malformed + delivered``."""

    sent: int
    """by cars whose signal was strong enough at ours"""
    lost: int
    """at random"""
    malformed: int
    """arrived, but could not be decoded, or made no sense"""
    delivered: int
    """tuples of the source v2v"""
    out_of_reach: int
    """broadcasts (all messages of one car in one cycle) too weak at ours"""
    reasons: Mapping[str, int]
    """malformed ones by reason"""


@dataclass(frozen=True, slots=True)
class Received:
    """Reports in order of arrival; times in µs since the Unix epoch."""

    sender: Integers
    """column of the car that sent it"""
    arrived_at: Integers
    reports: CamReports
    """``id`` is the station id"""
    distance: Array
    """metres from where the receiver believed to be"""


def receive(
    heard: Heard,
    station_ids: Integers,
    own_position: tuple[Integers, Array, Array],
    radio: RadioModel,
    seeds: tuple[int, int, int],
    begin: int,
    bytes_on_air: bool,
) -> tuple[Received, RadioCounts]:
    """What comes out of the receiver.

    ``station_ids`` names the columns; ``own_position`` is (times in µs from the begin, x, y) of
    what the receiver knows of itself; ``seeds`` are the traffic's seed, the trial, the receiver.
    """
    if radio.damage and not bytes_on_air:
        raise InputError(
            "only bytes can be damaged",
            at="radio.damage",
            got=repr(radio.damage),
            want="record with bytes_on_air, or set it to 0",
        )
    seed, trial, receiver = seeds
    arrives = generator(seed, trial, Purpose.LOSS, receiver).random(len(heard.sent_at))
    kept = np.flatnonzero(arrives >= radio.loss)
    kept = kept[np.argsort(heard.sent_at[kept], kind="stable")]
    said = _take(heard.reports, kept)
    said = replace(said, id=station_ids[said.id], timestamp=said.timestamp + begin)
    arrived_at = heard.sent_at[kept] + begin
    values = quantise(said)
    reasons: Counter[str] = Counter()
    if bytes_on_air:
        random = generator(seed, trial, Purpose.DAMAGE, receiver)
        values, good = _through_bytes(values, codec(), radio.damage, random, reasons)
        kept, arrived_at = kept[good], arrived_at[good]
    reports = reports_of(values, arrived_at)
    times, x, y = own_position
    latest = np.maximum(np.searchsorted(times + begin, arrived_at, side="right") - 1, 0)
    distance = np.hypot(reports.x - x[latest], reports.y - y[latest])
    stale = arrived_at - reports.timestamp > OLDEST
    far = ~stale & (distance > FARTHEST * radio.reach)
    for reason, which in ((Drop.STALE, stale), (Drop.FAR, far)):
        if which.any():
            reasons[reason.value] += int(which.sum())
    believed = np.flatnonzero(~(stale | far))
    received = Received(
        heard.sender[kept[believed]],
        arrived_at[believed],
        _take(reports, believed),
        distance[believed],
    )
    lost = int((arrives < radio.loss).sum())
    return received, RadioCounts(
        sent=len(heard.sent_at),
        lost=lost,
        malformed=reasons.total(),
        delivered=len(believed),
        out_of_reach=heard.out_of_reach,
        reasons=dict(reasons),
    )


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    """The same bytes cut short, or with one to eight bits flipped."""
    if random.random() < 0.5:
        return data[: int(random.integers(0, len(data)))]
    flipped = bytearray(data)
    for bit in random.choice(8 * len(data), size=int(random.integers(1, 9)), replace=False):
        flipped[bit // 8] ^= 1 << (bit % 8)
    return bytes(flipped)


def _through_bytes(
    values: CamValues,
    uper: Codec,
    damage: float,
    random: np.random.Generator,
    reasons: Counter[str],
) -> tuple[CamValues, Truths]:
    """The numbers that come out at the other end, and which messages they are of."""
    messages = [uper.encode(row) for row in values.rows()]
    harmed = random.random(len(messages)) < damage
    for place in np.flatnonzero(harmed):
        messages[place] = damaged(messages[place], random)
    decoded = uper.decode_all(messages)
    reasons.update(row.value for row in decoded if isinstance(row, Drop))
    good = np.array([not isinstance(row, Drop) for row in decoded], dtype=np.bool_)
    return values_of([row for row in decoded if not isinstance(row, Drop)]), good


def _take(reports: CamReports, places: Integers) -> CamReports:
    return CamReports(*(getattr(reports, field.name)[places] for field in fields(CamReports)))


# ---------------------------------------------------------------- who hears what


CYCLE_US = round(CYCLE * 1e6)


@dataclass(frozen=True, slots=True)
class Heard:
    """Messages strong enough at the receiver, before loss; times in µs from the drive's begin."""

    sender: Integers
    """column of the car that sent it"""
    about: Integers
    """column of the car it tells of"""
    sent_at: Integers
    reports: CamReports
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
    estimates: OwnEstimates,
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
    own = OwnEstimates(*(column[cycle, sender][broadcast] for column in estimates))
    dx, dy, dvx, dvy = (
        _padded(len(sender), column) for column in (seen.dx, seen.dy, seen.dvx, seen.dvy)
    )
    position = _padded(len(sender), np.full(len(seen.look), sensors.radar_position**2))
    velocity = _padded(len(sender), np.full(len(seen.look), sensors.radar_velocity**2))
    about = np.concatenate([sender, seen.column])
    reports = CamReports(
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


# ---------------------------------------------------------------- what cars say that run the query


@dataclass(frozen=True, slots=True)
class Told:
    """What one car's query gave to broadcast, in the order in which it came out; times in µs from
    the drive's begin."""

    sender: int
    """its column"""
    ready_at: Integers
    """when each tuple came out"""
    reports: CamReports
    """``id`` is the column of the car it tells of"""


@dataclass(frozen=True, slots=True)
class Broadcasts:
    """All messages of a drive, sender by sender, each sender's in the order of sending; times in µs
    from the drive's begin. They are sent whoever hears them."""

    sender: Integers
    sent_at: Integers
    reports: CamReports
    """``id`` is the column of the car it tells of"""


def on_air(
    traffic: Traffic, told: Sequence[Told], sensors: SensorModel, radio: RadioModel, trial: int
) -> Broadcasts:
    """When what the cars have to tell is sent: at the sender's own moment in the cycle, or as soon
    as it has come out if that is later, one message after the other."""
    delays = sending_delays(radio, sensors, traffic.seed, trial, len(traffic.ids))
    interval = round(radio.interval * 1e6)
    sent = []
    for one in told:
        due = np.maximum(one.reports.timestamp + delays[one.sender], one.ready_at)
        # Each when it is due, and an interval after the one before: a running maximum of what is
        # due, counted back to the first message.
        back = interval * np.arange(len(due))
        sent.append(np.maximum.accumulate(due - back) + back)
    senders = [np.full(len(one.ready_at), one.sender) for one in told]
    return Broadcasts(
        _joined(senders, np.int64),
        _joined(sent, np.int64),
        CamReports(
            *(
                _joined([getattr(one.reports, name) for one in told], kind)
                for name, kind in _REPORT_TYPES
            )
        ),
    )


def hear_broadcasts(traffic: Traffic, receiver: int, said: Broadcasts, radio: RadioModel) -> Heard:
    """All messages that reach the car of column ``receiver``. As with :func:`hear`, a broadcast
    (what a car sends of one cycle) reaches it as a whole or not at all: what counts is where both
    are at the first message."""
    mine = (said.sender != receiver) & (said.sent_at < round(traffic.duration * 1e6))
    places = np.flatnonzero(mine)
    sender, sent = said.sender[places], said.sent_at[places]
    reports = _take(said.reports, places)
    _, first, burst = np.unique(
        np.stack([sender, reports.timestamp]), axis=1, return_index=True, return_inverse=True
    )
    at = seconds(sent[first])
    there, here = traffic.of(sender[first], at), traffic.of(np.full(first.shape, receiver), at)
    both = np.isfinite(there.x) & np.isfinite(here.x)
    power = np.full(first.shape, -np.inf)
    power[both] = radio.received(traffic, there.x[both], there.y[both], here.x[both], here.y[both])
    strong = radio.heard(power)
    heard = np.flatnonzero(strong[burst.ravel()])
    reports = _take(reports, heard)
    return Heard(
        sender[heard], reports.id, sent[heard], reports, int(both.sum() - (strong & both).sum())
    )


_REPORT_TYPES: tuple[tuple[str, type[np.generic]], ...] = tuple(
    (field.name, np.int64 if field.name in ("id", "timestamp") else np.float64)
    for field in fields(CamReports)
)


def _joined(parts: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts])


SILENCE = Broadcasts(
    np.zeros(0, np.int64),
    np.zeros(0, np.int64),
    CamReports(*(np.zeros(0, kind) for _, kind in _REPORT_TYPES)),
)
"""nobody says anything"""
