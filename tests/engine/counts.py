"""Conservation: what became of the tuples that every source and operator took in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from headway.engine.kernel import Kernel
from headway.engine.operators.operator_base import DropKind
from headway.engine.results import RunResult
from headway.model.operators import Filter, Map, Union


@dataclass(frozen=True, kw_only=True)
class OperatorCount:
    """``consumed = used + filtered + late + failed + shed + rejected + kept``.

    For a source ``consumed`` are the arrivals. ``used`` are the tuples that went on or into a
    result: for filters, maps and unions as many as were ``produced``; a join or a user's class may
    produce more or less.
    """

    operator: str
    consumed: int
    produced: int
    filtered: int = 0
    late: int = 0
    failed: int = 0
    shed: int = 0
    rejected: int = 0
    kept: int = 0
    """still inside: in a join's window, a batch being gathered, a shedder (an aggregate's windows
    count groups and are empty after a run)"""

    @property
    def used(self) -> int:
        gone = self.filtered + self.late + self.failed + self.shed + self.rejected
        return self.consumed - gone - self.kept


def kernel_of(result: RunResult) -> Kernel:
    """That of the Python engine, which can be asked for more than counts."""
    assert isinstance(result.kernel, Kernel)
    return result.kernel


def operator_counts(result: RunResult) -> list[OperatorCount]:
    """The sources, then the operators, in the order of the query."""
    core = kernel_of(result)
    graph = core.program.graph
    passed = core.passed()
    dropped = Counter((one.where, one.kind) for _, one in result.side.dropped)
    found = []
    for name, ingest in core.ingests.items():
        shed, rejected, failed = (
            dropped[name, kind] for kind in (DropKind.SHED, DropKind.REJECTED, DropKind.FAILED)
        )
        kept = ingest.size()
        found.append(
            OperatorCount(
                operator=name,
                consumed=passed[name] + shed + rejected + failed + kept,
                produced=passed[name],
                shed=shed,
                rejected=rejected,
                failed=failed,
                kept=kept,
            )
        )
    consumed, produced = _ran(result)
    for name, operator in graph.operators.items():
        late, failed = dropped[name, DropKind.LATE], dropped[name, DropKind.FAILED]
        shed = dropped[name, DropKind.SHED]  # a job that was not admitted
        made = produced[name] + passed[name]
        filtered = 0
        if isinstance(operator, Filter | Map | Union):
            filtered = consumed[name] - made - failed - shed
        found.append(
            OperatorCount(
                operator=name,
                consumed=consumed[name],
                produced=made,
                filtered=filtered,
                late=late,
                failed=failed,
                shed=shed,
                kept=_kept(result, name),
            )
        )
    return found


def _ran(result: RunResult) -> tuple[Counter[str], Counter[str]]:
    """Consumed by each operator, and produced inside trains; the fast way counts by train."""
    kernel = kernel_of(result)
    consumed, produced = Counter(kernel.consumed), Counter(kernel.produced)
    for unit in kernel.program.units:
        for index, name in enumerate(unit.operators):
            consumed[name] += sum(unit.ran[index + 1 :])
            if index + 1 < len(unit.operators):
                produced[name] += sum(unit.ran[index + 2 :])
    return consumed, produced


def _kept(result: RunResult, name: str) -> int:
    program = kernel_of(result).program
    stateful = program.stateful.get(name)
    gathering = sum(
        unit.gathering.size()
        for unit in program.units
        if unit.gathering is not None and unit.head.name == name
    )
    return gathering + (stateful.size() if stateful is not None else 0)
