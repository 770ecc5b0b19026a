"""Spark's hash of a vehicle's name (``xxhash64``), outside of Spark: which partition it belongs to.

XXH64 with Spark's seed, over many names at once. When the number of partitions changes, a task must
know which of the vehicles in an older partition's state are its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

Hashes = np.ndarray[Any, np.dtype[np.int64]]
_Words = np.ndarray[Any, np.dtype[np.uint64]]

_SEED = 42
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)
_P1, _P2, _P3, _P4, _P5 = (np.uint64(one) for one in _PRIMES)
_MASK = (1 << 64) - 1
_STRIPE = 32
_LANES = (
    (_SEED + _PRIMES[0] + _PRIMES[1]) & _MASK,
    (_SEED + _PRIMES[1]) & _MASK,
    _SEED,
    (_SEED - _PRIMES[0]) & _MASK,
)


def vehicle_hashes(names: Any) -> Hashes:
    """Of an Arrow array of strings without NULL: what Spark's ``xxhash64(vehicle)`` gives."""
    sizes, texts = _padded(names)
    words, halves = texts.view("<u8"), texts.view("<u4")
    every = np.arange(len(sizes))
    found = np.full(len(sizes), np.uint64(_SEED) + _P5, dtype=np.uint64)
    stripes = sizes // _STRIPE
    if (long := stripes > 0).any():
        found[long] = _of_stripes(words[long], stripes[long])
    found += sizes.astype(np.uint64)
    for step in range(3):  # whole words behind the stripes
        there = sizes % _STRIPE // 8 > step
        word = words[every, np.minimum(stripes * 4 + step, words.shape[1] - 1)]
        mixed = _turned(found ^ _turned(word * _P2, 31) * _P1, 27) * _P1 + _P4
        found = np.where(there, mixed, found)
    half = halves[every, np.minimum(sizes // 8 * 2, halves.shape[1] - 1)].astype(np.uint64)
    found = np.where(sizes % 8 >= 4, _turned(found ^ half * _P1, 23) * _P2 + _P3, found)
    for step in range(3):
        place = np.minimum(sizes // 4 * 4 + step, texts.shape[1] - 1)
        byte = texts[every, place].astype(np.uint64)
        found = np.where(sizes % 4 > step, _turned(found ^ byte * _P5, 11) * _P1, found)
    found = (found ^ (found >> np.uint64(33))) * _P2
    found = (found ^ (found >> np.uint64(29))) * _P3
    return (found ^ (found >> np.uint64(32))).view(np.int64)


def _padded(names: Any) -> tuple[np.ndarray[Any, np.dtype[np.int64]], Any]:
    """The size of each name, and its bytes with zeros behind them, as many for each."""
    whole = names.cast(pa.large_binary())
    ends = np.frombuffer(whole.buffers()[1], dtype=np.int64)[whole.offset :][: len(whole) + 1]
    sizes = np.diff(ends)
    width = (int(sizes.max(initial=0)) // _STRIPE + 1) * _STRIPE
    texts = np.zeros((len(sizes), width), dtype=np.uint8)
    if data := whole.buffers()[2]:
        inside = np.arange(width) < sizes[:, None]
        texts[inside] = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]]
    return sizes, texts


def _of_stripes(words: _Words, stripes: np.ndarray[Any, np.dtype[np.int64]]) -> _Words:
    """Of names with 32 bytes and more: their whole stripes, in four lanes."""
    lanes = [np.full(len(words), lane, dtype=np.uint64) for lane in _LANES]
    for stripe in range(int(stripes.max())):
        there = stripes > stripe
        for place in range(4):
            mixed = _turned(lanes[place] + words[:, 4 * stripe + place] * _P2, 31) * _P1
            lanes[place] = np.where(there, mixed, lanes[place])
    found = sum(
        (_turned(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)),
        np.zeros(len(words), dtype=np.uint64),
    )
    for lane in lanes:
        found = (found ^ _turned(lane * _P2, 31) * _P1) * _P1 + _P4
    return found


def _turned(value: _Words, by: int) -> _Words:
    return (value << np.uint64(by)) | (value >> np.uint64(64 - by))
