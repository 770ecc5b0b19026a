"""A pin or two with which all promises hold: the search of the placement pass without the pins
there are, and started from static schedules too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headway.compiler.latency.verdict import judge
from headway.compiler.placement.placement_problem import problem_of
from headway.compiler.placement.promised_placement import PromiseSearch
from headway.errors import HeadwayError
from headway.files.yaml_edits import YamlEdit
from headway.front_door.advice.candidate_changes import CandidateChange, listed
from headway.front_door.advice.car_files import CarFiles, Placement
from headway.model.plan import Plan
from headway.schedule.static import ALGORITHMS, ExactAlpha, Instance, graph_of_plan

_ALGORITHMS = {"heft": 300, "hvlb-cc-c": 30}
"""static schedules to start from, and up to how many operators they are quick"""
MOST_PINS = 6


def pin_changes(files: CarFiles, plan: Plan) -> Iterator[CandidateChange]:
    """The fewest pins of those that lead to a placement found, then all of them."""
    base = dict(plan.placement)
    start = files.placed(base)
    if start is None or len(files.vehicle.vehicle.nodes) < 2:
        return
    judged = judge(start)
    problem = problem_of(judged, free=True)
    found = PromiseSearch(judged, problem, tuple(_scheduled(plan))).run(all_or_none=True)
    if found is None or found.verdict is None or not found.verdict.safe:
        return
    graph = judged.graph
    moved = {
        name: found.placement[name] for name in graph.order if found.placement[name] != base[name]
    }
    wanted = frozenset(one.key for one in found.verdict.requirements)
    needed = dict(moved)
    for name in moved:
        fewer = {other: node for other, node in needed.items() if other != name}
        if files.holds({**base, **fewer}, wanted):
            needed = fewer
    pins = dict(files.vehicle.vehicle.pins)
    # Of what is needed where all else stays one may be enough, when the compiler places the rest.
    alone = [{name: node} for name, node in needed.items()] if 1 < len(needed) <= 3 else []
    for chosen in (*alone, needed, moved):
        if 0 < len(chosen) <= MOST_PINS:
            yield _change(chosen, pins)


def _change(chosen: Placement, pins: Placement) -> CandidateChange:
    by_node: dict[str, list[str]] = {}
    for name, node in chosen.items():
        by_node.setdefault(node, []).append(name)
    parts = [f"{listed(names)} to {node}" for node, names in by_node.items()]
    what = f"pin {listed(parts)}"
    released = [name for name in chosen if name in pins]
    if released:
        what += f", not to {listed(dict.fromkeys(pins[name] for name in released))}"
    edits = tuple(YamlEdit("pins", name, node) for name, node in chosen.items())
    return CandidateChange(what=what, amount=float(len(chosen)), vehicle=edits)


def _scheduled(plan: Plan) -> Iterator[Placement]:
    """Where static schedules put the operators, pins left out."""
    free = replace(plan, vehicle=replace(plan.vehicle, pins=()))
    count = len(list(plan.query.operators))
    for name, most in _ALGORITHMS.items():
        if count > most:
            continue
        try:
            graph, network = graph_of_plan(free)
            schedule = ALGORITHMS[name].run(Instance(graph, network), ExactAlpha()).schedule
        except HeadwayError:
            continue
        if schedule is not None:
            yield {**dict(plan.placement), **schedule.placement}
