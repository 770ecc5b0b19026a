"""Results of static scheduling: the facts, as tables and as plain values for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from headway.model.static_network import ProcessorNetwork, Schedule
from headway.model.taskgraph import TaskGraph
from headway.report.gantt import GanttChart, time_text
from headway.report.plan.plan_tables import NONE, Table, sign
from headway.schedule.static import AlphaInterval, Metrics, StaticResult, precision
from headway.schedule.static.optimal import Optimum
from headway.schedule.static.periodic import ExitAnswer


@dataclass(frozen=True, kw_only=True)
class AlgorithmOutcome:
    """One algorithm's. ``metrics`` is None on a failure. ``exits`` are deadlines and whether they
    are met, where the graph has any."""

    result: StaticResult
    metrics: Metrics | None
    uses_alpha: bool = False
    exits: tuple[ExitAnswer, ...] = ()
    optimum: Optimum | None = None
    hyperperiod: Fraction | None = None
    repeats: bool = True
    """whether the schedule can start again every hyperperiod"""
    member: str = ""
    """of a portfolio: who found the schedule"""
    holes: Mapping[str, Fraction] = field(default_factory=dict)
    """task -> the hole behind it, where the algorithm makes room for optional parts"""

    @property
    def sound(self) -> bool:
        """Whether there is a schedule that meets every deadline, over and over."""
        met = all(answer.met for answer in self.exits)
        return self.metrics is not None and met and self.repeats


@dataclass(frozen=True, kw_only=True)
class ScheduleStudy:
    """One graph on one network, by one or more algorithms. ``unit`` of the graph's time is one
    ``unit_name``."""

    graph: TaskGraph
    network: ProcessorNetwork
    outcomes: Sequence[AlgorithmOutcome]
    unit: Fraction = Fraction(1)
    unit_name: str = ""
    arrival_rate: Fraction = Fraction(3, 2)
    """λ, at which the precision of imprecise tasks is told"""

    def charts(self) -> list[GanttChart]:
        """A chart of every schedule that was found."""
        return [
            GanttChart(
                title=outcome.result.algorithm,
                network=self.network,
                schedule=outcome.result.schedule,
                deadline=self._deadline(outcome),
                note=remark(outcome),
                unit=self.unit,
                unit_name=self.unit_name,
                holes=outcome.holes,
            )
            for outcome in self.outcomes
            if outcome.result.schedule is not None
        ]

    def _deadline(self, outcome: AlgorithmOutcome) -> Fraction | None:
        """Only where one deadline is that of all: several would be a forest of lines."""
        deadlines = {answer.deadline for answer in outcome.exits}
        several = outcome.hyperperiod is not None or len(deadlines) != 1
        return None if several else deadlines.pop()


def remark(outcome: AlgorithmOutcome) -> str:
    """What is to be said besides the numbers."""
    if outcome.result.failure is not None:
        return f"failed: {outcome.result.failure}"
    words = [f"by {outcome.member}"] if outcome.member else []
    if (optimum := outcome.optimum) is not None:
        if optimum.late > optimum.fewest_late:
            words.append(f"{optimum.late} late, at least {optimum.fewest_late} must be")
        else:
            gap = f"gap at most {percent(optimum.gap)}"
            words.append("proven optimal" if optimum.proven else gap)
    if not outcome.result.complete:
        words.append("not every α looked at")
    return "; ".join([*words, *([short] if (short := shortfall(outcome)) else [])])


def shortfall(outcome: AlgorithmOutcome) -> str:
    """Why a schedule is not sound; empty if it is."""
    words = [] if outcome.repeats else ["cannot start again after a hyperperiod"]
    missed = [answer.task for answer in outcome.exits if not answer.met]
    if missed:
        words.append(f"deadline missed: {', '.join(missed)}")
    return "; ".join(words)


def percent(share: Fraction) -> str:
    return f"{time_text(round(float(share) * 100, 1))} %"


# ---------------------------------------------------------------- tables


MOST_INTERVALS = 24
"""More of an algorithm are counted, not listed; JSON has them all."""


def comparison(study: ScheduleStudy) -> Table:
    """One line for each algorithm."""
    unit = f" ({study.unit_name})" if study.unit_name else ""
    headers = ["Algorithm", f"Makespan{unit}", "SLR", "Speedup", "Load balance", "α", "Remark"]
    rows = []
    for outcome in study.outcomes:
        name, metrics, best = outcome.result.algorithm, outcome.metrics, outcome.result.best
        if metrics is None or best is None:
            rows.append([name, NONE, NONE, NONE, NONE, NONE, remark(outcome)])
            continue
        rows.append(
            [
                name,
                time_text(metrics.makespan / study.unit),
                time_text(metrics.slr),
                time_text(metrics.speedup),
                time_text(metrics.load_balance),
                alpha_text(best) if outcome.uses_alpha else NONE,
                remark(outcome),
            ]
        )
    title = f"{study.graph.name} on {study.network.name}"
    return Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3, 4))


def intervals(study: ScheduleStudy, outcome: AlgorithmOutcome) -> Table:
    """Every distinct schedule over α; nothing for an algorithm without α."""
    found = outcome.result.intervals if outcome.uses_alpha else ()
    rows = [
        [alpha_text(interval), time_text(interval.makespan / study.unit)]
        for interval in found[:MOST_INTERVALS]
    ]
    if len(found) > MOST_INTERVALS:
        least = min(interval.makespan for interval in found[MOST_INTERVALS:])
        more = f"… {len(found) - MOST_INTERVALS} more"
        rows.append([more, f"{time_text(least / study.unit)} or more"])
    title = f"{outcome.result.algorithm} over α"
    return Table(title=title, headers=["For α in", "Makespan"], rows=rows, numeric=(1,))


def exits(study: ScheduleStudy, outcome: AlgorithmOutcome) -> Table:
    """Deadlines and whether they are met; nothing when there is only the period, and it is met."""
    own = any(task.deadline is not None for task in study.graph.tasks)
    rows = [
        [
            answer.task,
            time_text(answer.deadline / study.unit),
            time_text(answer.response / study.unit),
            str(answer.executions),
            str(answer.missed),
            sign(answer.met),
        ]
        for answer in outcome.exits
        if own or outcome.hyperperiod is not None or not answer.met
    ]
    headers = ["Exit", "Deadline", "Worst response", "Executions", "Missed", "Met"]
    title = f"Deadlines under {outcome.result.algorithm}"
    return Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3, 4))


def imprecise(study: ScheduleStudy, outcome: AlgorithmOutcome) -> Table:
    """The holes behind tasks, and what they make of optional parts; the largest first."""
    facts = [HoleFacts.of(study, outcome, task) for task in outcome.holes]
    facts = sorted(facts, key=lambda one: -one.hole)
    unit = f" ({study.unit_name})" if study.unit_name else ""
    at = f"Precision at λ {time_text(study.arrival_rate)}"
    rows = [
        [
            one.task,
            time_text(one.mandatory / study.unit),
            time_text(one.hole / study.unit),
            NONE if one.full_up_to is None else time_text(one.full_up_to),
            percent(one.precision),
        ]
        for one in facts[:MOST_HOLES]
    ]
    if len(facts) > MOST_HOLES:
        rows.append([f"… {len(facts) - MOST_HOLES} more", "", "", "", ""])
    headers = [
        "Task",
        f"Takes{unit}",
        f"Hole{unit}",
        "Full precision to λ",
        at,
    ]
    title = f"Schedule holes under {outcome.result.algorithm}"
    return Table(title=title, headers=headers, rows=rows, numeric=(1, 2, 3, 4))


MOST_HOLES = 24
"""More are counted, not listed; JSON has them all."""


@dataclass(frozen=True, kw_only=True)
class HoleFacts:
    """A task with a hole behind it. ``full_up_to``: the greatest λ at which the whole optional part
    fits; None for a task that takes no time."""

    task: str
    mandatory: Fraction
    hole: Fraction
    full_up_to: Fraction | None
    precision: Fraction

    @staticmethod
    def of(study: ScheduleStudy, outcome: AlgorithmOutcome, task: str) -> HoleFacts:
        schedule, hole = outcome.result.schedule, outcome.holes[task]
        assert schedule is not None
        slot = schedule.of_task[task]
        mandatory = slot.finish - slot.start
        return HoleFacts(
            task=task,
            mandatory=mandatory,
            hole=hole,
            full_up_to=(mandatory + hole) / mandatory if mandatory else None,
            precision=precision(hole, mandatory, study.arrival_rate),
        )


def tables(study: ScheduleStudy) -> list[Table]:
    """All of them, those without rows left out."""
    found = [comparison(study)]
    for outcome in study.outcomes:
        found += [intervals(study, outcome), imprecise(study, outcome), exits(study, outcome)]
    return [table for table in found if table.rows]


def alpha_text(interval: AlphaInterval) -> str:
    """``[1.77, 1.84)``: round and square brackets as ends are left out or belong to it."""
    left, right = "[" if interval.low_closed else "(", "]" if interval.high_closed else ")"
    high = "∞" if interval.high is None else _alpha(interval.high)
    return f"{left}{_alpha(interval.low)}, {high}{right}"


def _alpha(alpha: Fraction) -> str:
    return f"{float(alpha):.6g}"


# -------------------------------------------- plain values, for programs: times in the graph's unit


def study_plain(study: ScheduleStudy) -> dict[str, Any]:
    """Everything that is known; fractions as the nearest float, ends of α exactly besides."""
    return {
        "graph": study.graph.name,
        "network": study.network.name,
        "tasks": len(study.graph.tasks),
        "algorithms": [_outcome(study, outcome) for outcome in study.outcomes],
    }


def _outcome(study: ScheduleStudy, outcome: AlgorithmOutcome) -> dict[str, Any]:
    result, metrics, best = outcome.result, outcome.metrics, outcome.result.best
    plain: dict[str, Any] = {
        "algorithm": result.algorithm,
        "order": list(result.order),
        "failure": None,
    }
    if result.failure is not None:
        failure = result.failure
        plain["failure"] = {"task": failure.task, "before_its_predecessor": failure.predecessor}
    if metrics is not None:
        plain |= {
            "makespan": float(metrics.makespan),
            "slr": float(metrics.slr),
            "speedup": float(metrics.speedup),
            "load_balance": float(metrics.load_balance),
        }
    if outcome.uses_alpha and best is not None:
        plain["alpha"] = _interval(best)
        plain["intervals"] = [_interval(interval) for interval in result.intervals]
    if outcome.optimum is not None:
        optimum = outcome.optimum
        plain |= {"bound": float(optimum.bound), "gap": float(optimum.gap)}
        plain |= {"proven": optimum.proven, "seconds": round(optimum.seconds, 3)}
        plain |= {"late": optimum.late, "fewest_late": optimum.fewest_late}
    if outcome.member:
        plain["member"] = outcome.member
    if not result.complete:
        plain["complete"] = False
    if outcome.holes:
        plain["arrival_rate"] = float(study.arrival_rate)
        facts = (HoleFacts.of(study, outcome, task) for task in outcome.holes)
        plain["holes"] = [
            {
                "task": one.task,
                "hole": float(one.hole),
                "full_precision_to": None if one.full_up_to is None else float(one.full_up_to),
                "precision": float(one.precision),
            }
            for one in facts
        ]
    if outcome.hyperperiod is not None:
        plain["hyperperiod"] = float(outcome.hyperperiod)
        plain["repeats"] = outcome.repeats
    if outcome.exits:
        plain["exits"] = [
            {
                "task": answer.task,
                "deadline": float(answer.deadline),
                "worst_response": float(answer.response),
                "executions": answer.executions,
                "missed": answer.missed,
                "met": answer.met,
            }
            for answer in outcome.exits
        ]
    if result.schedule is not None:
        plain["schedule"] = schedule_plain(result.schedule)
    return plain


def schedule_plain(schedule: Schedule) -> dict[str, Any]:
    """When each task and each message is where."""
    return {
        "tasks": [
            {
                "task": slot.task,
                "processor": slot.processor,
                "start": float(slot.start),
                "finish": float(slot.finish),
            }
            for slot in schedule.tasks
        ],
        "messages": [
            {
                "from": message.sender,
                "to": message.receiver,
                "links": [
                    {"link": s.link, "start": float(s.start), "finish": float(s.finish)}
                    for s in message.links
                ],
            }
            for message in schedule.messages
        ],
    }


def _interval(interval: AlphaInterval) -> dict[str, Any]:
    return {
        "low": float(interval.low),
        "high": None if interval.high is None else float(interval.high),
        "low_exact": str(interval.low),
        "high_exact": None if interval.high is None else str(interval.high),
        "low_closed": interval.low_closed,
        "high_closed": interval.high_closed,
        "makespan": float(interval.makespan),
    }
