"""What ``headway compile --policy rop-edf-1`` adds to the verdict."""

from __future__ import annotations

from headway.compile.judge.soft_room import soft_rooms
from headway.errors import InputError, Problem
from headway.model.plan import Plan
from headway.model.taskset import percent
from headway.report.words import sign
from headway.schedule.online import overload_policy_named
from headway.schedule.overload.expect import expectations, soft_room
from headway.schedule.overload.from_plan import BEYOND, task_sets_of
from headway.schedule.overload.plan_paths import check_nodes

KNOWN = ("rop-edf-1", "rop-edf-2")


def reservations(plan: Plan, policy: str) -> list[str]:
    """A line for each node and each soft path; TaskSetError when the hard ones do not fit."""
    name = overload_policy_named(policy).name
    if name not in KNOWN:
        want = f"choose {' or '.join(KNOWN)}"
        raise InputError(Problem(f"{policy!r} gives no guarantee to speak of", want=want))
    lines = []
    sets = task_sets_of(plan)
    check_nodes(sets)
    rooms = soft_rooms(plan)
    for task_set in sets:
        room = soft_room(task_set)
        lines.append(
            f"{sign(True)} {task_set.name}: hard paths reserve {percent(task_set.hard_capacity)}, "
            f"{percent(room)} is left for soft load, whatever the soft load is"
        )
        engine = min(room, rooms.get(task_set.name, room))
        if engine < room:
            lines.append(
                f"  in the engine {percent(engine // 1000 * 1000)} is left: operators there are "
                "not interrupted, and hard outputs must be able to wait for one"
            )
        for one in expectations(task_set):
            chance = one.whole_jobs if name == KNOWN[0] else one.shares
            kept = f", {percent(one.reserved)} reserved" if name == KNOWN[1] else ""
            if BEYOND not in one.task:
                lines.append(f"  {one.task} asks for {percent(one.wanted)}: {chance.value}{kept}")
        beyond = [one for one in expectations(task_set) if BEYOND in one.task]
        if beyond:
            wanted = sum(one.wanted for one in beyond)
            fit = min(100.0, 100 * room / wanted)
            lines.append(
                f"  beyond the shedders {percent(wanted)} more may come: "
                f"at most {fit:.0f} % of it fits"
            )
    return lines
