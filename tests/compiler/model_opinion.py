"""A second opinion on imported Amalthea models: response times and event chains, worked out from
the model's own text by other code than the importer's and the compiler's.

    python -m tests.compiler.model_opinion MODEL.amxmi PLAN.json SUMMARY.json

A task waits no longer than its core can be busy, whatever the order of tasks there: the longest
busy period, in which activations are written down instant by instant. Along a chain responses add
up; where a task reads at its own instants, the age grows by how long the value is held (twice the
writer's period, and at least the reader's own: what the import says it does) and the reaction by
the reader's period (A. Davare et al., DAC 2007, doi:10.1145/1278480.1278553).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

MS = 1_000_000
TYPE = "{http://www.w3.org/2001/XMLSchema-instance}type"
UNITS = {"s": 10**9, "ms": MS, "us": 1_000, "ns": 1, "MHz": 10**6, "GHz": 10**9, "Hz": 1}
ON_THE_BUS = 1_000
"""more than a value takes over the imported bus of 100 Gbit/s, alone (ns)"""


@dataclass
class ModelTask:
    """``period``: the least time between two activations. ``after``: the task whose end activates
    it."""

    name: str
    core: str
    cost: int
    period: int
    longest: int
    """the most between two activations"""
    jitter: int = 0
    after: str = ""


@dataclass
class Model:
    tasks: dict[str, ModelTask] = field(default_factory=dict)

    def responses(self) -> dict[str, int]:
        """From a task's activation to its end, at most."""
        found: dict[str, int] = {}
        while True:
            before = dict(found)
            for task in self.tasks.values():
                if task.after:
                    task.jitter = found.get(task.after, 0) + ON_THE_BUS
            for core in {task.core for task in self.tasks.values()}:
                on_core = [task for task in self.tasks.values() if task.core == core]
                longest = busy_period(on_core)
                found |= {task.name: longest for task in on_core}
            if found == before:
                return found


def busy_period(tasks: list[ModelTask]) -> int:
    """The least length of time that holds all the work activated in it."""
    length = 1
    while True:
        work = sum(task.cost * len(activations(task, length)) for task in tasks)
        if work <= length:
            return length
        length = work


def activations(task: ModelTask, until: int) -> list[int]:
    """The densest ones in a half-open interval."""
    found = []
    number = 0
    while (instant := max(0, number * task.period - task.jitter)) < until:
        found.append(instant)
        number += 1
    return found


# ---------------------------------------------------------------- the model's text


def read_model(path: Path) -> Model:
    root = ElementTree.parse(path).getroot()
    named = {(one.tag, one.get("name", "")): one for one in root.iter()}
    scheduler_of = {
        _name(one, "task"): _name(one, "scheduler") for one in root.iter("taskAllocation")
    }
    core_of = {
        _name(one, "scheduler"): _name(one, "responsibility")
        for one in root.iter("schedulerAllocation")
    }
    triggered = {
        _name(trigger, "stimulus"): task.get("name", "")
        for task in root.iter("tasks")
        for trigger in task.iter("items")
        if trigger.get(TYPE) == "am:InterProcessTrigger"
    }
    model = Model()
    for element in root.iter("tasks"):
        name = element.get("name", "")
        core = core_of[scheduler_of[name]]
        unit = named["modules", core]
        clock = named["domains", _name(unit, "frequencyDomain")]
        frequency = _quantity(clock.find("defaultValue"))
        kind = _name(unit, "definition")
        needs = [
            _ticks(named["runnables", _name(call, "runnable")], kind)
            for call in element.iter("items")
            if call.get(TYPE) == "am:RunnableCall"
        ]
        cost = sum(-(-ticks * 10**9 // frequency) for ticks in needs)
        stimulus = named["stimuli", _name(element, "stimuli")]
        model.tasks[name] = ModelTask(
            name, core, cost, *_periods(stimulus), after=triggered.get(stimulus.get("name", ""), "")
        )
    for task in model.tasks.values():
        if task.after:
            task.period, task.longest = (
                model.tasks[task.after].period,
                model.tasks[task.after].longest,
            )
    return model


def _name(element: Element, key: str) -> str:
    return element.get(key, "").partition("?")[0]


def _quantity(element: Element | None) -> int:
    assert element is not None
    return int(Fraction(element.get("value", "")) * UNITS[element.get("unit", "")])


def _ticks(runnable: Element, kind: str) -> int:
    """The upper bound of a runnable's need, on this kind of core if it says so."""
    total = 0
    for item in runnable.iter("items"):
        if item.get(TYPE) == "am:Ticks":
            own = [
                one.find("value") for one in item.findall("extended") if _name(one, "key") == kind
            ]
            need = own[0] if own else item.find("default")
            assert need is not None
            total += int(need.get("upperBound", ""))
    return total


def _periods(stimulus: Element) -> tuple[int, int]:
    if stimulus.get(TYPE) == "am:PeriodicStimulus":
        period = _quantity(stimulus.find("recurrence"))
        return period, period
    if stimulus.get(TYPE) == "am:SporadicStimulus":
        return (
            _quantity(stimulus.find("stimulusDeviation/lowerBound")),
            _quantity(stimulus.find("stimulusDeviation/upperBound")),
        )
    return 0, 0


# ---------------------------------------------------------------- chains


@dataclass(frozen=True)
class ChainOpinion:
    age: int
    reaction: int


def opinion_on(model: Model, chain: list[str], responses: dict[str, int]) -> ChainOpinion:
    """Of the tasks of a chain, from the activation of the first on."""
    first = model.tasks[chain[0]]
    age = responses[first.name]
    reaction = first.longest + responses[first.name]
    before = first
    for name in chain[1:]:
        task = model.tasks[name]
        wait = 0
        if task.after != before.name:
            age += max(2 * before.longest, task.period)
            wait = task.longest
        age += responses[name] + ON_THE_BUS
        reaction += wait + responses[name] + ON_THE_BUS
        before = task
    return ChainOpinion(age, reaction)


def tasks_on(streams: list[str], model: Model) -> list[str]:
    """The tasks among the streams of a chain of the plan."""
    return [name for name in streams if name in model.tasks]


def compared(
    model: Model, plan: dict[str, Any], summary: dict[str, Any]
) -> list[tuple[str, str, int | None, int, int]]:
    """(chain, question, greatest seen, the compiler's bound, opinion) of the event chains."""
    responses = model.responses()
    seen = {(one["output"], *one["streams"]): one for one in summary["chains"]}
    found = []
    for chain in plan["verdict"]["chains"]:
        if not chain["output"].startswith("chain_"):
            continue
        opinion = opinion_on(model, tasks_on(chain["streams"], model), responses)
        run = seen.get((chain["output"], *chain["streams"]), {})
        for question, other in (("age", opinion.age), ("reaction", opinion.reaction)):
            bound = chain[question]["bound"]
            found.append((chain["output"], question, run.get(f"{question}_ns"), bound, other))
    return found


def main() -> None:
    model_path, plan_path, summary_path = map(Path, sys.argv[1:])
    model = read_model(model_path)
    plan, summary = (json.loads(path.read_text()) for path in (plan_path, summary_path))
    print(f"{'chain':32} {'':9} {'seen':>10} {'bound':>10} {'opinion':>10}  (ms)")  # noqa: T201
    for name, question, seen, bound, other in compared(model, plan, summary):
        shown = "–" if seen is None else f"{seen / MS:.3f}"
        print(  # noqa: T201
            f"{name:32} {question:9} {shown:>10} {bound / MS:10.3f} {other / MS:10.3f}"
        )


if __name__ == "__main__":
    main()
