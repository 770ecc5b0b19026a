"""Whether a measurement is of the object that its key has meant so far: a gate, and a rival.

A sensor may give a number to another object soon after it lost the first (a radar's tracks do), or
measure nonsense once. With a gate (``gate:`` in the query) a measurement z is fused only if its
squared Mahalanobis distance from what its object's estimate predicts,

    d² = (z − H x)ᵀ S⁻¹ (z − H x),   S = H P Hᵀ + R,

is at most the quantile of the chi-square law that the share ``accept`` of all true ones stays
below. The first one outside begins a *rival*: another object that the key may mean now. If the next
ones outside are inside the rival's gate, and so many different moments are as ``confirm`` says, the
key means the rival from then on and the old estimate is gone. One inside the old gate ends the
rival. So tracks are born by a first measurement, or by taking over a key; they die unmeasured for
the rear window, or taken over.

All this is a function of the measurements in their order, as an estimate without a gate is: a late
one is put in its place and what follows is decided again.
"""

from __future__ import annotations

from math import erf, exp, pi, sqrt
from typing import Generic, Protocol

from headway.fusion.state import Associated, FilterState, TrackState
from headway.fusion.track import Key, Measurement, Reading

MOST_NUMBERS = 4
"""that one measurement gives of where its object is and how it moves"""
HALVINGS = 200
"""more than a double has bits"""


class GatedFilter(Protocol[Reading]):
    """What a gate needs from the operator that it belongs to."""

    def first(self, object: Key, measurement: Measurement[Reading]) -> FilterState | None: ...
    def predict(self, state: FilterState, to: int) -> FilterState: ...
    def update(self, state: FilterState, measurement: Measurement[Reading]) -> FilterState: ...
    def distance(
        self, state: FilterState, measurement: Measurement[Reading]
    ) -> tuple[float, int] | None: ...


class Association(Generic[Reading]):
    """Decides measurement by measurement, for all objects of an operator alike."""

    def __init__(
        self, filter: GatedFilter[Reading], accept: float, confirm: int, memory: int
    ) -> None:
        """``memory`` is the length of the rear window (microseconds)."""
        self._filter = filter
        self._limits = gate_limits(accept)
        self._confirm = confirm
        self._memory = memory

    def step(
        self, object: Key, state: TrackState | None, measurement: Measurement[Reading]
    ) -> Associated | None:
        """What is known after the measurement."""
        filter, at = self._filter, measurement.timestamp
        if not isinstance(state, Associated):
            return self._begin(object, measurement)
        believed, born, rival, rival_born, agreed, _ = state
        if rival is not None and at - rival.timestamp > self._memory:
            rival = None
        if at - believed.timestamp > self._memory:
            if rival is None:
                return self._begin(object, measurement)
            believed, born, rival = rival, rival_born, None
        predicted = filter.predict(believed, at)
        apart = filter.distance(predicted, measurement)
        if apart is None:
            # It does not say where its object is: true of whichever the key means.
            believed = filter.update(predicted, measurement)
            if rival is None:
                return Associated(believed, born)
            rival = filter.update(filter.predict(rival, at), measurement)
            return Associated(believed, born, rival, rival_born, agreed)
        if self._inside(apart):
            return Associated(filter.update(predicted, measurement), born)
        if rival is not None:
            moved = filter.predict(rival, at)
            apart = filter.distance(moved, measurement)
            if apart is not None and self._inside(apart):
                agreed += at > rival.timestamp
                rival = filter.update(moved, measurement)
                if agreed >= self._confirm:
                    return Associated(rival, rival_born)
                return Associated(believed, born, rival, rival_born, agreed, True)
        fresh = filter.first(object, measurement)
        if fresh is None:
            return Associated(believed, born, outside=True)
        if self._confirm == 1:
            return Associated(fresh, at)
        return Associated(believed, born, fresh, at, 1, True)

    def _begin(self, object: Key, measurement: Measurement[Reading]) -> Associated | None:
        state = self._filter.first(object, measurement)
        return None if state is None else Associated(state, measurement.timestamp)

    def _inside(self, apart: tuple[float, int]) -> bool:
        squared, numbers = apart
        return squared <= self._limits[numbers]


def gate_limits(accept: float) -> tuple[float, ...]:
    """Quantiles of the chi-square laws by their degrees of freedom, 0 to 4: a measured position is
    two numbers, with a velocity four."""
    return (0.0, *(_quantile(accept, numbers) for numbers in range(1, MOST_NUMBERS + 1)))


def _quantile(share: float, numbers: int) -> float:
    low, high = 0.0, 200.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if chi_square(middle, numbers) < share:
            low = middle
        else:
            high = middle
    return high


def chi_square(squared: float, numbers: int) -> float:
    """The share of the sums of so many squared standard normal numbers that are no greater."""
    half = squared / 2.0
    if numbers == 1:
        return erf(sqrt(half))
    if numbers == 2:
        return 1.0 - exp(-half)
    if numbers == 3:
        return erf(sqrt(half)) - 2.0 * sqrt(half / pi) * exp(-half)
    return 1.0 - exp(-half) * (1.0 + half)
