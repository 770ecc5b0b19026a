"""The search for changes with which every deadline can be promised, and their check by compiling.

Candidates are first judged where the operators already are, which takes milliseconds; of each
ladder the least step that holds is looked for by halving. What is told has been compiled anew, from
the changed text. The number of trials follows from the size of the query, never from the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from headway.compiler.compilation import silent
from headway.compiler.placement.promised_placement import Targets
from headway.errors import HeadwayError
from headway.files.yaml_edits import YamlEdit
from headway.front_door.advice.candidate_changes import (
    CandidateChange,
    Kind,
    Ladder,
    faster_everything,
    kinds_of,
)
from headway.front_door.advice.car_files import CarFiles
from headway.front_door.advice.pins_that_help import pin_changes
from headway.model.graph import graph_of
from headway.model.plan import Asked, FixedBound, Plan, PlanFix, Requirement
from headway.model.quantities import MICROSECOND, MILLISECOND, format_duration

MOST_TRIALS = 90
LEAST_TRIALS = 10
MOST_WORK = 1_500
"""trials times operators"""
MOST_FIXES = 3
_MOST_TOGETHER = 3
_DEADLINE_ROUNDS = 8
_MOST_NAMED = 4

Compiler = Callable[[CarFiles], Plan]


@dataclass(frozen=True, kw_only=True)
class FoundFix:
    """A change that was tried, and the files with it."""

    fix: PlanFix
    files: CarFiles


def trials_for(operators: int) -> int:
    """How many changes may be judged for a query of that many operators."""
    return max(LEAST_TRIALS, min(MOST_TRIALS, MOST_WORK // max(1, operators)))


@dataclass
class FixSearch:
    """``compiled`` compiles files the way the plan was compiled."""

    plan: Plan
    files: CarFiles
    compiled: Compiler
    tell: Callable[[str], None] = silent
    trials: int = field(init=False)

    def __post_init__(self) -> None:
        self.trials = trials_for(len(list(self.plan.query.operators)))
        self.placement = dict(self.plan.placement)
        self.everything = frozenset(one.key for one in self._asked)

    @property
    def _asked(self) -> tuple[Requirement, ...]:
        return self.plan.verdict.requirements if self.plan.verdict is not None else ()

    def run(self) -> tuple[FoundFix, ...]:
        """At most three, the cheapest first; none where all promises are kept."""
        late = [one.key for one in self._asked if not one.kept]
        if not late:
            return ()
        found: list[FoundFix] = []
        by_pins = False
        for change, files in self._changes(self.files, self.everything):
            pins = any(edit.at == "pins" for edit in change.vehicle)
            if pins and by_pins:
                continue
            if (fix := self._checked([change.what], files)) is not None:
                found.append(fix)
                by_pins = by_pins or pins
            if len(found) == MOST_FIXES:
                break
        if not found and len(late) > 1:
            found += self._one_by_one(late)
        if len(found) < MOST_FIXES:
            later = self._later_deadlines(self.files, self.everything)
            if later is not None and (fix := self._checked([later[0].what], later[1])) is not None:
                found.append(fix)
        return tuple(found)

    def _one_by_one(self, late: Sequence[tuple[str, Asked]]) -> Iterator[FoundFix]:
        """Several changes together: the cheapest for one output, then on from there."""
        self.trials = max(self.trials, trials_for(len(list(self.plan.query.operators))) // 2)
        files = self.files
        what: list[str] = []
        wanted = self.everything - set(late)
        for key in late:
            wanted |= {key}
            if files.holds(self.placement, wanted):
                continue
            if len(what) == _MOST_TOGETHER:
                return
            step = next(self._changes(files, wanted), self._later_deadlines(files, wanted))
            if step is None:
                return
            what.append(step[0].what)
            files = step[1]
        if (fix := self._checked(what, files)) is not None:
            yield fix

    # ------------------------------------------------------------ changes that seem to help

    def _changes(
        self, files: CarFiles, wanted: Targets
    ) -> Iterator[tuple[CandidateChange, CarFiles]]:
        """Those with which the promises of the outputs wanted hold where the operators are: one of
        a kind, but of pins all that are worth a test."""
        self.tell("What would help? Other placements …")
        if wanted == self.everything:
            for change in pin_changes(files, self.plan):
                changed = files.changed(change.query, change.vehicle)
                if changed is not None:
                    yield change, changed
        late = frozenset(one.output for one in self._asked if not one.kept and one.key in wanted)
        on_way, bought = self._on_way(late), False
        for kind in kinds_of(files, self.plan, on_way):
            self.tell(f"What would help? {self.trials} trials are left …")
            best = self._least(kind, files, wanted)
            if best is not None:
                bought = bought or bool(best[0].vehicle)
                yield best
        if not bought:
            best = self._least(tuple(faster_everything(files, on_way)), files, wanted)
            if best is not None:
                yield best

    def _least(
        self, kind: Kind, files: CarFiles, wanted: Targets
    ) -> tuple[CandidateChange, CarFiles] | None:
        """Of all ladders of a kind the step that asks for least."""
        best: tuple[CandidateChange, CarFiles] | None = None
        for ladder in kind:
            steps = tuple(one for one in ladder if best is None or one.amount < best[0].amount)
            found = self._least_step(steps, files, wanted)
            if found is not None:
                best = found
        return best

    def _least_step(
        self, ladder: Ladder, files: CarFiles, wanted: Targets
    ) -> tuple[CandidateChange, CarFiles] | None:
        """By halving, after the last: where that does not help none is tried."""
        if not ladder:
            return None
        found = self._tried(ladder[-1], files, wanted)
        if found is None:
            return None
        low, high = 0, len(ladder) - 1
        while low < high:
            middle = (low + high) // 2
            earlier = self._tried(ladder[middle], files, wanted)
            if earlier is None:
                low = middle + 1
            else:
                found, high = earlier, middle
        return found

    def _tried(
        self, change: CandidateChange, files: CarFiles, wanted: Targets
    ) -> tuple[CandidateChange, CarFiles] | None:
        if self.trials <= 0:
            return None
        self.trials -= 1
        changed = files.changed(change.query, change.vehicle)
        if changed is None or not changed.holds(self.placement, wanted):
            return None
        return change, changed

    def _later_deadlines(
        self, files: CarFiles, wanted: Targets
    ) -> tuple[CandidateChange, CarFiles] | None:
        """A later deadline has less priority, which can make the bound grow: so each is tried, and
        raised again where it is not yet enough."""
        due: dict[tuple[str, Asked], int] = {}
        changed: CarFiles | None = files
        for _ in range(_DEADLINE_ROUNDS):
            now = changed.requirements(self.placement) if changed is not None else ()
            late = {one.key: one.bound for one in now if one.key in wanted and not one.kept}
            if not now or None in late.values():
                return None
            if not late:
                break
            due |= {key: _generous(bound) for key, bound in late.items() if bound is not None}
            changed = files.changed(
                YamlEdit(f"outputs.{name}", asked.value, format_duration(time))
                for (name, asked), time in due.items()
            )
        else:
            return None
        if not due or changed is None:
            return None
        parts = []
        for (name, asked), time in due.items():
            of = "" if asked is Asked.DEADLINE else f"{asked.value} "
            parts.append(f"{of}{format_duration(time)} for {name}")
        what = f"a later deadline: {', '.join(parts)}"
        if len(parts) > _MOST_NAMED:
            what = f"later deadlines, of {len(parts)} requirements"
        return CandidateChange(what=what, amount=1.0), changed

    def _on_way(self, outputs: frozenset[str]) -> frozenset[str]:
        """All that the late outputs come by, with what shares its nodes: streams and places."""
        graph, found = graph_of(self.plan.query), set[str]()
        waiting = [graph.outputs[name].stream for name in outputs]
        while waiting:
            stream = waiting.pop()
            if stream not in found:
                found.add(stream)
                if stream in graph.operators:
                    waiting += graph.operators[stream].streams
        places = {self.placement[stream] for stream in found}
        for crossing in self.plan.crossings:
            if crossing.stream in found:
                places |= {hop.name for hop in crossing.hops}
        return frozenset(found | places)

    # ------------------------------------------------------------ the check

    def _checked(self, what: list[str], files: CarFiles) -> FoundFix | None:
        """The change compiled anew, placement included; None where it does not hold after all."""
        self.tell("What would help? Compiling a change …")
        try:
            plan = self.compiled(files)
        except HeadwayError:
            return None
        if plan.verdict is None or not plan.verdict.safe:
            return None
        before = {one.key: one.bound for one in self._asked if not one.kept}
        bounds = tuple(
            FixedBound(
                output=one.output,
                asked=one.asked,
                before=before[one.key],
                after=one.bound,
                limit=one.limit,
            )
            for one in plan.verdict.requirements
            if one.key in before
        )
        lines = tuple(files.lines_since(self.files))
        fix = PlanFix(what="; and ".join(what), bounds=bounds, lines=lines)
        return FoundFix(fix=fix, files=files)


def _generous(bound: int) -> int:
    """A round time that is not below it."""
    grain = MILLISECOND if bound >= 20 * MILLISECOND else 10 * MICROSECOND
    return -(-bound // grain) * grain
