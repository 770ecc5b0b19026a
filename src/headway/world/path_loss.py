"""Path loss between cars in streets, after Recommendation ITU-R P.1411 (short-range outdoor).

Line of sight (P.1411-12, section 4.1.2, UHF, median): with the antenna heights h₁, h₂

    R_bp = 4 h₁ h₂ / λ                 L_bp = |20 log₁₀(λ² / (8π h₁ h₂))|
    L = L_bp + 6 + 20 log₁₀(d/R_bp)    for d ≤ R_bp, with 40 in place of 20 beyond

Around one corner (section 4.1.3.1, L_NLoS2, 800 to 2,000 MHz): with x₁, x₂ from the stations to the
middle of the crossing, w₁, w₂ the widths of their streets, α the corner's angle (here π/2)

    reflected    L_r = 20 log₁₀(x₁ + x₂) + x₁ x₂ f(α)/(w₁ w₂) + 20 log₁₀(4π/λ),  f(α) = 3.86/α^3.5
    diffracted   L_d = 10 log₁₀(x₁ x₂ (x₁ + x₂)) + 2 D_a − 0.1 (90 − α·180/π) + 20 log₁₀(4π/λ)
                 D_a = (40/2π) (arctan(x₂/w₂) + arctan(x₁/w₁) − π/2)
    both         L_c = −10 log₁₀(10^(−L_r/10) + 10^(−L_d/10))

L_c knows no antenna heights: without its second term it is free space. Both our antennas are on car
roofs, where the street's ground counts. So what a corner costs beyond free space of the same length
is added to the line-of-sight loss of that length; it is never less than nothing. This sum, and 700
MHz, a little below the range of L_c, are our own extension of the recommendation.
"""

from __future__ import annotations

from math import log10, pi

import numpy as np

from headway.world.traffic import Array

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
