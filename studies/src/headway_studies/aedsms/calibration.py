"""What the papers' authors must have had: a search over what they leave open.

The papers print results, not all that they came from. Here the open inputs are drawn at random, and
each draw is held against the published numbers. A target *fits* if ours is within a quarter of it.
A rate that is all that was sent, or all that was tried, fits nothing: how much more it could be is
not known.

Two searches, since no target of one hangs on an input of the other:

- *rates*: where the operators run and what a scheduling decision costs, what an item of the fusion
  costs (11.0 ms at one item, as printed), how many objects the radar reports, how fast the buses
  are, how dense the traffic is. Targets: V2V tuples a second without a miss, how much less the
  longest latency of output1 is, times to collision and crashes at the published rates.
- *errors*: how far a GPS fix is off and for how long its error stays. Targets: the mean position
  error without and with fusion, of our own car and without V2V.

Method: a seeded random search, each draw independent of the others, so that any part of it can be
repeated by itself; then, for the rates, a grid over the two inputs on which they hang most, the
cost of an item and the radar's objects, with all else as in one setting (*near*), which shows how
wide the region is. The one that fits best is chosen by one city (seed 1); it is also run in cities
that had no part in the choice (held out). Drives are short: two of the six hidden cars, one of the
two crowded crossings. S-EDF preempts between operators only, as printed.

Grid: 48 draws of rates, 24 of errors, 21 settings near one.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from math import exp, log, log2

from headway.drive.collision_warning import QueryInVehicle, Setting
from headway.drive.encounters import STOPPING_TIME
from headway.drive.trial import Moment, errors, run_trial, true_places
from headway.drive.trial_results import measure
from headway.model.quantities import MICROSECOND
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import OWN_ID, DriveRecording, record
from headway.world.drive_scenario import Scenario
from headway_studies.aedsms.collision_drives import (
    ONE_NODE,
    PUBLISHED,
    THREE_NODES,
    application_on,
)
from headway_studies.aedsms.position_error import unfused, with_slow_gps
from headway_studies.aedsms.v2v_rates import busiest_window, first_miss, largest
from headway_studies.provenance import Provenance, fitted
from headway_studies.row_reading import number, text, values, where, whole
from headway_studies.study import Cell, Claim, Findings, Paper, Row, Study, beyond
from headway_studies.study_charts import Grid, HeatMap

FIGURE = "open inputs"
SEED = 1
DRAWS, QUICK_DRAWS = 48, 1
ERROR_DRAWS, QUICK_ERROR_DRAWS = 24, 1
CITY, HELD_OUT = 1, (2, 3)
"""seeds of the traffic: the one that chooses, and those that do not"""
NEAR = 1.25
"""ours within this factor of a published number fits it"""
FAR = 0.75
"""doublings: a draw whose rates are further off is not run in the cities held out"""
NEAR_ITEMS = (140, 160, 180, 200, 220, 240, 260)
"""µs an item, on the grid"""
NEAR_OBJECTS = (8, 10, 12)
LADDER = (0, 20, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 1000)
"""V2V tuples/s: the limits that are tried"""
TARGETS: dict[str, float] = {
    "s_edf_rate": PUBLISHED["s-edf"],
    "fifo_rate": PUBLISHED["fifo+"],
    "latency_left": 1 - 0.61,
    "s_edf_ttc": 3.5,
    "fifo_ttc": 2.3,
    "silent_ttc": 1.1,
}
"""of a draw of rates; the longest latency of output1 as a share of FIFO+'s"""
RATES = ("s_edf_rate", "fifo_rate")
NAMES = {
    "s_edf_rate": "V2V tuples/s, S-EDF",
    "fifo_rate": "V2V tuples/s, FIFO+",
    "latency_left": "longest latency of output1, S-EDF to FIFO+",
    "s_edf_ttc": "worst TTC at 800/s, S-EDF (s)",
    "fifo_ttc": "worst TTC at 100/s, FIFO+ (s)",
    "silent_ttc": "worst TTC without V2V (s)",
    "raw": "mean error without fusion (m)",
    "fused": "mean error with fusion (m)",
}
ERROR_TARGETS = {"raw": 7.30, "fused": 2.32}


