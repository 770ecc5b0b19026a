"""Ranks of tasks and what follows from them: hrank, depth, LDET (HVLB_CC section 4.1)."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property

from headway.errors import GraphError, Problem
from headway.model.exact import exact
from headway.schedule.static.instance import Instance


class Ranks:
    """rank(n, p) by equation 2, as given in the options, or with rounded communication times."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.speed = processor_speeds(instance)
        if instance.options.ranks is not None:
            self.rank = self._given()
        else:
            self.rank = self._by_equation()

    @cached_property
    def hrank(self) -> tuple[Fraction, ...]:
        """The mean over all processors (equation 7)."""
        return tuple(sum(row, Fraction(0)) / len(row) for row in self.rank)

    @cached_property
    def depth(self) -> tuple[int, ...]:
        """Tasks on the longest path from an entry, itself included."""
        depth = [1] * len(self.instance.tasks)
        for task in self.instance.topological:
            for successor in self.instance.successors[task]:
                depth[successor] = max(depth[successor], depth[task] + 1)
        return tuple(depth)

    @cached_property
    def out_degree(self) -> tuple[int, ...]:
        return tuple(len(found) for found in self.instance.successors)

    @cached_property
    def longest_distance_to_exit(self) -> tuple[tuple[int, ...], ...]:
        """LDET = rank - comp (equation 16), all by one common factor; 0 for exits, which need
        none."""
