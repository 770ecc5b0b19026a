"""AEDSMS sections 6.3 to 6.5 in many cities: crashes, TTC, errors and rates, with intervals.

The papers repeat one drive 100 times, and so do the other studies: their spread is that of phases,
noise and losses in one city. How much hangs on where the cars stand is seen in others only. Here
every seed of the traffic is a city, a city gives one number for each setting, and an interval is
that of the mean over cities (bootstrap over cities, 95 %).

Grid: (city, trial), each with every setting; and for each city the largest rates in its first
trial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from headway.drive.collision_warning import Setting
from headway.drive.trial import Moment, run_trial
from headway.drive.trial_results import measure
from headway.model.quantities import MICROSECOND
from headway_studies.aedsms.collision_drives import (
    AS_PRINTED,
    FIFO,
    IN_ITEMS,
    PUBLISHED,
    SILENT,
    THREE_NODES,
    application_on,
    came_of,
    city_drive,
)
from headway_studies.aedsms.crashes import PUBLISHED_CRASHES, PUBLISHED_TTC
from headway_studies.aedsms.position_error import PUBLISHED_LESS
from headway_studies.aedsms.v2v_rates import (
    DEVIATION,
    MAIN,
    MOST,
    NEAREST,
    ONE_CHEAP_NODE,
    Variant,
    largest_limit,
)
from headway_studies.row_reading import (
    distinct,
    interval,
    same_scale,
    span,
    values,
    where,
    whole,
)
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, stated
from headway_studies.study_charts import BoxPlot, Grid, box

CITIES, TRIALS = range(1, 21), 5
QUICK_CITIES, QUICK_TRIALS = range(2, 4), 1
SETTINGS = (AS_PRINTED, IN_ITEMS, FIFO, SILENT)
EDF = (AS_PRINTED, IN_ITEMS)
WAYS: tuple[tuple[Variant, str], ...] = (
    (MAIN, "s-edf"),
    (MAIN, "fifo+"),
    (DEVIATION, "s-edf"),
    (ONE_CHEAP_NODE, "s-edf"),
    (ONE_CHEAP_NODE, "fifo+"),
)
"""vehicle and policy whose largest rates are looked for"""
QUICK_WAYS = range(2)
"""those that are soon found: nothing passes"""
OTHER_CITY = (
    "it hangs on how early the hidden cars of a city are reported (study `crashes`, last table), "
    "and the paper's city is not printed"
)


def cells(quick: bool) -> list[Cell]:
    cities, trials = (QUICK_CITIES, QUICK_TRIALS) if quick else (CITIES, TRIALS)
    ways = QUICK_WAYS if quick else range(len(WAYS))
    drives: list[Cell] = [
        {"part": "drive", "city": city, "trial": trial}
        for trial in range(trials)
        for city in cities
    ]
    rates: list[Cell] = [
        {"part": "rate", "city": city, "way": way} for city in cities for way in ways
    ]
    return [*drives, *rates]


def run(cell: Cell) -> list[Row]:
    city = whole(cell, "city")
    if cell["part"] == "rate":
        return [_rate(city, *WAYS[whole(cell, "way")])]
    return [_driven(city, whole(cell, "trial"), setting) for setting in SETTINGS]


def _driven(city: int, trial: int, setting: Setting) -> Row:
    """A car that is never detected in time has 0 s left."""
    driven = run_trial(application_on(THREE_NODES), city_drive(city, trial), setting)
    found = measure(driven, trial)
    return {
        "part": "drive",
        "city": city,
        "trial": trial,
        "setting": setting.label,
        "cars": len(found.meetings),
        "crashes": sum(one.crash for one in found.meetings),
        "ttc": min((one.ttc or 0.0 for one in found.meetings), default=None),
        "error": float(driven.errors(Moment.ABOUT).mean()),
        "error_out": float(driven.errors(Moment.OUT).mean()),
        "misses1": found.trial.misses1,
        "tuples1": found.trial.tuples1,
    }


def _rate(city: int, variant: Variant, policy: str) -> Row:
    setting = Setting(
        policy=policy,
        item_cost=None if variant.item_us is None else variant.item_us * MICROSECOND,
        between_items=variant.between_items,
    )
    found = largest_limit(application_on(variant.vehicle), city_drive(city, 0), setting)
    name = f"{variant.words}, {policy}"
    return {"part": "rate", "city": city, "name": name, "rate": found.rate, "late": found.late}


def analyse(rows: Sequence[Row]) -> Findings:
    drives, rates = where(rows, part="drive"), where(rows, part="rate")
    return Findings(
        claims=(*_crashes(drives), *_worst(drives), *_errors(drives), *_rates(rates)),
        pictures=(_boxes(drives), _table(drives, rates)),
    )


def _by_city(rows: Sequence[Row], of_one: Callable[[Sequence[Row]], float]) -> list[float]:
    """One number for each city."""
    return [of_one(where(rows, city=city)) for city in distinct(rows, "city")]


def _of(rows: Sequence[Row], setting: Setting) -> list[Row]:
    return where(rows, setting=setting.label)


def _crash_rates(rows: Sequence[Row], setting: Setting) -> list[float]:
    return _by_city(
        _of(rows, setting),
        lambda mine: sum(values(mine, "crashes")) / max(1.0, sum(values(mine, "cars"))),
    )


def _told(found: Sequence[float], unit: str = "", digits: int = 2, factor: float = 1.0) -> str:
    """``3.1 % (1.2–5.0 over 20 cities, each 0.0–10.0)``."""
    scaled = [factor * one for one in found]
    all_of_them = interval(scaled)
    ends = f"{all_of_them.low:.{digits}f}–{all_of_them.high:.{digits}f}"
    return (
        f"{all_of_them.mean:.{digits}f}{unit} (95 % {ends} over {len(scaled)} cities, each "
        f"{span(scaled, digits)})"
    )


def _crashes(rows: Sequence[Row]) -> list[Claim]:
    found = {setting: _crash_rates(rows, setting) for setting in SETTINGS}
    told = {
        setting: f"{_told(rates, ' %', 1, 100)}, {setting.label}"
        for setting, rates in found.items()
    }
    none = [
        stated(
            "section 6.4",
            "no crash under EDF at the rate it takes without a miss",
            told[setting],
            came=came_of(setting),
            holds=max(found[setting]) == 0,
            why=OTHER_CITY,
        )
        for setting in EDF
    ]
    return [
        *none,
        stated(
            "section 6.4",
            "8.3 % crashes under FIFO at the rate it takes without a miss, 100/s",
            told[FIFO],
            came=came_of(FIFO),
            holds=same_scale(fmean(found[FIFO]), PUBLISHED_CRASHES),
            why=OTHER_CITY,
        ),
        stated(
            "section 6.4",
            "every car is hit without V2V",
            told[SILENT],
            came=came_of(SILENT),
            holds=min(found[SILENT]) == 1,
            why=OTHER_CITY,
        ),
    ]


def _worst(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for setting, published in PUBLISHED_TTC.items():
        found = _by_city(_of(rows, setting), lambda mine: min(values(mine, "ttc"), default=0.0))
        claims.append(
            stated(
                "figure 19",
                f"worst TTC at a first detection {published} s ({setting.label})",
                f"worst of {_trials(rows)} trials: {_told(found, ' s')}",
                came=came_of(setting),
                holds=same_scale(fmean(found), published),
                why=OTHER_CITY,
            )
        )
    return claims


def _trials(rows: Sequence[Row]) -> int:
    return len(distinct(rows, "trial"))


def _errors(rows: Sequence[Row]) -> list[Claim]:
    fifo = _by_city(_of(rows, FIFO), lambda mine: fmean(values(mine, "error")))
    claims = []
    for setting in EDF:
        ours = _by_city(_of(rows, setting), lambda mine: fmean(values(mine, "error")))
        less = [1 - one / other for one, other in zip(ours, fifo, strict=True)]
        claims.append(
            stated(
                "figure 21",
                f"EDF's error is {PUBLISHED_LESS:.0%} smaller than FIFO's (at the moment a "
                "position is about)",
                f"by {_told(less, ' %', 0, 100)}: {_told(ours, ' m')} against "
                f"{_told(fifo, ' m')}, {setting.label}",
                came=came_of(setting),
                holds=same_scale(fmean(less), PUBLISHED_LESS),
                why=OTHER_CITY,
            )
        )
    return claims


def _rates(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for variant, policy in WAYS:
        found = _rates_of(rows, variant, policy)
        if not found:
            continue
        setting = Setting(policy=policy, between_items=variant.between_items)
        claims.append(
            stated(
                "figure 17",
                f"{'EDF' if policy == 's-edf' else 'FIFO'} takes {PUBLISHED[policy]} V2V tuples/s "
                "without a miss",
                f"{_told(found, '/s', 0)}, {variant.words}"
                + (f"; no more than {MOST}/s were tried" if MOST in found else ""),
                came=NEAREST if variant == ONE_CHEAP_NODE else came_of(setting),
                holds=same_scale(fmean(found), PUBLISHED[policy]),
                why="as in the study of rates, which tells why",
            )
        )
    return claims


def _rates_of(rows: Sequence[Row], variant: Variant, policy: str) -> list[float]:
    return values(where(rows, name=f"{variant.words}, {policy}"), "rate")


def _boxes(rows: Sequence[Row]) -> BoxPlot:
    shown = (AS_PRINTED, IN_ITEMS, FIFO)
    return BoxPlot(
        title="Crash rate by city",
        y="crash rate, %",
        boxes=tuple(
            box(one.label, [100 * rate for rate in _crash_rates(rows, one)]) for one in shown
        ),
        note=f"Each city {_trials(rows)} trials past six hidden cars; published 0 % and 8.3 %.",
    )


def _table(drives: Sequence[Row], rates: Sequence[Row]) -> Grid:
    def line(setting: Setting, key: str) -> str:
        mine = _of(drives, setting)
        return _told(_by_city(mine, lambda one: fmean(values(one, key))))

    def missed(setting: Setting) -> str:
        mine = _of(drives, setting)
        return _told(
            _by_city(mine, lambda one: sum(values(one, "misses1")) / sum(values(one, "tuples1"))),
            " %",
            1,
            100,
        )

    found: Iterable[tuple[str, ...]] = (
        (
            one.label,
            _told(_crash_rates(drives, one), " %", 1, 100),
            line(one, "error"),
            line(one, "error_out"),
            missed(one),
        )
        for one in SETTINGS
    )
    largest = (
        (
            f"largest rate: {variant.words}, {policy}",
            _told(_rates_of(rates, variant, policy), "/s", 0),
            "–",
            "–",
            "–",
        )
        for variant, policy in WAYS
        if _rates_of(rates, variant, policy)
    )
    return Grid(
        title="Means over cities with 95 % intervals, and the range of the cities",
        headers=("Setting", "Crash rate", "Error (m)", "Error when out (m)", "Missed of output1"),
        rows=(*found, *largest),
    )


STUDY = Study(
    name="cities",
    paper=Paper.AEDSMS,
    figures=("sections 6.3 to 6.5",),
    title="The same in twenty cities, with intervals",
    seconds=330,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=1,
)