# ----------------------------------------------------------------
# What is drawn.


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The open inputs of a draw of rates."""

    vehicle: str
    item_us: int
    radar_objects: int
    decision_us: int
    bus: int
    """times as fast as the example's buses; of no effect on one node"""
    cars: int


def drawn(draw: int) -> Drawn:
    """Times evenly over their logarithms, all else evenly."""
    chance = random.Random(f"calibration {SEED} {draw}")
    return Drawn(
        vehicle=chance.choice((ONE_NODE, ONE_NODE, THREE_NODES)),
        item_us=_between(chance, 30, 1000),
        radar_objects=chance.randint(1, 12),
        decision_us=chance.choice((0, 2, 20, 45)),
        bus=chance.choice((1, 4, 16)),
        cars=chance.randint(16, 40),
    )


def _between(chance: random.Random, low: float, high: float) -> int:
    return round(exp(chance.uniform(log(low), log(high))))


def application(given: Drawn) -> QueryInVehicle:
    """The example's query in the vehicle that was drawn."""
    one = application_on(given.vehicle)
    vehicle = one.vehicle
    nodes = tuple(
        replace(node, decision_cost=given.decision_us * MICROSECOND) for node in vehicle.nodes
    )
    buses = tuple(replace(bus, bit_rate=given.bus * bus.bit_rate) for bus in vehicle.buses)
    return QueryInVehicle(one.query, replace(vehicle, nodes=nodes, buses=buses))


def near_setting(draw: int) -> Drawn:
    """A point of the grid; what the grid leaves as it is was chosen after the first draws, where
    one ECU came nearest to both rates."""
    item, objects = divmod(draw, len(NEAR_OBJECTS))
    return Drawn(
        vehicle=ONE_NODE,
        item_us=NEAR_ITEMS[item],
        radar_objects=NEAR_OBJECTS[objects],
        decision_us=2,
        bus=1,
        cars=33,
    )


def city(given: Drawn, seed: int) -> DriveRecording:
    """A short drive: three crossings, the first crowded one and two hidden cars."""
    scenario = Scenario(
        seed=seed,
        cars=given.cars,
        columns=3,
        duration=24.0,
        collision_crossings=(1, 2),
        crowded_crossings=(1,),
    )
    return record(scenario, trial=0, sensors=SensorModel(radar_objects=given.radar_objects))


# ----------------------------------------------------------------
# What comes of it.


def measured(given: Drawn, seed: int) -> dict[str, float]:
    """What :data:`TARGETS` names, in that city, and the shares of crashes."""
    inside, drive = application(given), city(given, seed)
    plain = Setting(item_cost=given.item_us * MICROSECOND, between_items=False)
    found: dict[str, float] = {"sent": 10.0 * busiest_window(drive)}
    longest: dict[str, float] = {}
    for policy, name in (("s-edf", "s_edf"), ("fifo+", "fifo")):
        mine = replace(plain, policy=policy)
        found[f"{name}_rate"] = float(kept_rate(inside, drive, mine))
        row = measure(run_trial(inside, drive, replace(mine, shed=PUBLISHED["fifo+"])), 0)
        longest[policy] = row.trial.latency1_max
        if policy == "fifo+":
            found["fifo_ttc"], found["fifo_crashes"] = _encounters(row.meetings)
        else:
            fast = measure(run_trial(inside, drive, replace(mine, shed=PUBLISHED[policy])), 0)
            found["s_edf_ttc"], found["s_edf_crashes"] = _encounters(fast.meetings)
    silent = measure(run_trial(inside, drive, replace(plain, v2v=False)), 0)
    found["silent_ttc"], found["silent_crashes"] = _encounters(silent.meetings)
    found["latency_left"] = longest["s-edf"] / longest["fifo+"]
    return found


