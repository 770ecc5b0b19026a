"""From messages in the air to tuples: loss, bytes, decoding, and what is not believed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from headway.errors import InputError, Problem
from headway.world.broadcasts import Heard
from headway.world.cam import Codec, Drop, codec
from headway.world.cam_values import CamValues, Reports, quantise, reports_of, values_of
from headway.world.radio import RadioModel
from headway.world.seeds import Purpose, generator
from headway.world.traffic import Array, Integers, Truths

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
    reports: Reports
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
            Problem(
                "only bytes can be damaged",
                at="radio.damage",
                got=repr(radio.damage),
                want="record with bytes_on_air, or set it to 0",
            )
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


def _take(reports: Reports, places: Integers) -> Reports:
    return Reports(*(getattr(reports, field.name)[places] for field in fields(Reports)))
