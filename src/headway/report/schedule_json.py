"""Results of static scheduling as plain values, for programs. Times are in the graph's unit."""

from __future__ import annotations

from typing import Any

from headway.model.static_schedule import Schedule
from headway.report.schedule_study import Outcome, Study
from headway.schedule.static import AlphaInterval


def study_plain(study: Study) -> dict[str, Any]:
    """Everything that is known; fractions as the nearest float, ends of α exactly besides."""
    return {
        "graph": study.graph.name,
        "network": study.network.name,
        "tasks": len(study.graph.tasks),
        "algorithms": [_outcome(outcome) for outcome in study.outcomes],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
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
