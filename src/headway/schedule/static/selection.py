"""The processor selection phase (HVLB_CC section 4.2) at one value of α.

Each task of the queue goes to the processor, and its messages to the routes, of least value

    EFT · LDET · BP,   BP = 1 + (sum of comp on the processor) / period · α

and exits to that of least EFT. Equal values go to the lower processor number."""

from __future__ import annotations

from fractions import Fraction

from headway.schedule.static.instance import Instance
from headway.schedule.static.orders import Order
from headway.schedule.static.ranks import Ranks
from headway.schedule.static.timing import MessageTiming

Placed = tuple[int, tuple[int, ...]]
"""(makespan in ticks, processor of every task)"""


def select_at(
    instance: Instance, ranks: Ranks, timing: MessageTiming, order: Order, alpha: Fraction
) -> Placed:
    """One pass of the inner loop of algorithm 1."""
    weight, unit = alpha.numerator, alpha.denominator * instance.period
    candidate = weight if instance.options.balance_counts_candidate else 0
    distance = ranks.distance_to_exit
    comps, allowed, release = instance.comp, instance.allowed, instance.release
    successors, sent = instance.successors, timing.sent
    arrive, after = timing.arrive, timing.after
    count = len(instance.tasks)
    finish, where = [0] * count, [0] * count
    available = [0] * len(instance.processors)
    balance = [unit] * len(instance.processors)  # BP, up to a common factor
    links = timing.idle
    for task in order:
        messages = sent(task, finish, where)
        comp, far, inner = comps[task], distance[task], successors[task]
        best = best_finish = best_processor = -1
        for p in allowed[task]:
            arrival = arrive(messages, p, links)
            if arrival < available[p]:
                arrival = available[p]
            if arrival < release[task]:
                arrival = release[task]
            end = arrival + comp[p]
            value = end * far[p] * (balance[p] + candidate * comp[p]) if inner else end
            if value < best or best < 0:
                best, best_finish, best_processor = value, end, p
        links = after(messages, best_processor, links)
        finish[task] = available[best_processor] = best_finish
        where[task] = best_processor
        balance[best_processor] += weight * comp[best_processor]
    return max(finish), tuple(where)
