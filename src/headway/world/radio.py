"""V2V radio at 700 MHz: what power arrives, and whether it is enough."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from headway.errors import InputError, Problem
from headway.world.geometry import clear_view
from headway.world.path_loss import corner_loss, line_of_sight_loss
from headway.world.traffic import Array, Traffic, Truths


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
