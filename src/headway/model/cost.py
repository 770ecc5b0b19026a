"""Computation time of an operator (the paper's c_o), for a node of execution rate 1.

A node of rate r needs 1/r of it. A cost may grow with the items of one execution, as the fusion
operator's does with the fusion number (AEDSMS section 6.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Cost:
    """``base + per_item * items``, in nanoseconds at execution rate 1.

    ``between_items`` says that the operator may be preempted after the base part and after each
    item."""

    base: int
    per_item: int = 0
    most_items: int = 1
    between_items: bool = False

    def of(self, items: int, rate: Fraction | int = 1) -> int:
        """Nanoseconds for one execution over so many items on a node of that rate.

        Each part is rounded up by itself, so parts that are preempted in between add up to the
        whole."""
        return ceil_div(self.base, rate) + items * ceil_div(self.per_item, rate)

    def worst(self, rate: Fraction | int = 1) -> int:
        """The longest execution (``most_items`` items)."""
        return self.of(self.most_items, rate)

    def per_tuple(self, rate: Fraction | int = 1) -> int:
        """What one input tuple can add at most: an execution of its own."""
        return self.of(1, rate)

    def longest_section(self, rate: Fraction | int = 1) -> int:
        """The longest stretch without a preemption point."""
        if not self.between_items:
            return self.worst(rate)
        return max(ceil_div(self.base, rate), ceil_div(self.per_item, rate))


def ceil_div(amount: int, rate: Fraction | int) -> int:
    """``amount / rate`` rounded up, exactly."""
    quotient = Fraction(amount) / rate
    return -(-quotient.numerator // quotient.denominator)
