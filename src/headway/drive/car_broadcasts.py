"""Other cars' output1 as our V2V: every car with a radio runs the query itself and broadcasts it.

In the papers a V2V tuple is a tuple of the sender's output1 (S-EDF section 6.2.1). A car's engine
gets its own sensors' readings and runs in virtual time, with the costs and the policy of the
vehicle; what comes out of output1 goes on the air when it has come out, and the radio decides who
hears it. The variances travel with position and velocity, as the receivers' fusion needs them.

That would be a loop, since a car that broadcasts hears others. It is not one in values: output1
comes from on-board sensors only (AEDSMS section 5.3), so what a car says does not follow from what
it hears, and one pass over all cars is enough. :func:`check_on_board` holds a query to that. *When*
a tuple comes out can follow from it, where the node that makes output1 also fuses V2V (some come
out later then, some earlier): the pass leaves that out. The study ``connected-cars`` runs every car
again with what it heard, and counts the messages that differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from headway.compiler.passes import recompile
from headway.drive.collision_warning import BROADCAST, RADIO
from headway.drive.trial import arrivals
from headway.engine.engine import Engine
from headway.engine.results import OutputRecord
from headway.errors import InputError
from headway.model.expression import Column, Sql
from headway.model.graph import graph_of
from headway.model.operators import Map
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.model.query import Query
from headway.world.broadcasts import SILENCE, Broadcasts, Told, on_air
from headway.world.cam import CamReports
from headway.world.car_sensors import SensorModel
from headway.world.drive_recording import BEGIN, OWN_ID, record
from headway.world.radio import RadioModel
from headway.world.traffic import Traffic

MOTION = ("x", "y", "vx", "vy")
CONFIDENCE = ("var_x", "var_y", "var_vx", "var_vy")


def broadcasting(plan: Plan) -> Plan:
    """The same plan with the variances in output1; InputError if it cannot be broadcast.

    The example's output1 leaves them out, for none of the papers' figures needs them there. Columns
    cost nothing in the plan's model (an operator's cost is declared), and output1 crosses no bus.
    """
    check_on_board(plan)
    stream = _stream(plan.query)
    names = dict(plan.schemas)[stream].names
    lacking = [name for name in CONFIDENCE if name not in names]
    if lacking:
        plan = recompile(plan, _carrying(plan, stream, lacking))
        names = dict(plan.schemas)[stream].names
    missing = [name for name in ("id", *MOTION) if name not in names]
    if missing:
        raise InputError(
            f"{BROADCAST} cannot be broadcast",
            at=f"outputs.{BROADCAST}",
            got=f"no column {', '.join(missing)}",
            want="let it tell which vehicle it is about, where that is, and how it moves",
        )
    return plan


def check_on_board(plan: Plan) -> None:
    """InputError if what a car says follows from what it hears."""
    if RADIO in graph_of(plan.query).sources_before(_stream(plan.query)):
        raise InputError(
            f"{BROADCAST} is made of what others say",
            at=f"outputs.{BROADCAST}",
            got=f"the source {RADIO!r} is before it",
            want="broadcast what comes from on-board sensors: what each car says would hang on "
            "what all others say",
        )


def _stream(query: Query) -> str:
    return next(one.stream for one in query.outputs if one.name == BROADCAST)


def _carrying(plan: Plan, stream: str, names: Iterable[str]) -> Query:
    """The query with these columns in a stream that a map makes of one that has them."""
    step = next((one for one in plan.query.steps if one.name == stream), None)
    before = dict(plan.schemas)[step.streams[0]].names if isinstance(step, Map) else ()
    lacking = [name for name in names if name not in before]
    if not isinstance(step, Map) or lacking:
        raise InputError(
            f"{BROADCAST} says nothing of its confidence",
            at=f"outputs.{BROADCAST}",
            got=f"no column {', '.join(lacking or names)}",
            want="whoever hears it cannot fuse it without the variances",
        )
    columns = (*step.columns, *(Column(name=name, value=Sql(name)) for name in names))
    carrying = replace(step, columns=columns)
    return replace(
        plan.query,
        steps=tuple(carrying if one is step else one for one in plan.query.steps),
    )


def told_by(
    plan: Plan,
    traffic: Traffic,
    car: int,
    trial: int,
    *,
    policy: str = "s-edf",
    charged: bool = True,
    hears: Broadcasts = SILENCE,
) -> Told:
    """One car's engine over the drive; ``plan`` is one of :func:`broadcasting`.

    ``hears`` changes when tuples come out, and nothing else. A car's fusion starts with the drive.
    """
    recording = record(traffic, car, trial=trial, said=hears)
    engine = Engine(plan=plan, policy=policy, charged=charged, keep_trace=False)
    result = engine.run(arrivals(recording, plan, v2v=True))
    names = dict(plan.schemas)[_stream(plan.query)].names
    return _told(result.outputs[BROADCAST], names, traffic, car)


def _told(record: OutputRecord, names: tuple[str, ...], traffic: Traffic, car: int) -> Told:
    """``names``: the columns of output1 behind the timestamp."""
    place = {name: number for number, name in enumerate(("timestamp", *names))}
    columns = {
        name: np.array([row[place[name]] for row in record.rows], dtype=np.float64)
        for name in (*MOTION, *CONFIDENCE)
    }
    ids = np.array([row[place["id"]] for row in record.rows], dtype=np.int64)
    about = np.searchsorted(traffic.ids, np.where(ids == OWN_ID, car, ids))
    sensed = np.array([row[0] for row in record.rows], dtype=np.int64) - BEGIN
    completed = -(-np.array(record.completed, dtype=np.int64) // MICROSECOND)
    return Told(
        int(np.searchsorted(traffic.ids, car)),
        completed - BEGIN,
        CamReports(about, sensed, *(columns[name] for name in (*MOTION, *CONFIDENCE))),
    )


def speakers(traffic: Traffic) -> tuple[int, ...]:
    """The ids of the cars with a radio, in order."""
    return tuple(int(car) for car in traffic.ids[traffic.radio])


def broadcasts_of(
    plan: Plan,
    traffic: Traffic,
    trial: int = 0,
    *,
    policy: str = "s-edf",
    charged: bool = True,
    hears: Broadcasts = SILENCE,
    but: int | None = None,
) -> Broadcasts:
    """All cars' engines, one after the other; ``but`` need not be run, because nobody asks what it
    says (it does not hear itself)."""
    cars = [car for car in speakers(traffic) if car != but]
    told = [
        told_by(plan, traffic, car, trial, policy=policy, charged=charged, hears=hears)
        for car in cars
    ]
    return on_air(traffic, told, SensorModel(), RadioModel(), trial)
