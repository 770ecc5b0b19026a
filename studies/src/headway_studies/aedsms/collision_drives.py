"""Cells of the collision-warning studies: what a mapping of plain values says about a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache, lru_cache

import pyarrow as pa

from headway.drive.collision_warning import QueryInVehicle, Setting, load_collision_warning
from headway.drive.trial import Metres, Times, Trial, run_trial
from headway.model.quantities import MICROSECOND
from headway.model.vehicle import Vehicle
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import DriveRecording, record
from headway.world.drive_scenario import Scenario
from headway_studies.provenance import Provenance, assumed, changed
from headway_studies.row_reading import flag, text, whole
from headway_studies.study import Cell

# ----------------------------------------------------------------
# The vehicles of the study: the AEDSMS paper's three ECUs, and the S-EDF paper's one machine.


THREE_NODES, ONE_NODE = "three nodes", "one node"


@cache
def application_on(vehicle: str) -> QueryInVehicle:
    """The example on one of the two."""
    given = load_collision_warning()
    return given if vehicle == THREE_NODES else QueryInVehicle(given.query, alone(given))


def alone(given: QueryInVehicle) -> Vehicle:
    """Everything on one ECU like the first of the vehicle: no network (S-EDF section 6)."""
    node = replace(given.vehicle.nodes[0], name="ecu")
    sensors = tuple((source.name, node.name) for source in given.query.sources)
    return Vehicle(name="one_node", nodes=(node,), sensors=sensors)


TRIALS, QUICK_TRIALS = 100, 2
SEED = 1
"""of the traffic; a trial's number is the seed of its phases, noise and losses"""
SCENARIO = Scenario(seed=SEED)
ONE_CROSSING = replace(
    SCENARIO,
    cars=12,
    duration=13.0,
    columns=3,
    rows=3,
    collision_crossings=(1,),
    crowded_crossings=(1,),
)
"""a short drive past one hidden car, for quick runs of studies that drive often"""
PUBLISHED = {"s-edf": 800, "fifo+": 100}
"""V2V tuples/s with no miss"""
IN_ITEMS_RATE = 620
"""V2V tuples/s: what the study of rates finds for S-EDF where a fusion can be preempted between its
items, and checks"""
LEAST_RATE = 10
"""V2V tuples/s: one in each window of the load shedder"""

# The papers' S-EDF preempts between operators only (S-EDF section 5.3). The example's query says
# ``preempt: between_items``, which is ours: studies run it apart, under a label of its own. The
# papers give each policy the rate that it takes without a miss. On these three nodes neither takes
# any (study of rates), so both are run at the published rates; ours at the largest that it takes.

AS_PRINTED = Setting(policy="s-edf", shed=PUBLISHED["s-edf"], between_items=False)
FIFO = Setting(policy="fifo+", shed=PUBLISHED["fifo+"], between_items=False)
SAME_RATE = replace(AS_PRINTED, shed=FIFO.shed)
FIFO_LEAST = replace(FIFO, shed=LEAST_RATE)
FIFO_SILENT = replace(FIFO, shed=None, v2v=False)
SILENT = replace(AS_PRINTED, shed=None, v2v=False)
IN_ITEMS = Setting(policy="s-edf", shed=IN_ITEMS_RATE, between_items=True)
SETTINGS = (AS_PRINTED, SAME_RATE, FIFO, FIFO_LEAST, FIFO_SILENT, SILENT, IN_ITEMS)

OUR_DRIVES = assumed(
    "where the cars stand, the sensors' noise, at most 8 radar objects, 1 ms an item, the sizes on "
    "the bus: the papers print none of them"
)
BETWEEN_ITEMS = changed(
    "a fusion can be preempted between its items; S-EDF section 5.3 preempts between operators only"
)


def came_of(setting: Setting) -> Provenance:
    """What a run with that setting rests on."""
    return BETWEEN_ITEMS if setting.between_items else OUR_DRIVES


def trials_of(quick: bool) -> range:
    return range(QUICK_TRIALS if quick else TRIALS)


@lru_cache(maxsize=2)
def drive(trial: int, radar_objects: int | None = None) -> DriveRecording:
    """A drive through the studies' scenario; settings that follow each other share it."""
    if radar_objects is None:
        return record(SCENARIO, trial=trial)
    return record(SCENARIO, trial=trial, sensors=SensorModel(radar_objects=radar_objects))


@lru_cache(maxsize=2)
def city_drive(city: int, trial: int) -> DriveRecording:
    """A drive through another city: the same scenario with cars that stand elsewhere."""
    return record(replace(SCENARIO, seed=city), trial=trial)


@lru_cache(maxsize=12)
def driven(trial: int, setting: Setting) -> Trial:
    """A drive on the papers' vehicle; studies that ask for the same run of it share it."""
    return run_trial(application_on(THREE_NODES), drive(trial), setting)


def setting_of(cell: Cell) -> Setting:
    """Policy, what an item costs and whether it can be preempted there; the limit is found or given
    elsewhere."""
    item_us = cell.get("item_us")
    return Setting(
        policy=text(cell, "policy"),
        item_cost=None if item_us is None else whole(cell, "item_us") * MICROSECOND,
        between_items=flag(cell, "between_items"),
    )


# ----------------------------------------------------------------
# A recorded drive with other values in a few columns: what if a sensor had erred otherwise?


def sensed_at(recording: DriveRecording, stream: str) -> Times:
    """When each tuple of a stream was sensed, microseconds from the begin."""
    times: Times = recording.streams[stream].column("timestamp").cast(pa.int64()).to_numpy()
    return times - recording.begin


def with_columns(
    recording: DriveRecording, stream: str, columns: Mapping[str, Metres]
) -> DriveRecording:
    """The same drive with these columns instead, each of the type it had."""
    table = recording.streams[stream]
    for name, values in columns.items():
        field = table.schema.field(name)
        column = pa.array(values).cast(field.type, safe=False)
        table = table.set_column(table.schema.get_field_index(name), field, column)
    return replace(recording, streams={**recording.streams, stream: table})
