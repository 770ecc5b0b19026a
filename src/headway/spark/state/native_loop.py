"""Vehicles' tuples through the compiled engine."""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from headway.engine.result_tables import SideRows
from headway.model.plan import Plan
from headway.native.arrow_rows import column_kinds
from headway.native.native_fleet import FleetArrivals, NativeFleet
from headway.native.program_layout import meaning_layout
from headway.spark.state.arrival_order import BESIDE, one_array
from headway.spark.state.state_sections import NATIVE_FORM, fingerprint_of
from headway.spark.state.step_programs import program_file
from headway.spark.state.vehicle_loops import (
    APPEARED,
    LATE,
    Given,
    OutputTuples,
    PythonLoop,
    Ran,
    SideTuple,
    VehicleLoop,
)


def vehicle_loop(
    plan: Plan,
    program: bytes | None,
    listed: Collection[str] | None = None,
    watched: Collection[str] | None = None,
) -> VehicleLoop:
    """The compiled program of a plan (:mod:`headway.spark.state.step_programs`), or Python's engine
    where there is none."""
    if program is None:
        return PythonLoop(plan, listed, watched)
    return NativeLoop(plan, program, listed, watched)


class NativeLoop:
    """Runs a program that was compiled for this plan; states are its own bytes."""

    def __init__(
        self,
        plan: Plan,
        program: bytes,
        listed: Collection[str] | None,
        watched: Collection[str] | None,
    ) -> None:
        self.fingerprint = fingerprint_of(plan, NATIVE_FORM)
        layout = meaning_layout(plan, watched or ())
        self._fleet = NativeFleet(program_file(program), layout)
        schemas = dict(plan.schemas)
        self._outputs = [schemas[output.stream] for output in plan.query.outputs]
        self._side, self._listed, self._marked = SideRows(plan), listed, watched is not None

    def run(self, given: Given) -> Ran:
        arrivals = given.arrivals
        found = self._fleet.run(
            FleetArrivals(
                columns=[
                    [one_array(column) for column in table.columns[len(BESIDE) :]]
                    for table in arrivals.tables
                ],
                vehicles=arrivals.owners,
                times=arrivals.times,
                sources=arrivals.sources,
                rows=arrivals.rows,
            ),
            given.engines,
            given.bounds,
            ends=given.ends,
        )
        outputs = []
        for one, schema in zip(found.outputs, self._outputs, strict=True):
            names = [field.name for field in schema.columns]
            columns = [
                column.cast(kind)
                for column, kind in zip(one.columns, column_kinds(schema), strict=True)
            ]
            if self._marked:
                names += [LATE, APPEARED]
                columns += [pa.array(one.late), pa.array(one.appeared)]
            outputs.append(OutputTuples(one.vehicles, pa.table(columns, names=names)))
        return Ran(
            outputs=outputs,
            side=[
                SideTuple(owner, one.kind.value, self._side.row(time, one))
                for owner, time, one in found.dropped
                if self._listed is None or one.where in self._listed
            ],
            engines=found.states,
            timers=found.timers,
        )
