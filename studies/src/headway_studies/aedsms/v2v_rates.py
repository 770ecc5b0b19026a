"""AEDSMS and S-EDF figure 17: how many V2V tuples a second each policy takes without a miss.

S-EDF preempts between operators, as printed; beside it runs the same with a fusion that can be
preempted between its items, which is ours. FIFO+ never preempts.

For each trial and policy, the largest limit of the load shedder (in steps of 10 tuples/s) at which
no tuple of output1 or output2 was late, by bisection; the least over the trials counts. Then miss
ratios over limits. The papers print no cost of an item, no size of a tuple on the bus and not how
many objects their radar reported, so the search is repeated with other values of each: cheaper
items, one node without a network (as in the S-EDF paper), fewer radar objects.

Grid: (way, trial); variants x policy x 5 trials; limits x way x 5 trials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa

from headway.drive.collision_warning import RADIO, SHED_WINDOW, QueryInVehicle, Setting, plan_of
from headway.drive.trial import arrivals
from headway.drive.trial_results import WEIGHTS, measure
from headway.engine.engine import Engine
from headway.model.quantities import MICROSECOND, SECOND
from headway.model.user_operator import Row as TupleRow
from headway.report.charts import LineChart, Point, Series
from headway.world.drive_recording import DriveRecording
from headway_studies.aedsms.collision_drives import (
    BETWEEN_ITEMS,
    IN_ITEMS_RATE,
    ONE_NODE,
    OUR_DRIVES,
    PUBLISHED,
    THREE_NODES,
    TRIALS,
    application_on,
    drive,
    driven,
    setting_of,
)
from headway_studies.provenance import fitted
from headway_studies.row_reading import (
    POLICY_NAMES,
    distinct,
    same_scale,
    sample,
    text,
    values,
    where,
    whole,
)
from headway_studies.study import (
    NO_REASON,
    Cell,
    Claim,
    Findings,
    Paper,
    Row,
    Study,
    beyond,
    stated,
)
from headway_studies.study_charts import Grid

# ----------------------------------------------------------------
# The largest limit of the load shedder at which no deadline is missed, by bisection.
#
# Outputs 1 and 2 count, as in the papers' figure 17. A run stops at its first miss.


STEP = SECOND // SHED_WINDOW
"""tuples per second: one more in each window of the load shedder"""
MOST = 1500
"""tuples per second; ETSI asks for 1,000"""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """``rate`` (V2V tuples per second) is kept and one step more is not; 0 where the smallest limit
    is missed, too. ``late`` is the output that stops it, empty if nothing did up to ``MOST``."""

    rate: int
    late: str
    kept_without_v2v: bool


class _Missed(Exception):
    """Ends a run."""


def first_miss(application: QueryInVehicle, recording: DriveRecording, setting: Setting) -> str:
    """The output that first missed a deadline; empty if none did."""
    plan = plan_of(application, setting)
    due = {one.name: one.deadline for one in plan.query.outputs if WEIGHTS[one.name]}

    def watch(output: str, row: TupleRow, completed: int) -> None:
        deadline = due.get(output)
        if deadline is not None and completed > row[0] * MICROSECOND + deadline:
            raise _Missed(output)

    engine = Engine(
        plan=plan, policy=setting.policy, keep_trace=False, keep_outputs=False, on_output=watch
    )
    try:
        engine.run(arrivals(recording, plan, v2v=setting.v2v))
    except _Missed as missed:
        return str(missed)
    return ""


def largest_limit(
    application: QueryInVehicle, recording: DriveRecording, setting: Setting, most: int = MOST
) -> Limit:
    """``setting`` but for its limit; most V2V tuples that pass without a miss in this drive."""
    stopped: dict[int, str] = {}
    all_pass = busiest_window(recording)

    @cache
    def late_at(steps: int) -> str:
        return first_miss(application, recording, replace(setting, shed=steps * STEP))

    def kept(steps: int) -> bool:
        late = late_at(min(steps, all_pass))
        if late:
            stopped[steps] = late
        return not late

    steps = largest(kept, most // STEP)
    silent = replace(setting, shed=None, v2v=False)
    return Limit(
        rate=steps * STEP,
        late=stopped.get(steps + 1, ""),
        kept_without_v2v=steps > 0 or not first_miss(application, recording, silent),
    )


def busiest_window(recording: DriveRecording) -> int:
    """The most V2V tuples in a window of the load shedder, at least 1: no limit of so many or more
    sheds any, so that all of those give one and the same run."""
    arrived = recording.streams[RADIO].column("arrived_at").cast(pa.int64()).to_numpy()
    _, counts = np.unique(arrived * MICROSECOND // SHED_WINDOW, return_counts=True)
    return int(counts.max(initial=1))


def largest(holds: Callable[[int], bool], most: int) -> int:
    """The largest n up to ``most`` for which ``holds``, if it holds up to some n and not beyond;
    0 if it never does."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