def _encounters(meetings: Sequence[object]) -> tuple[float, float]:
    """The worst time to collision at a first detection (never in time: 0), the share of crashes."""
    left = [getattr(one, "ttc", None) or 0.0 for one in meetings]
    return min(left), sum(ttc < STOPPING_TIME for ttc in left) / len(left)


def kept_rate(inside: QueryInVehicle, drive: DriveRecording, setting: Setting) -> int:
    """The largest rate of :data:`LADDER` at which outputs 1 and 2 miss no deadline."""
    all_pass = 10 * busiest_window(drive)

    def kept(rung: int) -> bool:
        return not first_miss(inside, drive, replace(setting, shed=min(LADDER[rung], all_pass)))

    return LADDER[largest(kept, len(LADDER) - 1)]


def is_known(found: Row | dict[str, float], name: str) -> bool:
    """Not of a rate at which nothing more came that could have been too much."""
    return name not in RATES or number(found, name) < min(LADDER[-1], number(found, "sent"))


def misfit(found: Row | dict[str, float], targets: dict[str, float]) -> float:
    """The worst of all targets, in doublings: 0 if all are met, 1 if one is off by a factor of 2.
    What came out as nothing is taken for a tenth of its target, a rate that is not known for twice
    its target at least."""

    def off(name: str, target: float) -> float:
        by = abs(log2(max(number(found, name), target / 10) / target))
        return by if is_known(found, name) else max(by, 1.0)

    return max(off(name, target) for name, target in targets.items())


# ----------------------------------------------------------------
# How far positions are off.


def error_drawn(draw: int) -> tuple[float, float]:
    """Deviation of a fix on each axis (m), and the time constant of its error (s)."""
    chance = random.Random(f"calibration errors {SEED} {draw}")
    return round(chance.uniform(2.0, 8.0), 2), round(exp(chance.uniform(log(0.05), log(5.0))), 3)


def error_row(draw: int, seed: int) -> Row:
    gps, drift = error_drawn(draw)
    scenario = Scenario(seed=seed, cars=4, columns=3, duration=24.0, collision_crossings=(1, 2),
                        crowded_crossings=(1,))  # fmt: skip
    drive = with_slow_gps(record(scenario, trial=0), drift, 0, gps)
    places = partial(true_places, drive)
    raw = unfused(drive, 0)
    fused = run_trial(application_on(ONE_NODE), drive, Setting(v2v=False)).estimates()
    means = {
        name: float(errors(one.where(one.id == OWN_ID), places, Moment.ABOUT).mean())
        for name, one in (("raw", raw), ("fused", fused))
    }
    known: Row = {"part": "errors", "draw": draw, "city": seed, "gps": gps, "drift": drift}
    return {**known, **means}


# ----------------------------------------------------------------
# The study.


def cells(quick: bool) -> list[Cell]:
    draws = {
        "rates": QUICK_DRAWS if quick else DRAWS,
        "near": QUICK_DRAWS if quick else len(NEAR_ITEMS) * len(NEAR_OBJECTS),
        "errors": QUICK_ERROR_DRAWS if quick else ERROR_DRAWS,
    }
    return [{"part": part, "draw": draw} for part in draws for draw in range(draws[part])]


def run(cell: Cell) -> list[Row]:
    part, draw = text(cell, "part"), whole(cell, "draw")
    if part == "errors":
        return [error_row(draw, seed) for seed in (CITY, *HELD_OUT)]
    given = drawn(draw) if part == "rates" else near_setting(draw)
    rows: list[Row] = []
    for seed in (CITY, *HELD_OUT):
        found = measured(given, seed)
        rows.append({"part": part, "draw": draw, "city": seed, **asdict(given), **found})
        if misfit(found, RATE_TARGETS) > FAR:
            break  # no other city is asked
    return rows


RATE_TARGETS = {name: TARGETS[name] for name in RATES}


