"""What would help a plan whose deadlines cannot all be promised, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from headway.model.plan import Asked, Plan, PlanFix, Requirement
from headway.model.quantities import format_duration

_DIGITS = 4
MOST_NAMED = 4
MOST_LINES = 16
"""of a change that are shown; all of them are in the plan"""


def broken_promises(plan: Plan) -> Iterator[str]:
    """A sentence or two for each output of which not all that is asked can be promised; of many,
    for the first."""
    asked = plan.verdict.requirements if plan.verdict is not None else ()
    broken = [requirement for requirement in asked if not requirement.kept]
    for requirement in broken[:MOST_NAMED]:
        yield _broken(requirement)
    if len(broken) > MOST_NAMED:
        yield f"{len(broken) - MOST_NAMED} more of what is asked cannot be promised either."


_WANTED = {
    Asked.DEADLINE: "{output} is to come within {limit}",
    Asked.AGE: "the data of {output} are to be no older than {limit}",
    Asked.REACTION: "{output} is to react within {limit}",
}


def _broken(one: Requirement) -> str:
    wanted = _WANTED[one.asked].format(output=one.output, limit=format_duration(one.limit))
    if one.asked is Asked.AGE:
        wanted = wanted[:1].upper() + wanted[1:]
    if one.bound is None:
        return f"{wanted}, and there is no bound: {one.reason or 'none was found'}."
    said = f"{wanted}, and may take {short(one.bound)}."
    if one.asked is Asked.AGE:
        said = f"{wanted}, and may be {short(one.bound)} old."
    if one.steps:
        longest = max(one.steps, key=lambda step: step.time)
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
        whose = one.output if one.asked is Asked.DEADLINE else f"{one.asked.value} of {one.output}"
        parts.append(f"{whose}: {before} → {after} of {format_duration(one.limit)}")
    if len(parts) > MOST_NAMED:
        parts[MOST_NAMED:] = [f"and {len(parts) - MOST_NAMED} more"]
    return f"{'; '.join(parts)}."


def changed_text(fix: PlanFix) -> Iterator[str]:
    """The lines of the files that change, under the name of each file."""
    file = ""
    for line in fix.lines[:MOST_LINES]:
        if line.file != file:
            file = line.file
            yield f"{file}:{line.line}"
        yield line.text
    if len(fix.lines) > MOST_LINES:
        yield f"… and {len(fix.lines) - MOST_LINES} lines more"


def short(time: int) -> str:
    """To four digits, rounded up: what is said of a bound is not below it."""
    grain = int(10 ** max(0, len(str(time)) - _DIGITS))
    return format_duration(-(-time // grain) * grain)
