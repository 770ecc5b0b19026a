"""AEDSMS and S-EDF figure 17: how many V2V tuples a second each policy takes without a miss.

For each trial and policy, the largest limit of the load shedder (in steps of 10 tuples/s) at which
no tuple of output1 or output2 was late, by bisection; the least over the trials counts. Then miss
ratios over limits. The papers print no cost of an item, no size of a tuple on the bus and not how
many objects their radar reported, so the search is repeated with other values of each: cheaper
items, one node without a network (as in the S-EDF paper), fewer radar objects.

Grid: (policy, trial); variants x policy x 5 trials; limits x policy x 5 trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.experiments.collision.cells import (
    PUBLISHED,
    S_EDF_RATE,
    TRIALS,
    drive,
    driven,
    setting_of,
)
from headway.experiments.collision.limit import largest_limit
from headway.experiments.collision.measured import measure
from headway.experiments.collision.rate_pictures import rate_chart, rate_table
from headway.experiments.collision.rate_rows import (
    CHEAP_ITEMS,
    FEWEST_OBJECTS,
    LIMITS,
    MAIN,
    ONE_CHEAP_NODE,
    OTHERS,
    POLICIES,
    Variant,
    least_rate,
    rate_words,
)
from headway.experiments.collision.vehicles import application_on
from headway.experiments.findings import NO_REASON, Claim, Findings, beyond, stated
from headway.experiments.rows import distinct, same_scale, text, where, whole
from headway.experiments.study import Cell, Paper, Row, Study

QUICK_LIMITS = (10, 100, 300, 600, 1000)
FEW = 5
"""trials of variants and of the curve"""
QUICK_TRIALS = 1
"""of everything: a search for a limit is many runs"""
QUICK_VARIANTS = (FEWEST_OBJECTS, ONE_CHEAP_NODE)
PUBLISHED_TIMES = PUBLISHED["s-edf"] / PUBLISHED["fifo+"]
OUTPUT1_WAITS = (
    "output1, which stops it in every trial, takes up to 15 of its 30 ms over the buses and waits "
    "for a fusion of all radar objects, up to eight"
)


def cells(quick: bool) -> list[Cell]:
    trials, few = (QUICK_TRIALS, QUICK_TRIALS) if quick else (TRIALS, FEW)
    variants, limits = (QUICK_VARIANTS, QUICK_LIMITS) if quick else (OTHERS, LIMITS)
    grid = [_limit(policy, trial, MAIN) for trial in range(trials) for policy in POLICIES]
    for trial in range(few):
        for policy in POLICIES:
            grid += [_limit(policy, trial, variant) for variant in variants]
            grid += [_miss_ratio(policy, trial, limit) for limit in limits]
    return grid


def _limit(policy: str, trial: int, variant: Variant) -> Cell:
    return {
        "part": "limit",
        "policy": policy,
        "trial": trial,
        "vehicle": variant.vehicle,
        "item_us": variant.item_us,
        "radar_objects": variant.radar_objects,
    }


def _miss_ratio(policy: str, trial: int, limit: int) -> Cell:
    return {"part": "curve", "policy": policy, "trial": trial, "limit": limit}


def run(cell: Cell) -> list[Row]:
    if cell["part"] == "curve":
        return [_run_at(cell)]
    objects = None if cell["radar_objects"] is None else whole(cell, "radar_objects")
    found = largest_limit(
        application_on(text(cell, "vehicle")),
        drive(whole(cell, "trial"), objects),
        setting_of(cell),
    )
    return [
        {**cell, "rate": found.rate, "late": found.late, "kept_without_v2v": found.kept_without_v2v}
    ]


def _run_at(cell: Cell) -> Row:
    trial = whole(cell, "trial")
    setting = replace(setting_of(cell), shed=whole(cell, "limit"))
    found = measure(driven(trial, setting), trial).trial
    return {
        **cell,
        "miss_ratio": found.miss_ratio,
        "miss_ratio1": found.misses1 / max(found.tuples1, 1),
        "miss_ratio2": found.misses2 / max(found.tuples2, 1),
    }


def analyse(rows: Sequence[Row]) -> Findings:
    limits, curve = where(rows, part="limit"), where(rows, part="curve")
    return Findings(
        claims=(*_rates(limits), *_times(limits), _used_elsewhere(limits), *_variants(limits)),
        pictures=(rate_chart(curve), rate_table(limits)),
    )


def _rates(limits: Sequence[Row]) -> list[Claim]:
    main = MAIN.of(limits)
    s_edf, fifo = (least_rate(main, policy) for policy in POLICIES)
    trials = len(distinct(main, "trial"))
    silent = where(main, policy="fifo+", kept_without_v2v=False)
    return [
        stated(
            "figure 17",
            f"EDF takes {PUBLISHED['s-edf']} V2V tuples/s without a miss",
            f"S-EDF {s_edf}/s in every one of {trials} trials",
            holds=same_scale(s_edf, PUBLISHED["s-edf"]),
            why=_why_s_edf(limits),
        ),
        stated(
            "figure 17",
            f"FIFO takes {PUBLISHED['fifo+']} V2V tuples/s without a miss",
            f"FIFO+ {fifo}/s; in {len(silent)} of {trials} trials it misses without any V2V",
            holds=same_scale(fifo, PUBLISHED["fifo+"]),
            why=_why_fifo(limits),
        ),
    ]


def _times(limits: Sequence[Row]) -> list[Claim]:
    """The order, and the factor that goes with it: there is none if FIFO+ takes nothing."""
    s_edf, fifo = (least_rate(MAIN.of(limits), policy) for policy in POLICIES)
    told = f"{s_edf}/s against {fifo}/s"
    times = f"{s_edf / fifo:.1f} times" if fifo else "no factor: FIFO+ takes none"
    return [
        stated(
            "figure 17",
            "EDF takes more V2V tuples than FIFO (the order alone)",
            told,
            holds=s_edf > fifo,
        ),
        stated(
            "figure 17",
            f"EDF takes {PUBLISHED_TIMES:.0f} times the V2V tuples that FIFO takes",
            f"{times} ({told})",
            holds=fifo > 0 and same_scale(s_edf / fifo, PUBLISHED_TIMES),
            why=_why_no_factor(limits, fifo),
        ),
    ]


def _why_no_factor(limits: Sequence[Row], fifo: int) -> str:
    if fifo or _why_fifo(limits) == NO_REASON:
        return NO_REASON
    return "FIFO+ takes no V2V tuple here without a miss, for the reason told about its own rate"


def _why_s_edf(limits: Sequence[Row]) -> str:
    """The assumed cost of an item, if cheaper ones let S-EDF take more."""
    main, cheaper = (variant.of(limits) for variant in (MAIN, CHEAP_ITEMS))
    if not cheaper or least_rate(cheaper, "s-edf") <= least_rate(main, "s-edf"):
        return NO_REASON
    taken = rate_words(least_rate(cheaper, "s-edf"))
    return f"the cost of an item is assumed (1 ms); with half of it S-EDF takes {taken}"


def _why_fifo(limits: Sequence[Row]) -> str:
    """Why so few, if it is output1 that is late, and less so with fewer radar objects."""
    main, fewest = (variant.of(limits) for variant in (MAIN, FEWEST_OBJECTS))
    fifo = least_rate(main, "fifo+")
    stopped_by = distinct(where(main, policy="fifo+"), "late")
    if not fewest or fifo >= min(PUBLISHED["fifo+"], least_rate(fewest, "fifo+")):
        return NO_REASON
    if stopped_by != ["output1"]:
        return NO_REASON
    why = f"{OUTPUT1_WAITS}; with one object FIFO+ takes {least_rate(fewest, 'fifo+')}/s"
    nearest = ONE_CHEAP_NODE.of(limits)
    if nearest and same_scale(least_rate(nearest, "fifo+"), PUBLISHED["fifo+"]):
        why += (
            ", and on one node (as in the S-EDF paper) with items of 0.25 ms "
            f"{least_rate(nearest, 'fifo+')}/s, about what is published"
        )
    return why


def _used_elsewhere(limits: Sequence[Row]) -> Claim:
    """Other studies cannot ask this one: they are told its result, which must still be true. Fewer
    trials have a least rate that is no smaller."""
    main = MAIN.of(limits)
    found, trials = least_rate(main, "s-edf"), len(distinct(main, "trial"))
    asked = f"the other studies run S-EDF at {S_EDF_RATE}/s: is that what it takes?"
    ours = f"{found}/s in every one of {trials} trials"
    if found == S_EDF_RATE or (trials < TRIALS and found > S_EDF_RATE):
        return beyond("figure 17", asked, ours)
    why = f"they were run at a rate that is not S-EDF's largest ({found}/s) and must be run again"
    return stated("figure 17", asked, ours, holds=False, why=why)


def _variants(limits: Sequence[Row]) -> list[Claim]:
    claims = []
    for variant in OTHERS:
        mine = variant.of(limits)
        if not mine:
            continue
        s_edf, fifo = (least_rate(mine, policy) for policy in POLICIES)
        claims.append(
            beyond(
                "figure 17",
                f"the largest rates with {variant.words}",
                f"S-EDF {rate_words(s_edf)}, FIFO+ {rate_words(fifo)}",
            )
        )
    return claims


STUDY = Study(
    name="v2v-rates",
    paper=Paper.AEDSMS,
    figures=("figure 17", "S-EDF figure 17"),
    title="How many V2V tuples a policy takes without a miss",
    seconds=400,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