def came(rows: Sequence[Row]) -> Provenance:
    drawn, near, errors = (
        len(where(rows, part=part, city=CITY)) for part in ("rates", "near", "errors")
    )
    tried = (
        f"{drawn} random draws of rates and vehicles, {near} settings near one, {errors} draws of "
        "GPS errors, one short drive each"
    )
    return fitted("the open inputs are chosen by how near the published numbers come", tried=tried)


def fits(row: Row, name: str, target: float) -> bool:
    return is_known(row, name) and target / NEAR <= number(row, name) <= target * NEAR


def best(rows: Sequence[Row], targets: dict[str, float]) -> Row:
    """By the city that chooses; of several as good the first that was drawn."""
    return min(rows, key=lambda row: (misfit(row, targets), whole(row, "draw")))


def analyse(rows: Sequence[Row]) -> Findings:
    how = came(rows)
    rates, grid = (where(rows, part=part, city=CITY) for part in ("rates", "near"))
    drifts = where(rows, part="errors", city=CITY)
    return Findings(
        claims=(
            *(_region(rates, name, target, how) for name, target in TARGETS.items()),
            _both(rates, "settings", how),
            _both(grid, "settings near one", how),
            _chosen(rows, [*rates, *grid], RATE_TARGETS, "both rates", how),
            _chosen(rows, rates, TARGETS, "rates, latency and TTC", how),
            *(_region(drifts, name, target, how) for name, target in ERROR_TARGETS.items()),
            _errors(rows, drifts, how),
        ),
        pictures=(_table([*rates, *grid]), _grid_map(grid), _error_table(drifts)),
    )


def _region(rows: Sequence[Row], name: str, target: float, how: Provenance) -> Claim:
    found = values(rows, name)
    near = [row for row in rows if fits(row, name, target)]
    return beyond(
        FIGURE,
        f"can {NAMES[name]} be {target:g}, to a quarter?",
        f"{len(near)} of {len(rows)} settings give it; all lie from {min(found):.2f} to "
        f"{max(found):.2f}{_where(near)}",
        came=how,
    )


def _where(near: Sequence[Row]) -> str:
    """Between which values of the inputs those lie."""
    if not near:
        return ": at no setting that was tried"
    told = []
    for name, unit in (("item_us", "µs an item"), ("radar_objects", "radar objects"),
                       ("gps", "m of GPS"), ("drift", "s of drift")):  # fmt: skip
        # Rows of one kind have the columns of the other, without values.
        found = [number(row, name) for row in near if row.get(name) is not None]
        if found:
            told.append(f"{min(found):g} to {max(found):g} {unit}")
    vehicles = sorted({text(row, "vehicle") for row in near if row.get("vehicle") is not None})
    return "; those have " + ", ".join([*vehicles, *told])


def _both(rates: Sequence[Row], what: str, how: Provenance) -> Claim:
    near = [row for row in rates if all(fits(row, name, TARGETS[name]) for name in RATE_TARGETS)]
    known = [row for row in rates if is_known(row, "s_edf_rate")]
    gaps = [number(row, "s_edf_rate") / max(number(row, "fifo_rate"), 10.0) for row in known]
    ratio = f"; S-EDF takes {min(gaps):.1f} to {max(gaps):.1f} times FIFO+'s" if gaps else ""
    return beyond(
        FIGURE,
        f"can both rates be had at one setting, to a quarter? {len(rates)} {what}",
        f"{len(near)} of {len(rates)} give both, {len(rates) - len(known)} take all that is sent "
        f"under S-EDF{ratio}{_where(near)}",
        came=how,
    )