# ----------------------------------------------------------------
# Rows of the study of rates: what a policy takes without a miss, by vehicle, item and radar.


POLICIES = ("s-edf", "fifo+")
WAYS = (("s-edf", False), ("fifo+", False), ("s-edf", True))
"""policy, and whether a fusion can be preempted between its items"""
LIMITS = (10, 50, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
"""of the load shedder, V2V tuples/s: where miss ratios are measured"""


@dataclass(frozen=True)
class Variant:
    """What the papers do not print; None: as the example and the world have it."""

    vehicle: str = THREE_NODES
    item_us: int | None = None
    """µs an item"""
    radar_objects: int | None = None
    """a cycle, at most"""
    between_items: bool = False
    """whether S-EDF preempts a fusion between its items"""

    @property
    def words(self) -> str:
        item = "1 ms" if self.item_us is None else f"{self.item_us / 1000:g} ms"
        seen = "8" if self.radar_objects is None else str(self.radar_objects)
        told = f"{self.vehicle}, {item} an item, at most {seen} radar objects"
        return f"{told}, preempted between items" if self.between_items else told

    def of(self, limits: Sequence[Row]) -> list[Row]:
        """The rows of this variant; none if it was not run."""
        return where(
            limits,
            vehicle=self.vehicle,
            item_us=self.item_us,
            radar_objects=self.radar_objects,
            between_items=self.between_items,
        )


MAIN = Variant()
DEVIATION = Variant(between_items=True)
"""S-EDF only: FIFO+ never preempts"""
FEWEST_OBJECTS = Variant(radar_objects=1)
CHEAP_ITEMS = Variant(item_us=500)
ONE_CHEAP_NODE = Variant(ONE_NODE, 250)
"""the one that is called nearest to the published rates"""
OTHERS = (
    CHEAP_ITEMS,
    Variant(item_us=250),
    Variant(radar_objects=2),
    FEWEST_OBJECTS,
    Variant(ONE_NODE),
    Variant(ONE_NODE, 500),
    ONE_CHEAP_NODE,
    Variant(ONE_NODE, 150),
    Variant(ONE_NODE, radar_objects=2),
)
NEAREST = fitted(
    f"{ONE_CHEAP_NODE.words}: chosen because both rates are then nearest to the published ones",
    tried=f"{len(OTHERS) + 1} vehicles, costs of an item and radars (next table)",
)


def least_rate(rows: Sequence[Row], policy: str) -> int:
    """V2V tuples a second that the policy takes without a miss in every trial."""
    return int(min(values(where(rows, policy=policy), "rate")))


def rate_words(rate: int) -> str:
    return f"{rate}/s" if rate < MOST else f"{MOST}/s or more"


# ----------------------------------------------------------------
# Rates and miss ratios as pictures: figure 17, and the table of what it hangs on.


def rate_chart(curve: Sequence[Row]) -> LineChart:
    series = tuple(
        Series(
            name=f"{POLICY_NAMES[policy]}{', between items' if items else ''}, {words}",
            points=tuple(
                Point(x=limit, y=sample(values(mine, column)).mean)
                for limit in LIMITS
                for mine in [where(curve, policy=policy, between_items=items, limit=limit)]
                if mine
            ),
        )
        for policy, items in WAYS
        for words, column in (("both", "miss_ratio"), ("output1", "miss_ratio1"))
    )
    return LineChart(
        title="Figure 17: miss ratio over the load shedder's limit",
        x="V2V tuples let in, per second at most",
        y="deadline miss ratio",
        series=series,
        note="`both` is the papers' weighted ratio of output1 and output2.",
    )


def rate_table(limits: Sequence[Row]) -> Grid:
    return Grid(
        title="Largest V2V rate with no miss in any trial (tuples/s)",
        headers=("Vehicle, item, radar", "Trials", *(POLICY_NAMES[one] for one in POLICIES)),
        rows=tuple(
            (
                variant.words,
                str(len(distinct(mine, "trial"))),
                *(
                    rate_words(least_rate(mine, policy)) if where(mine, policy=policy) else "–"
                    for policy in POLICIES
                ),
            )
            for variant in (MAIN, DEVIATION, *OTHERS)
            for mine in [variant.of(limits)]
            if mine
        ),
    )


QUICK_LIMITS = (10, 100, 300, 600, 1000)
FEW = 5
"""trials of variants and of the curve"""
QUICK_TRIALS = 1
"""of everything: a search for a limit is many runs"""
QUICK_VARIANTS = (FEWEST_OBJECTS, ONE_CHEAP_NODE)
LEAVES_NO_FUSION = (
    "a fusion is not left before it is done (10 ms and 1 ms an item), and output1, which takes up "
    "to 15 of its 30 ms over the buses, waits for it"
)
PUBLISHED_TIMES = PUBLISHED["s-edf"] / PUBLISHED["fifo+"]
OUTPUT1_WAITS = (
    "output1, which stops it in every trial, takes up to 15 of its 30 ms over the buses and waits "
    "for a fusion of all radar objects, up to eight"
)


def cells(quick: bool) -> list[Cell]:
    trials, few = (QUICK_TRIALS, QUICK_TRIALS) if quick else (TRIALS, FEW)
    variants, limits = (QUICK_VARIANTS, QUICK_LIMITS) if quick else (OTHERS, LIMITS)
    grid = [
        _limit(policy, trial, DEVIATION if items else MAIN)
        for trial in range(trials)
        for policy, items in WAYS
    ]
    for trial in range(few):
        for policy in POLICIES:
            grid += [_limit(policy, trial, variant) for variant in variants]
        for policy, items in WAYS:
            grid += [_miss_ratio(policy, items, trial, limit) for limit in limits]
    return grid


def _limit(policy: str, trial: int, variant: Variant) -> Cell:
    return {
        "part": "limit",
        "policy": policy,
        "trial": trial,
        "vehicle": variant.vehicle,
        "item_us": variant.item_us,
        "radar_objects": variant.radar_objects,
        "between_items": variant.between_items,
    }


def _miss_ratio(policy: str, items: bool, trial: int, limit: int) -> Cell:
    return {
        "part": "curve",
        "policy": policy,
        "between_items": items,
        "trial": trial,
        "limit": limit,
    }


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
        "misses3": found.misses3,
    }


