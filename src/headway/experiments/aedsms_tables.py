"""What the AEDSMS paper prints about the tasks of its application (figures 13 and 14, table 1), and
the S-EDF paper about the same query on one processor (its table 2)."""

from __future__ import annotations

import re
from typing import NamedTuple

OPERATORS = {
    "SDFO1": "own.sdfo1",
    "Map1": "own.map1",
    "Join1": "around.join1",
    "Map2": "around.map2",
    "Union1": "union1",
    "Map3": "map3",
    "SDFO2": "sdfo2",
    "Filter1": "filter1",
    "Filter2": "filter2",
    "Join2": "collision.join2",
    "Map4": "collision.map4",
    "Map5": "map5",
}
"""the paper's operators under the names of ``examples/collision_warning``"""


class PrintedTask(NamedTuple):
    """A line of table 1; on one processor the node is empty."""

    node: str
    operators: str
    deadline: str


NODE_2_WAY = "min(d4 - c4, d5 - c5) - 2 cBus1 - cGW - cBus2"
TASKS = {
    "T1": PrintedTask("Node1", "SDFO1 Map1", "min(d2 - c2, d3 - c3) - cBus1"),
    "T2": PrintedTask("Node2", "Union1", NODE_2_WAY),
    "T3": PrintedTask("Node2", "Join1 Map2 Union1", NODE_2_WAY),
    "T4": PrintedTask("Node3", "SDFO2", "min(d6 - c6, d7 - c7, d8 - c8)"),
    "T5": PrintedTask("Node3", "Map3", "30 ms"),
    "T6": PrintedTask("Node3", "Filter1 Join2 Map4", "300 ms"),
    "T7": PrintedTask("Node3", "Filter2 Join2 Map4", "300 ms"),
    "T8": PrintedTask("Node3", "Map5", "3000 ms"),
}
"""AEDSMS table 1"""
TRAINS = {
    "O1": PrintedTask("", "SDFO1 Map1", "min(d2 - c2, d3 - c3)"),
    "O2": PrintedTask("", "Join1 Map2 Union1", "min(d4 - c4, d5 - c5)"),
    "O3": PrintedTask("", "Union1", "min(d4 - c4, d5 - c5)"),
    "O4": PrintedTask("", "Map3", "30 ms"),
    "O5": PrintedTask("", "SDFO2", "min(d6 - c6, d7 - c7, d8 - c8)"),
    "O6": PrintedTask("", "Filter1 Join2 Map4", "300 ms"),
    "O7": PrintedTask("", "Filter2 Join2 Map4", "300 ms"),
    "O8": PrintedTask("", "Map5", "3000 ms"),
}
"""S-EDF table 2: the same query on one processor; its o3 is (Join1, Map2). Its numbers stand in
another order than T1 to T8, so formulas are compared train by train."""


def in_our_names(operators: str) -> tuple[str, ...]:
    return tuple(OPERATORS[name] for name in operators.split())


def in_our_words(formula: str) -> str:
    """A printed formula with our names: ``cBus1`` is the delay on bus1."""
    found = re.sub(r"\bc(Bus|GW)(\d?)", lambda match: match[1].lower() + match[2], formula)
    return found.replace("3000 ms", "3 s")


def renumbered(formula: str, numbers: dict[str, str]) -> str:
    """A formula over other tasks: ``d4 - c4`` becomes ``d5 - c5`` where 4 is numbered 5; the terms
    of a minimum in order."""
    found = re.sub(r"\b([dc])(\d+)\b", lambda match: match[1] + numbers[match[2]], formula)
    return re.sub(r"min\((.*?)\)", lambda m: f"min({', '.join(sorted(m[1].split(', ')))})", found)
