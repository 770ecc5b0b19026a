"""Which channel group of a measurement has the channels that a source is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway.errors import DataError, Place, Problem

TIME = 1
"""the synchronisation type of a master channel that holds time (ASAM MDF 4.1, CNBLOCK)"""


def find_group(measurement: Any, channels: Sequence[str], wanted: Any, place: Place) -> int:
    """The number of the one group that has them all and a clock; DataError where there is none."""
    if unknown := [name for name in channels if name not in measurement.channels_db]:
        there = ", ".join(sorted(measurement.channels_db)[:30])
        raise DataError(
            Problem(f"there is no channel {name!r}", place=place, got=there) for name in unknown
        )
    having = [{group for group, _ in measurement.channels_db[name]} for name in channels]
    found = sorted(set.intersection(*having)) if having else range(len(measurement.groups))
    if wanted is not None:
        found = [
            group for group in found if str(wanted) in (str(group), *_names(measurement, group))
        ]
    if len(found) != 1:
        raise _not_one(measurement, channels, wanted, list(found), place)
    _check_clock(measurement, found[0], place)
    return found[0]


def _not_one(
    measurement: Any, channels: Sequence[str], wanted: Any, found: list[int], place: Place
) -> DataError:
    listed = ", ".join(channels)
    if found:
        got = ", ".join(_told(measurement, group) for group in found)
        return DataError(
            Problem(
                f"several groups have {listed}", place=place, got=got, want="say which: 'group:'"
            )
        )
    got = "; ".join(
        f"{name} in {', '.join(_told(measurement, g) for g, _ in measurement.channels_db[name])}"
        for name in channels
    )
    what = (
        f"no group has {listed} together" if wanted is None else f"no group {wanted} has {listed}"
    )
    want = "a source takes channels that were sampled together: make sources of their own"
    return DataError(Problem(what, place=place, got=got, want=want))


def _names(measurement: Any, group: int) -> list[str]:
    block = measurement.groups[group].channel_group
    return [name for name in (block.acq_name, block.comment) if name]


def _told(measurement: Any, group: int) -> str:
    names = _names(measurement, group)
    return f"{group} ({names[0]:.40})" if names else str(group)


def _check_clock(measurement: Any, group: int, place: Place) -> None:
    master = measurement.masters_db.get(group)
    kind = None if master is None else measurement.groups[group].channels[master].sync_type
    if kind != TIME:
        got = "no master channel" if kind is None else f"a master channel of type {kind}"
        what = f"group {_told(measurement, group)} has no times"
        raise DataError(Problem(what, place=place, got=got, want="want a master channel of time"))
