"""What would help a plan whose deadlines cannot all be promised, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model.plan import Plan, PlanFix, Promise
from headway.model.quantities import format_duration

_DIGITS = 4


def broken_promises(plan: Plan) -> Iterator[str]:
    """A sentence or two for each output whose deadline cannot be promised."""
    for promise in plan.verdict.promises if plan.verdict is not None else ():
        if not promise.kept:
            yield _broken(promise)


def _broken(promise: Promise) -> str:
    allowed = format_duration(promise.deadline)
    if promise.bound is None:
        reason = promise.reason or "none was found"
        return f"{promise.output} is to come within {allowed}, and has no bound: {reason}."
    said = f"{promise.output} is to come within {allowed}, and may take {short(promise.bound)}."
    if promise.steps:
        longest = max(promise.steps, key=lambda step: step.time)
        said += f" The longest part of it, {short(longest.time)}: {longest.what}."
    return said


def fix_title(fix: PlanFix) -> str:
    """What to do, as a sentence."""
    return f"{fix.what[:1].upper()}{fix.what[1:]}."


def bounds_text(fix: PlanFix) -> str:
    """The bounds before and after of the outputs whose promises were broken."""
    parts = []
    for one in fix.bounds:
        before = "no bound" if one.before is None else short(one.before)
        after = "no bound" if one.after is None else short(one.after)
        parts.append(f"{one.output}: {before} → {after} of {format_duration(one.deadline)}")
    return f"{'; '.join(parts)}."


def changed_text(fix: PlanFix) -> Iterator[str]:
    """The lines of the files that change, under the name of each file."""
    file = ""
    for line in fix.lines:
        if line.file != file:
            file = line.file
            yield f"{file}:{line.line}"
        yield f"{line.text}"


def short(time: int) -> str:
    """To four digits, rounded up: what is said of a bound is not below it."""
    grain = int(10 ** max(0, len(str(time)) - _DIGITS))
    return format_duration(-(-time // grain) * grain)
