"""What became of the tuples that every source and operator took in: nothing is lost unseen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headway.engine.kernel import Kernel
from headway.engine.operators.operator_base import DropKind
from headway.model.graph import Graph

if TYPE_CHECKING:  # nodes count, too, and carry nothing of results
    from headway.engine.results import RunResult


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
    def gone(self) -> dict[str, int]:
        """By reason, those that did not go on."""
        reasons = ("filtered", "late", "failed", "shed", "rejected", "kept")
        return {reason: count for reason in reasons if (count := getattr(self, reason))}

    @property
    def used(self) -> int:
        return self.consumed - sum(self.gone.values())


def operator_counts(result: RunResult) -> list[OperatorCount]:
    """The sources, then the operators, in the order of the query; empty for native code, which
    counts by train."""
    if not isinstance(result.kernel, Kernel):
        return []
    return counts_of_kernel(result.kernel, result.side.by_place())


def counts_of_kernel(
    core: Kernel, dropped: Mapping[tuple[str, str], int], *, running: bool = False
) -> list[OperatorCount]:
    """``dropped`` by place and kind. Of a kernel that is ``running`` in another thread what is
    still inside is not looked at."""
    dropped = Counter(dropped)
    passed = core.passed()
    found = []
    for name, ingest in core.ingests.items():
        shed, rejected, failed = (
            dropped[name, kind] for kind in (DropKind.SHED, DropKind.REJECTED, DropKind.FAILED)
        )
        kept = 0 if running else ingest.size()
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
    consumed, produced = _ran(core)
    for name, operator in core.program.graph.operators.items():
        late, failed = dropped[name, DropKind.LATE], dropped[name, DropKind.FAILED]
        shed = dropped[name, DropKind.SHED]  # a job that was not admitted
        made = produced[name] + passed[name]
        filtered = 0
        if not operator.traits.keeps_state:
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
                kept=0 if running else _kept(core, name),
            )
        )
    return found


def dropped_at(counts: Iterable[OperatorCount]) -> dict[str, dict[str, int]]:
    """Kind -> operator or source -> tuples that left their way there."""
    found: dict[str, dict[str, int]] = {}
    for one in counts:
        for kind in DropKind:
            if count := one.gone.get(kind.value, 0):
                found.setdefault(kind.value, {})[one.operator] = count
    return dict(sorted(found.items()))


def _ran(kernel: Kernel) -> tuple[Counter[str], Counter[str]]:
    """Consumed by each operator, and produced inside trains; the fast way counts by train."""
    consumed, produced = Counter(kernel.consumed), Counter(kernel.produced)
    for unit in kernel.program.units:
        for index, name in enumerate(unit.operators):
            consumed[name] += sum(unit.ran[index + 1 :])
            if index + 1 < len(unit.operators):
                produced[name] += sum(unit.ran[index + 2 :])
    return consumed, produced


def _kept(kernel: Kernel, name: str) -> int:
    program = kernel.program
    stateful = program.stateful.get(name)
    held = sum(
        unit.sampling.size()
        for unit in program.units
        if unit.sampling is not None and unit.head.name == name
    )
    gathering = sum(
        unit.gathering.size()
        for unit in program.units
        if unit.gathering is not None and unit.head.name == name
    )
    return held + gathering + (stateful.size() if stateful is not None else 0)


# ---------------------------------------------------------------- of several vehicles, in words


def added_counts(runs: Iterable[Sequence[OperatorCount]]) -> list[OperatorCount]:
    """Operator by operator, the sums over several runs of one query."""
    total: dict[str, OperatorCount] = {}
    for counts in runs:
        for one in counts:
            before = total.get(one.operator)
            if before is not None:
                one = replace(
                    one, **{name: value + getattr(before, name) for name, value in _numbers(one)}
                )
            total[one.operator] = one
    return list(total.values())


def _numbers(count: OperatorCount) -> list[tuple[str, int]]:
    return [(name, value) for name, value in vars(count).items() if name != "operator"]


def why_silent(graph: Graph, counts: Sequence[OperatorCount], stream: str) -> str:
    """Why no tuple came out of ``stream``: the operators nearest to the sources that took tuples in
    and gave none, or the sources of which none came."""
    known = {one.operator: one for one in counts}
    told: dict[str, str] = {}
    _look(graph, known, stream, told)
    return "; ".join(told.values())


def _look(
    graph: Graph, known: Mapping[str, OperatorCount], stream: str, told: dict[str, str]
) -> None:
    count = known[stream]
    if count.produced or stream in told:
        return
    if not count.consumed:
        inputs = graph.operators[stream].streams if stream in graph.operators else ()
        if not inputs:
            told[stream] = f"no tuple of source {stream} came"
        for one in inputs:
            _look(graph, known, one, told)
        return
    what = graph.operators[stream].kind if stream in graph.operators else "source"
    reasons = ", ".join(f"{number:,} {reason}" for reason, number in count.gone.items())
    rest = f": {reasons}" if reasons else ""
    told[stream] = f"{what} {stream} took in {count.consumed:,} tuples and gave none{rest}"