def _chosen(
    rows: Sequence[Row], rates: Sequence[Row], targets: dict[str, float], what: str, how: Provenance
) -> Claim:
    one = best(rates, targets)
    cities = where(rows, part=one["part"], draw=one["draw"])
    told = "; ".join(
        f"city {whole(row, 'city')}: S-EDF {number(row, 's_edf_rate'):.0f}/s, FIFO+ "
        f"{number(row, 'fifo_rate'):.0f}/s, latency {number(row, 'latency_left') - 1:+.0%}, TTC "
        f"{number(row, 's_edf_ttc'):.1f}/{number(row, 'fifo_ttc'):.1f}/"
        f"{number(row, 'silent_ttc'):.1f} s"
        for row in cities
    )
    return beyond(
        FIGURE,
        f"the setting nearest to {what} in city {CITY}, and what others show of it",
        f"{text(one, 'vehicle')}, {whole(one, 'item_us')} µs an item, "
        f"{whole(one, 'radar_objects')} radar objects, {whole(one, 'decision_us')} µs a decision, "
        f"{whole(one, 'cars')} cars: {told}",
        came=how,
    )


def _errors(rows: Sequence[Row], drifts: Sequence[Row], how: Provenance) -> Claim:
    one = best(drifts, ERROR_TARGETS)
    told = "; ".join(
        f"city {whole(row, 'city')}: {number(row, 'raw'):.2f} and {number(row, 'fused'):.2f} m"
        for row in where(rows, part="errors", draw=one["draw"])
    )
    near = [row for row in drifts if all(fits(row, *pair) for pair in ERROR_TARGETS.items())]
    return beyond(
        FIGURE,
        "a GPS with which our own error is 7.30 m without and 2.32 m with fusion, to a quarter",
        f"{len(near)} of {len(drifts)} settings{_where(near)}; nearest: σ {number(one, 'gps'):g} m "
        f"on each axis, staying {number(one, 'drift'):g} s: {told}",
        came=how,
    )


def _table(rates: Sequence[Row]) -> Grid:
    order = sorted(rates, key=lambda row: misfit(row, RATE_TARGETS))[:12]
    inputs = ("vehicle", "item_us", "radar_objects", "decision_us", "bus", "cars")
    return Grid(
        title="The settings nearest to both published rates",
        headers=("Vehicle", "µs an item", "Radar objects", "µs a decision", "Bus", "Cars",
                 "S-EDF /s", "FIFO+ /s", "Latency", "TTC S-EDF", "TTC FIFO+", "TTC silent"),
        rows=tuple(
            (
                *(str(row[name]) for name in inputs),
                *(f"{number(row, name):.0f}" for name in RATE_TARGETS),
                f"{number(row, 'latency_left') - 1:+.0%}",
                *(f"{number(row, f'{name}_ttc'):.1f}" for name in ("s_edf", "fifo", "silent")),
            )
            for row in order
        ),
    )  # fmt: skip


def _grid_map(grid: Sequence[Row]) -> HeatMap:
    items = sorted({whole(row, "item_us") for row in grid})
    objects = sorted({whole(row, "radar_objects") for row in grid})
    at = {(whole(row, "item_us"), whole(row, "radar_objects")): row for row in grid}
    return HeatMap(
        title="One ECU: how near both published rates are, over what they hang on most",
        x="cost of an item, µs",
        columns=tuple(str(item) for item in items),
        rows=tuple(f"{count} radar objects" for count in objects),
        values=tuple(
            tuple(log2(NEAR) - misfit(at[item, count], RATE_TARGETS) for item in items)
            for count in objects
        ),
        unit="doublings, from the worse of both rates to a quarter off",
        note="✓ both are within a quarter, ✗ one is not, or all that is sent is taken",
    )


def _error_table(drifts: Sequence[Row]) -> Grid:
    order = sorted(drifts, key=lambda row: misfit(row, ERROR_TARGETS))[:8]
    return Grid(
        title="The GPS errors nearest to the published position errors",
        headers=("σ of a fix, m", "Stays, s", "Without fusion, m", "With fusion, m"),
        rows=tuple(
            tuple(f"{number(row, name):.2f}" for name in ("gps", "drift", "raw", "fused"))
            for row in order
        ),
    )


STUDY = Study(
    name="calibration",
    paper=Paper.AEDSMS,
    figures=(FIGURE,),
    title="What the authors must have had",
    seconds=300,
    cells=cells,
    run=run,
    analyse=analyse,
    seed=SEED,
)
