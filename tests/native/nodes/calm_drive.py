"""The collision warning on three nodes with a drive in which no tuple comes near the end of a
timer, so that what is gathered together does not hang on how fast a machine is."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.cli.invoke import STUDY

from headway.engine.jobs import Arrival
from headway.front_door.compiling import compile
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.sources.parquet_file import StreamWriter
from headway.sources.recordings import read_recording

VEHICLE = "A"
CYCLE = 100_000
"""microseconds between two measurements of a sensor on board"""
CYCLES = 10
RADIO = 20_000
"""when V2V tuples come in a cycle, after those of the sensors on board"""
USUAL, CALM = "timeout: 100 ms\n    gather: time", "timeout: 60 ms\n    gather: time"


def calm_plan(folder: Path) -> Plan:
    """The fusion gathers for 60 ms, which ends where nothing comes."""
    shutil.copytree(STUDY, folder, ignore=shutil.ignore_patterns("recording"))
    query = folder / "query.yaml"
    text = query.read_text(encoding="utf-8")
    assert USUAL in text
    query.write_text(text.replace(USUAL, CALM), encoding="utf-8")
    return compile(query, folder / "vehicle_modern.yaml").plan


def calm_arrivals(plan: Plan) -> list[Arrival]:
    """The first second of the recording; what comes by radio comes in the same part of each
    cycle."""
    recorded = read_recording(STUDY / "recording", plan.query.sources, VEHICLE)
    start: int | None = None
    found: list[tuple[int, int, Arrival]] = []
    for number, (at, source, row, _) in enumerate(recorded):
        start = at if start is None else start
        cycle, offset = divmod(at - start, CYCLE)
        if cycle >= CYCLES:
            break
        if source == "v2v":
            at = start + cycle * CYCLE + RADIO + offset // 20
        found.append((at, number, Arrival(at * MICROSECOND, source, row)))
    return [arrival for _, _, arrival in sorted(found, key=lambda one: one[:2])]


def write_drive(folder: Path, plan: Plan, arrivals: list[Arrival]) -> None:
    for source in plan.query.sources:
        with StreamWriter(folder / f"{source.name}.parquet", source.schema) as writer:
            for arrival in arrivals:
                if arrival.source == source.name:
                    writer.write(arrival.row, arrived_at=arrival.time // MICROSECOND)