def analyse(rows: Sequence[Row]) -> Findings:
    limits, curve = where(rows, part="limit"), where(rows, part="curve")
    return Findings(
        claims=(
            *_rates(limits),
            *_times(limits),
            _output3(curve),
            _used_elsewhere(limits),
            *_nearest(limits),
            *_variants(limits),
        ),
        pictures=(rate_chart(curve), rate_table(limits)),
    )


def _rates(limits: Sequence[Row]) -> list[Claim]:
    main, deviation = MAIN.of(limits), DEVIATION.of(limits)
    s_edf, fifo = (least_rate(main, policy) for policy in POLICIES)
    ours = least_rate(deviation, "s-edf")
    trials = len(distinct(main, "trial"))
    edf, silent = (len(where(main, policy=policy, kept_without_v2v=False)) for policy in POLICIES)
    takes = f"EDF takes {PUBLISHED['s-edf']} V2V tuples/s without a miss"
    return [
        stated(
            "figure 17",
            takes,
            f"S-EDF {s_edf}/s; in {edf} of {trials} trials it misses without any V2V",
            came=OUR_DRIVES,
            holds=same_scale(s_edf, PUBLISHED["s-edf"]),
            why=_why_s_edf(limits),
        ),
        stated(
            "figure 17",
            takes,
            f"S-EDF {ours}/s in every one of {trials} trials",
            came=BETWEEN_ITEMS,
            holds=same_scale(ours, PUBLISHED["s-edf"]),
        ),
        stated(
            "figure 17",
            f"FIFO takes {PUBLISHED['fifo+']} V2V tuples/s without a miss",
            f"FIFO+ {fifo}/s; in {silent} of {trials} trials it misses without any V2V",
            came=OUR_DRIVES,
            holds=same_scale(fifo, PUBLISHED["fifo+"]),
            why=_why_fifo(limits),
        ),
    ]


