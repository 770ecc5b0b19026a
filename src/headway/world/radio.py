"""V2V radio at 700 MHz: path loss in streets, what power arrives, and whether it is enough.

Path loss is after Recommendation ITU-R P.1411 (short-range outdoor). Line of sight (P.1411-12,
section 4.1.2, UHF, median): with the antenna heights h₁, h₂

    R_bp = 4 h₁ h₂ / λ                 L_bp = |20 log₁₀(λ² / (8π h₁ h₂))|
    L = L_bp + 6 + 20 log₁₀(d/R_bp)    for d ≤ R_bp, with 40 in place of 20 beyond

Around one corner (section 4.1.3.1, L_NLoS2, 800 to 2,000 MHz): with x₁, x₂ from the stations to the
middle of the crossing, w₁, w₂ the widths of their streets, α the corner's angle (here π/2)

    reflected    L_r = 20 log₁₀(x₁ + x₂) + x₁ x₂ f(α)/(w₁ w₂) + 20 log₁₀(4π/λ)
                 f(α) = 3.86/α^3.5
    diffracted   L_d = 10 log₁₀(x₁ x₂ (x₁ + x₂)) + 2 D_a − 0.1 (90 − α·180/π) + 20 log₁₀(4π/λ)
                 D_a = (40/2π) (arctan(x₂/w₂) + arctan(x₁/w₁) − π/2)
    both         L_c = −10 log₁₀(10^(−L_r/10) + 10^(−L_d/10))

L_c knows no antenna heights: without its second term it is free space. Both our antennas are on car
roofs, where the street's ground counts. So what a corner costs beyond free space of the same length
is added to the line-of-sight loss of that length; it is never less than nothing. This sum, and
700 MHz, a little below the range of L_c, are our own extension of the recommendation.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log10, pi

import numpy as np

from headway.errors import InputError, Problem
from headway.world.grid_traffic import clear_view
from headway.world.traffic import Array, Traffic, Truths

LIGHT = 299_792_458.0
"""m/s"""
RIGHT_ANGLE = pi / 2
NEAREST = 1.0
"""metres; nearer than that nobody is"""


def line_of_sight_loss(distance: Array, frequency: float, height: float) -> Array:
    """L in dB for antennas at equal height (m), frequency in Hz."""
    wavelength = LIGHT / frequency
    turn = 4 * height**2 / wavelength
    at_turn = abs(20 * log10(wavelength**2 / (8 * pi * height**2)))
    ratio = np.log10(np.maximum(distance, NEAREST) / turn)
    loss: Array = at_turn + 6 + np.where(ratio <= 0, 20.0, 40.0) * ratio
    return loss


def corner_loss(first: Array, second: Array, width: float, frequency: float) -> Array:
    """What one right-angled corner costs beyond free space: max(0, L_c − L_free(x₁ + x₂)), dB."""
    x1, x2 = np.maximum(first, NEAREST), np.maximum(second, NEAREST)
    unit = 20 * log10(4 * pi * frequency / LIGHT)
    reflected = 20 * np.log10(x1 + x2) + x1 * x2 * (3.86 / RIGHT_ANGLE**3.5) / width**2 + unit
    bend = 40 / (2 * pi) * (np.arctan(x2 / width) + np.arctan(x1 / width) - pi / 2)
    diffracted = 10 * np.log10(x1 * x2 * (x1 + x2)) + 2 * bend + unit
    both = -10 * np.log10(10 ** (-reflected / 10) + 10 ** (-diffracted / 10))
    free = 20 * np.log10(x1 + x2) + unit
    extra: Array = np.maximum(both - free, 0.0)
    return extra


@dataclass(frozen=True, slots=True)
class RadioModel:
    """A message is heard when it arrives with at least ``sensitivity``. As in the papers, the
    transmitters' power is set so that in line of sight this is so up to ``reach``."""

    reach: float = 200.0
    """metres, in line of sight"""
    frequency: float = 700e6
    """Hz"""
    height: float = 1.5
    """metres, of every antenna"""
    sensitivity: float = -85.0
    """dBm; moves all powers alike, so it decides nothing"""
    loss: float = 0.0
    """share of the messages heard that get lost all the same, at random"""
    damage: float = 0.0
    """share of the messages heard whose bytes arrive cut short or with flipped bits; they need
    bytes on the air"""
    interval: float = 0.0005
    """seconds between two messages of one car in one cycle"""

    def validate(self) -> None:
        """InputError naming every field that cannot be."""
        problems = [
            Problem("must be a positive number", at=f"radio.{name}", got=repr(value))
            for name in ("reach", "frequency", "height")
            if not (isfinite(value := getattr(self, name)) and value > 0)
        ]
        problems += [
            Problem("must be from 0 to 1", at=f"radio.{name}", got=repr(value))
            for name in ("loss", "damage")
            if not 0 <= (value := getattr(self, name)) <= 1
        ]
        if not 0 <= self.interval <= 0.01:
            problems.append(
                Problem("must be from 0 to 0.01 s", at="radio.interval", got=repr(self.interval))
            )
        if problems:
            raise InputError(problems)

    @property
    def transmitted(self) -> float:
        """dBm: what just reaches ``reach`` in line of sight."""
        at_reach = line_of_sight_loss(np.array([self.reach]), self.frequency, self.height)
        return self.sensitivity + float(at_reach[0])

    def received(self, traffic: Traffic, x0: Array, y0: Array, x1: Array, y1: Array) -> Array:
        """Power (dBm) at (x1, y1) of what is sent at (x0, y0): in line of sight, else around the
        one corner that costs least; −inf where no single corner joins the two, or they are
        further apart than ``reach``, where it is too weak in any case."""
        power = np.full(x0.shape, -np.inf)
        near = np.flatnonzero(np.hypot(x1 - x0, y1 - y0) <= self.reach)
        x0, y0, x1, y1 = x0[near], y0[near], x1[near], y1[near]
        seen = clear_view(traffic.buildings, x0, y0, x1, y1)
        straight = np.hypot(x1 - x0, y1 - y0)
        direct = self.transmitted - line_of_sight_loss(straight, self.frequency, self.height)
        best = np.where(seen, direct, -np.inf)
        hidden = np.flatnonzero(~seen)
        best[hidden] = self._around(traffic, x0[hidden], y0[hidden], x1[hidden], y1[hidden])
        power[near] = best
        return power

    def heard(self, power: Array) -> Truths:
        """Whether a power is enough."""
        enough: Truths = power >= self.sensitivity
        return enough

    def _around(self, traffic: Traffic, x0: Array, y0: Array, x1: Array, y1: Array) -> Array:
        """Power by way of the best crossing that both ends have in view."""
        best = np.full(x0.shape, -np.inf)
        buildings = traffic.buildings
        for x, y in traffic.crossings:
            first, second = np.hypot(x - x0, y - y0), np.hypot(x1 - x, y1 - y)
            near = np.flatnonzero(first + second <= self.reach)
            if near.size == 0:
                continue
            loss = line_of_sight_loss(first[near] + second[near], self.frequency, self.height)
            loss += corner_loss(first[near], second[near], traffic.street_width, self.frequency)
            power = self.transmitted - loss
            better = power > best[near]
            near, power = near[better], power[better]
            here_x, here_y = np.full(near.shape, x), np.full(near.shape, y)
            open_way = clear_view(buildings, x0[near], y0[near], here_x, here_y)
            open_way &= clear_view(buildings, here_x, here_y, x1[near], y1[near])
            best[near[open_way]] = power[open_way]
        return best
