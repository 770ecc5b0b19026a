"""AEDSMS table 1 and figure 14: the application's tasks, places and relative deadlines; S-EDF table
2, the same query on one processor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from headway.compiler import compile_query
from headway.drive.collision_warning import load_collision_warning
from headway.model.plan import Plan
from headway.model.quantities import MILLISECOND
from headway.model.vehicle import BusCharge, Node, Vehicle
from headway_studies.provenance import PRINTED, Provenance, assumed, changed, fitted
from headway_studies.row_reading import number, text, where
from headway_studies.study import (
    NO_REASON,
    Cell,
    Claim,
    Findings,
    Paper,
    Row,
    Study,
    beyond,
    numbers,
)
from headway_studies.study_charts import Grid

# ----------------------------------------------------------------
# What the AEDSMS paper prints about the tasks of its application (figures 13 and 14, table 1), and
# the S-EDF paper about the same query on one processor (its table 2).


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


PAPER, FREE, ONE = "three nodes", "three nodes, nothing pinned", "one node"
CHARGED = "three nodes, buses charged for who goes ahead"
TWICE = ("T2", "T3")
WHY_TWICE = (
    "Between node 2 and node 3 the table subtracts bus 1 twice. A tuple on that way passes bus 1 "
    "once, so by default it is subtracted once; nothing else in the two formulas differs, and the "
    "latency bound takes what other streams delay in any case."
)
OWN_FRAMES = changed("a bus is charged for the tuple's own frames only")
WHO_GOES_AHEAD = fitted(
    "each bus is charged for the tuple and one of each stream that goes ahead of it there: the "
    "paper does not say how cBus1 comes to be subtracted twice",
    tried="the tuple's own frames alone (line above)",
)


PINNED = fitted(
    "Union1 and Map3 are pinned to the printed nodes",
    tried="without pins three operators go elsewhere (last line)",
)
VOLUMES = assumed("the sizes of tuples and their rates on the buses: the paper does not print them")


def cells(quick: bool) -> list[Cell]:
    return [{"vehicle": name} for name in (PAPER, FREE, CHARGED, ONE)]


def run(cell: Cell) -> list[Row]:
    """Tasks, places and loads of the compiled query."""
    name = text(cell, "vehicle")
    plan = _plan(name)
    rows: list[Row] = [
        _row(name, "task", task.name, task.node, " ".join(task.operators), task.formula)
        | {"value": task.relative_deadline / MILLISECOND}
        for task in plan.tasks
    ]
    operators = {operator.name for operator in plan.query.operators}
    rows += [
        _row(name, "place", operator, node)
        for operator, node in plan.placement
        if operator in operators
    ]
    loads = plan.verdict.loads if plan.verdict else ()
    return rows + [
        _row(name, "load", load.name, load.kind) | {"value": load.utilisation} for load in loads
    ]


def _plan(name: str) -> Plan:
    given = load_collision_warning()
    vehicle = given.vehicle
    if name == FREE:
        vehicle = replace(vehicle, pins=())
    elif name == CHARGED:
        vehicle = replace(vehicle, bus_charge=BusCharge.AHEAD)
    elif name == ONE:
        sensors = tuple((source.name, "ecu") for source in given.query.sources)
        vehicle = Vehicle(name="one", nodes=(Node(name="ecu"),), sensors=sensors)
    return compile_query(given.query, vehicle)


def _row(
    vehicle: str, what: str, name: str, place: str, operators: str = "", formula: str = ""
) -> dict[str, float | str | None]:
    return {
        "vehicle": vehicle, "what": what, "name": name, "place": place, "operators": operators,
        "formula": formula, "value": None,
    }  # fmt: skip


def analyse(rows: Sequence[Row]) -> Findings:
    return Findings(
        claims=(
            _tasks(rows),
            _formulas(rows, PAPER, [name for name in TASKS if name not in TWICE], PRINTED),
            _formulas(rows, PAPER, TWICE, OWN_FRAMES),
            _formulas(rows, CHARGED, TASKS, WHO_GOES_AHEAD),
            _places(rows),
            _single_node(rows),
            _unpinned(rows),
        ),
        pictures=(_table(rows),),
    )


def _found(rows: Sequence[Row], vehicle: str) -> dict[str, Row]:
    return {text(row, "name"): row for row in where(rows, vehicle=vehicle, what="task")}


def _tasks(rows: Sequence[Row]) -> Claim:
    found = {
        name: (text(row, "place"), tuple(text(row, "operators").split()))
        for name, row in _found(rows, PAPER).items()
    }
    wanted = {
        name: (task.node.lower(), in_our_names(task.operators)) for name, task in TASKS.items()
    }
    same = sum(found.get(name) == task for name, task in wanted.items())
    return numbers(
        "table 1",
        "eight tasks, T1 on node 1, T2 and T3 on node 2, T4 to T8 on node 3, with the operators "
        "of the table",
        f"{len(found)} tasks, {same} of {len(wanted)} with node, operators and order as printed",
        came=PRINTED,
        equal=found == wanted,
    )


def _formulas(rows: Sequence[Row], vehicle: str, names: Iterable[str], came: Provenance) -> Claim:
    tasks = _found(rows, vehicle)
    wanted = {name: in_our_words(TASKS[name].deadline) for name in names}
    found = {name: text(tasks[name], "formula") for name in names if name in tasks}
    once = {name: formula.replace("- 2 bus1 -", "- bus1 -") for name, formula in wanted.items()}
    return numbers(
        "table 1, deadlines",
        "; ".join(f"{name}: {TASKS[name].deadline}" for name in names),
        "; ".join(
            f"{name}: {formula} = {number(tasks[name], 'value'):g} ms"
            for name, formula in found.items()
        ),
        came=came,
        equal=found == wanted,
        why=WHY_TWICE if found == once else NO_REASON,
    )


def _places(rows: Sequence[Row]) -> Claim:
    """T2 and T3 name Union1 twice: an operator has one place."""
    found = {text(row, "name"): text(row, "place") for row in where(rows, vehicle=PAPER)}
    wanted = {
        operator: task.node.lower()
        for task in TASKS.values()
        for operator in in_our_names(task.operators)
    }
    same = sum(found.get(operator) == node for operator, node in wanted.items())
    return numbers(
        "figure 14",
        f"the places of the {len(wanted)} operators on three nodes",
        f"{same} of {len(wanted)} there; Union1 and Map3 are pinned, the others are the optimum",
        came=PINNED,
        equal=same == len(wanted),
    )


def _single_node(rows: Sequence[Row]) -> Claim:
    found = {
        tuple(text(row, "operators").split()): (name, text(row, "formula"))
        for name, row in _found(rows, ONE).items()
    }
    wanted = {in_our_names(train.operators): name for name, train in TRAINS.items()}
    same = 0
    if set(found) == set(wanted):
        # The paper numbers the trains in another order: the same formula over the same trains.
        ours = {name[1:]: found[operators][0][1:] for operators, name in wanted.items()}
        unchanged = {number: number for number in ours.values()}
        same = sum(
            renumbered(in_our_words(TRAINS[name].deadline), ours)
            == renumbered(found[operators][1], unchanged)
            for operators, name in wanted.items()
        )
    return numbers(
        "S-EDF table 2",
        "the same query on one processor: eight trains, Union1 alone and behind Join1 and Map2, "
        "and their deadlines",
        f"{len(found)} trains, {same} of {len(wanted)} with operators and formula as printed",
        came=PRINTED,
        equal=same == len(wanted),
    )


def _unpinned(rows: Sequence[Row]) -> Claim:
    pinned = {text(r, "name"): text(r, "place") for r in where(rows, vehicle=PAPER, what="place")}
    free = {text(r, "name"): text(r, "place") for r in where(rows, vehicle=FREE, what="place")}
    moved = [name for name, node in pinned.items() if free[name] != node]
    told = ", ".join(f"{name} to {free[name]}" for name in moved) or "none"
    loads = " and ".join(
        f"{bus} {_load(rows, PAPER, bus):.1%} → {_load(rows, FREE, bus):.1%}"
        for bus in ("bus1", "bus2")
    )
    return beyond(
        "figure 14",
        "where would the operators go if none were pinned?",
        f"moved for less traffic: {told}; use of the buses {loads}",
        came=VOLUMES,
    )


def _load(rows: Sequence[Row], vehicle: str, bus: str) -> float:
    (row,) = where(rows, vehicle=vehicle, what="load", name=bus)
    return number(row, "value")


def _table(rows: Sequence[Row]) -> Grid:
    short = {ours: paper for paper, ours in OPERATORS.items()}
    return Grid(
        title="Table 1: tasks and relative deadlines",
        headers=("task", "node", "operators", "published", "ours", "in numbers"),
        rows=tuple(
            (
                name,
                text(row, "place"),
                ", ".join(short[operator] for operator in text(row, "operators").split()),
                TASKS[name].deadline if name in TASKS else "–",
                text(row, "formula"),
                f"{number(row, 'value'):g} ms",
            )
            for name, row in _found(rows, PAPER).items()
        ),
    )


STUDY = Study(
    name="tasks",
    paper=Paper.AEDSMS,
    figures=("table 1", "figure 14"),
    title="Tasks, places and relative deadlines of the collision warning",
    seconds=1,
    cells=cells,
    run=run,
    analyse=analyse,
)