def _times(limits: Sequence[Row]) -> list[Claim]:
    """The order, and the factor that goes with it: there is none if FIFO+ takes nothing."""
    fifo = least_rate(MAIN.of(limits), "fifo+")
    claims = []
    for variant, came in ((MAIN, OUR_DRIVES), (DEVIATION, BETWEEN_ITEMS)):
        s_edf = least_rate(variant.of(limits), "s-edf")
        told = f"{s_edf}/s against {fifo}/s"
        times = f"{s_edf / fifo:.1f} times" if fifo else "no factor: FIFO+ takes none"
        claims += [
            stated(
                "figure 17",
                "EDF takes more V2V tuples than FIFO (the order alone)",
                told,
                came=came,
                holds=s_edf > fifo,
                why=_why_s_edf(limits) if variant is MAIN else NO_REASON,
            ),
            stated(
                "figure 17",
                f"EDF takes {PUBLISHED_TIMES:.0f} times the V2V tuples that FIFO takes",
                f"{times} ({told})",
                came=came,
                holds=fifo > 0 and same_scale(s_edf / fifo, PUBLISHED_TIMES),
                why=_why_no_factor(limits, fifo),
            ),
        ]
    return claims


def _why_no_factor(limits: Sequence[Row], fifo: int) -> str:
    if fifo or _why_fifo(limits) == NO_REASON:
        return NO_REASON
    return "FIFO+ takes no V2V tuple here without a miss, for the reason told about its own rate"


def _why_s_edf(limits: Sequence[Row]) -> str:
    """That a fusion is not left, if output1 stops it and it takes more where a fusion is."""
    main, left = MAIN.of(limits), DEVIATION.of(limits)
    stopped_by = distinct(where(main, policy="s-edf"), "late")
    more = least_rate(left, "s-edf")
    if stopped_by != ["output1"] or more <= least_rate(main, "s-edf"):
        return NO_REASON
    return f"{LEAVES_NO_FUSION}; left between its items S-EDF takes {rate_words(more)}"


def _why_fifo(limits: Sequence[Row]) -> str:
    """Why so few, if it is output1 that is late, and less so with fewer radar objects."""
    main, fewest = (variant.of(limits) for variant in (MAIN, FEWEST_OBJECTS))
    fifo = least_rate(main, "fifo+")
    stopped_by = distinct(where(main, policy="fifo+"), "late")
    if not fewest or fifo >= min(PUBLISHED["fifo+"], least_rate(fewest, "fifo+")):
        return NO_REASON
    if stopped_by != ["output1"]:
        return NO_REASON
    return f"{OUTPUT1_WAITS}; with one object FIFO+ takes {least_rate(fewest, 'fifo+')}/s"


