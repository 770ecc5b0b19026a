"""States of a stream's partitions as files: written in segments, dealt out anew, never lost."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.state.small_fleet import shown, table, waiting

from headway.errors import FileError
from headway.model.codec import plan_to_json
from headway.spark.state.batch_manifest import StateSegment
from headway.spark.state.partition_files import (
    MOST_SEGMENTS,
    StatesBefore,
    belongs_to,
    parts_before,
    write_segment,
)
from headway.spark.state.step_task import (
    NewState,
    OutputRows,
    VehicleProgram,
    VehicleRows,
)
from headway.spark.state.vehicle_hashes import vehicle_hashes

CARS = [f"car{number}" for number in range(24)]
Tuple = tuple[str, int, int]


@dataclass
class Stream:
    """The partitions of a stream, one after the other, without Spark."""

    folder: Path
    states: tuple[tuple[StateSegment, ...], ...] = ()
    found: Counter[Tuple] = field(default_factory=Counter)
    wrote: Counter[bool] = field(default_factory=Counter)
    """segments, by whether they were whole"""
    number: int = 0

    def step(self, partitions: int, *sources: list[Tuple], ends: bool = False) -> None:
        before = StatesBefore(partitions, self.states)
        program = VehicleProgram(plan_to_json(waiting()), None, None, None, None)
        names = tuple(f"s{place}" for place in range(2))
        task = VehicleRows(program, names, before, str(self.folder), None, 0, ends)
        after: list[tuple[StateSegment, ...]] = [()] * partitions
        if self.states and not before.moved:
            after = list(self.states)
        for part in range(partitions):
            mine = [[one for one in some if home(one[0], partitions) == part] for some in sources]
            for one in task.rows(iter(tagged(mine)), part):
                if isinstance(one, OutputRows):
                    self.found.update(shown(one.rows))
                if isinstance(one, NewState) and one.data is not None:
                    name = f"{self.number}-{part}.state"
                    write_segment(self.folder, name, one.data)
                    self.wrote[one.whole] += 1
                    segment = StateSegment(name, len(one.data), one.whole)
                    after[part] = (*(() if one.whole else after[part]), segment)
        self.number += 1
        if not ends:
            self.states = tuple(after)


def home(vehicle: str, partitions: int) -> int:
    return int(vehicle_hashes(pa.array([vehicle]))[0] % partitions)


def tagged(sources: list[list[Tuple]]) -> list[Any]:
    """As Spark brings several sources to a task."""
    batches = []
    for place, some in enumerate(sources):
        rows = table(*some)
        struct = pa.StructArray.from_arrays(
            [rows.column(name).combine_chunks() for name in ("timestamp", "v")],
            ["timestamp", "v"],
        )
        nothing = pa.nulls(len(some), struct.type)
        batches.append(
            pa.RecordBatch.from_pydict(
                {
                    "vehicle": rows.column("vehicle").combine_chunks(),
                    "#source": pa.array([place] * len(some), pa.int32()),
                    "#at": rows.column("#at").combine_chunks(),
                    "#position": rows.column("#position").combine_chunks(),
                    "#row0": struct if place == 0 else nothing,
                    "#row1": struct if place == 1 else nothing,
                }
            )
        )
    return batches


def drive(seed: int) -> list[tuple[list[Tuple], list[Tuple]]]:
    """In each step few cars are heard of, after a first one with all of them."""
    draw = random.Random(seed)
    steps = []
    for number in range(30):
        cars = CARS if not number else draw.sample(CARS, 3)
        at = 100 * number
        steps.append(
            tuple(
                [(car, at + draw.randint(0, 9), draw.randint(1, 9)) for car in cars]
                for _ in range(2)
            )
        )
    return steps  # type: ignore[return-value]


@pytest.mark.parametrize("seed", range(3))
def test_what_changed_is_written_and_nothing_is_lost(seed: int, tmp_path: Path) -> None:
    steps = drive(seed)
    plain, moving = Stream(tmp_path / "plain"), Stream(tmp_path / "moving")
    draw = random.Random(seed)
    most = 0
    for number, sources in enumerate(steps):
        plain.step(1, *sources)
        moving.step(2 if number < 12 else draw.choice((1, 2, 3, 4, 6)), *sources)
        most = max(most, *(len(part) for part in (*plain.states, *moving.states)))
    for stream in (plain, moving):
        stream.step(len(stream.states), [], [], ends=True)
    assert plain.found.total() > 30
    assert moving.found == plain.found
    assert 1 < most <= MOST_SEGMENTS
    assert plain.wrote[False] > plain.wrote[True] > 1, "mostly what changed, now and then all"


def test_a_partition_reads_those_that_its_vehicles_were_in() -> None:
    for before in range(1, 8):
        for now in range(1, 8):
            for number in range(200):
                hashed = number * 7919 - 500_000
                part = hashed % now
                assert hashed % before in parts_before(part, now, before)
    assert parts_before(1, 4, 2) == [1]
    assert parts_before(0, 2, 4) == [0, 2]
    assert parts_before(0, 3, 2) == [0, 1]
    assert belongs_to(2, 5)(vehicle_hashes(pa.array(CARS))).sum() < len(CARS)


def test_a_segment_that_is_gone_is_named(tmp_path: Path) -> None:
    stream = Stream(tmp_path)
    stream.step(1, *drive(0)[0])
    (tmp_path / "0-0.state").unlink()
    with pytest.raises(FileError, match=r"0-0\.state: the state of a stream cannot be read"):
        stream.step(1, *drive(0)[1])