def _output3(curve: Sequence[Row]) -> Claim:
    late = {
        f"{POLICY_NAMES[policy]}{', between items' if items else ''}": sum(
            values(where(curve, policy=policy, between_items=items), "misses3")
        )
        for policy, items in WAYS
    }
    return stated(
        "figure 17",
        "output3 misses no deadline under either policy",
        "late: " + ", ".join(f"{name} {count:.0f}" for name, count in late.items()),
        came=OUR_DRIVES,
        holds=not any(late.values()),
        why=_why_output3(curve),
    )


def _why_output3(curve: Sequence[Row]) -> str:
    """That the fusion is overloaded for good, if output2 is late there under either policy."""
    limits = {whole(row, "limit") for row in curve if row["misses3"]}
    carried = {
        whole(row, "limit")
        for policy in POLICIES
        for row in where(curve, policy=policy)
        if not row["miss_ratio2"]
    }
    if not limits or limits & carried:
        return NO_REASON
    return (
        f"only from {min(limits)}/s on, where output2 is late under FIFO+ too: more than a fusion "
        "of 10 ms and 1 ms an item carries; S-EDF then puts off what has the longest deadline"
    )


def _used_elsewhere(limits: Sequence[Row]) -> Claim:
    """Other studies cannot ask this one: they are told its result, which must still be true. Fewer
    trials have a least rate that is no smaller."""
    deviation = DEVIATION.of(limits)
    found, trials = least_rate(deviation, "s-edf"), len(distinct(deviation, "trial"))
    asked = (
        f"the other studies run S-EDF between items at {IN_ITEMS_RATE}/s: is that what it takes?"
    )
    ours = f"{found}/s in every one of {trials} trials"
    if found == IN_ITEMS_RATE or (trials < TRIALS and found > IN_ITEMS_RATE):
        return beyond("figure 17", asked, ours, came=BETWEEN_ITEMS)
    why = f"they were run at a rate that is not S-EDF's largest ({found}/s) and must be run again"
    return stated("figure 17", asked, ours, came=BETWEEN_ITEMS, holds=False, why=why)


def _nearest(limits: Sequence[Row]) -> list[Claim]:
    """Both published rates at once, on the vehicle that was chosen for them."""
    mine = ONE_CHEAP_NODE.of(limits)
    if not mine:
        return []
    found = {policy: least_rate(mine, policy) for policy in POLICIES}
    return [
        stated(
            "figure 17",
            f"EDF takes {PUBLISHED['s-edf']} V2V tuples/s without a miss, FIFO "
            f"{PUBLISHED['fifo+']}",
            f"S-EDF {rate_words(found['s-edf'])}, FIFO+ {rate_words(found['fifo+'])} "
            f"({ONE_CHEAP_NODE.words})",
            came=NEAREST,
            holds=all(same_scale(found[policy], PUBLISHED[policy]) for policy in POLICIES),
        )
    ]


def _variants(limits: Sequence[Row]) -> list[Claim]:
    claims = []
    for variant in OTHERS:
        mine = variant.of(limits)
        if not mine or variant == ONE_CHEAP_NODE:
            continue
        s_edf, fifo = (least_rate(mine, policy) for policy in POLICIES)
        claims.append(
            beyond(
                "figure 17",
                f"the largest rates with {variant.words}",
                f"S-EDF {rate_words(s_edf)}, FIFO+ {rate_words(fifo)}",
                came=OUR_DRIVES,
            )
        )
    return claims


STUDY = Study(
    name="v2v-rates",
    paper=Paper.AEDSMS,
    figures=("figure 17", "S-EDF figure 17"),
    title="How many V2V tuples a policy takes without a miss",
    seconds=700,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
