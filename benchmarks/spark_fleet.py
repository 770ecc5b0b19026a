"""A fleet's tuples as a gateway would write them, queries over them, and the answers by NumPy.

Every vehicle senses ten times a second, one after another, so that all rows are in order of time
and each file is the next piece of it. Values are multiples of 1/4: sums and means of them are exact
whatever the order of adding, so answers are compared bit for bit.

- ``map``: a filter and a map of one source;
- ``window``: mean, maximum and count by vehicle in windows of 5 s;
- ``join``: two sources, pairs of one vehicle and wheel at most 5 ms apart;
- ``fusion``: GPS fixes and speeds through the Kalman filter of ``examples/collision_warning``;
- ``collision``: that whole example: fusions, joins, a shedder, three outputs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

EXAMPLE = Path(__file__).parents[1] / "examples" / "collision_warning"
BEGIN_US = 1_767_225_600_000_000
TICK_US = 100_000
HEAT_AFTER_US = 2_000
WHEELS = 4
WINDOW_US = 5_000_000
LATENESS_US = 1_000_000
MOMENT = pa.timestamp("us", tz="UTC")

_SPEED = "speed: {schema: {wheel: int, v: double}, rate: 1 per 100 ms, lateness: 1 s}"
_HEAT = "heat: {schema: {wheel: int, celsius: double}, rate: 1 per 100 ms, lateness: 1 s}"
QUERIES = {
    "map": f"""
query: fleet_map
sources:
  {_SPEED}
operators:
  moving: {{filter: v > 1.0, from: speed}}
  kmh: {{map: {{wheel: wheel, v: v * 4}}, from: moving}}
outputs:
  out: {{from: kmh, deadline: 60 s, criticality: soft}}
""",
    "window": f"""
query: fleet_window
sources:
  {_SPEED}
operators:
  means:
    aggregate: {{end: window_end, v: avg(v), top: max(v), n: count(*)}}
    from: speed
    window: 5 s
outputs:
  out: {{from: means, deadline: 60 s, criticality: soft}}
""",
    "join": f"""
query: fleet_join
sources:
  {_SPEED}
  {_HEAT}
operators:
  both:
    join: {{s: speed, h: heat}}
    within: 5 ms
    keys: [wheel]
    select: {{wheel: s.wheel, v: s.v, celsius: h.celsius}}
outputs:
  out: {{from: both, deadline: 60 s, criticality: soft}}
""",
    "fusion": """
query: fleet_fusion
use: [components.yaml]
sources:
  gps: {schema: Gps, rate: 1 per 100 ms, delay: 2 ms, lateness: 100 ms, gap: 150 ms}
  speed: {schema: Speed, rate: 1 per 100 ms, delay: 1 ms, lateness: 100 ms, gap: 150 ms}
operators:
  own: {component: spc_a, inputs: {gps: gps, speed: speed}}
outputs:
  out: {from: own.vehicle, deadline: 60 s, criticality: soft}
""",
    "collision": (EXAMPLE / "query.yaml").read_text(encoding="utf-8"),
}
SOURCES = {
    "map": ("speed",),
    "window": ("speed",),
    "join": ("speed", "heat"),
    "fusion": ("gps", "speed"),
    "collision": ("gps", "speed", "radar", "v2v"),
}


@dataclass(frozen=True)
class Fleet:
    """``rows`` are those of all sources together, ``per_file`` those of each source in a file."""

    case: str
    rows: int
    vehicles: int
    per_file: int

    @property
    def sources(self) -> tuple[str, ...]:
        return SOURCES[self.case]

    @property
    def per_source(self) -> int:
        return self.rows // len(self.sources)

    @property
    def files(self) -> int:
        """of each source"""
        return -(-self.per_source // self.per_file)

    @property
    def end_us(self) -> int:
        """When the last row was sensed."""
        return int(self.times(self.per_source - 1, self.per_source)[0])

    def times(self, first: int, last: int) -> np.ndarray:
        """When these rows of the first source were sensed."""
        number = np.arange(first, last, dtype=np.int64)
        tick, place = number // self.vehicles, number % self.vehicles
        return BEGIN_US + tick * TICK_US + place * TICK_US // self.vehicles

    # ---------------------------------------------------------------- what is written

    def write(self, folder: Path) -> Path:
        """The query and the recording, if they are not there; gives the query's path."""
        query = folder / "query.yaml"
        if query.exists():
            return query
        if self.case == "collision":
            self._write_copies(folder / "recording")
        else:
            for source in self.sources:
                for file, table in enumerate(self.pieces(source)):
                    write_file(table, folder / "recording" / source, file)
        shutil.copy(EXAMPLE / "components.yaml", folder)
        query.write_text(QUERIES[self.case], encoding="utf-8")
        return query

    def pieces(self, source: str) -> Iterator[pa.Table]:
        """The tables of a source's files."""
        names = pa.array([f"v{number:05d}" for number in range(self.vehicles)])
        for first in range(0, self.per_source, self.per_file):
            last = min(first + self.per_file, self.per_source)
            times, number = self.times(first, last), np.arange(first, last)
            vehicle = names.take(pa.array(number % self.vehicles))
            tick = number // self.vehicles
            yield self._columns(source, times, vehicle, tick, first)

    def _columns(
        self, source: str, times: np.ndarray, vehicle: pa.Array, tick: np.ndarray, seed: int
    ) -> pa.Table:
        random = np.random.default_rng([len(source), seed])
        if self.case == "fusion":
            return _driving(source, times, vehicle, tick, random)
        if source == "heat":
            times = times + HEAT_AFTER_US
        value = random.integers(0, 160, len(times)) / 4
        return pa.table(
            {
                "timestamp": pa.array(times, MOMENT),
                "vehicle": vehicle,
                "wheel": pa.array((tick % WHEELS).astype(np.int32)),
                "celsius" if source == "heat" else "v": value,
            }
        )

    def _write_copies(self, recording: Path) -> None:
        """The example's recording, driven by many vehicles at once; all sources are cut at the same
        times of arrival."""
        tables = {
            name: pq.read_table(EXAMPLE / "recording" / f"{name}.parquet") for name in self.sources
        }
        arrived = {name: np.asarray(t["arrived_at"].cast(pa.int64())) for name, t in tables.items()}
        first = min(int(times.min()) for times in arrived.values())
        span = max(int(times.max()) for times in arrived.values()) + 1 - first
        there = sorted(set(tables["gps"]["vehicle"].to_pylist()))
        for name, table in tables.items():
            piece = (arrived[name] - first) * self.files // span
            for file in range(self.files):
                mine = table.filter(pa.array(piece == file))
                copies = []
                for number in range(self.vehicles):
                    one = mine.filter(pc.equal(mine["vehicle"], there[number % len(there)]))
                    place = one.schema.get_field_index("vehicle")
                    named = pa.array([f"v{number:05d}"] * one.num_rows, pa.string())
                    copies.append(one.set_column(place, "vehicle", named))
                write_file(pa.concat_tables(copies), recording / name, file)

    # ---------------------------------------------------------------- what must come out

    def answer(self) -> pa.Table:
        """Of ``map``, ``window`` and ``join``; of windows, those that any engine has closed when
        the input ends."""
        speed = pa.concat_tables(self.pieces("speed"))
        if self.case == "map":
            kept = speed.filter(pc.greater(speed["v"], 1.0))
            return kept.set_column(3, "v", pc.multiply(kept["v"], 4.0))
        if self.case == "join":
            heat = pa.concat_tables(self.pieces("heat"))
            return speed.append_column("celsius", heat["celsius"])  # a pair is as old as its older
        ends = np.asarray(speed["timestamp"].cast(pa.int64())) // WINDOW_US * WINDOW_US + WINDOW_US
        grouped = speed.set_column(0, "end", pa.array(ends, MOMENT)).group_by(["vehicle", "end"])
        found = grouped.aggregate([("v", "mean"), ("v", "max"), ("v", "count")])
        return self.comparable(found.rename_columns(["vehicle", "end", "v", "top", "n"]))

    def comparable(self, table: pa.Table) -> pa.Table:
        """Programs with a global watermark keep what ends after it."""
        if self.case != "window":
            return table
        last = pa.scalar(self.end_us - LATENESS_US, MOMENT)
        return table.filter(pc.less(table["end"].cast(MOMENT), last))


def _driving(
    source: str, times: np.ndarray, vehicle: pa.Array, tick: np.ndarray, random: np.random.Generator
) -> pa.Table:
    """Straight on at 22.36 m/s, with the noise of the example's sensors."""
    count = len(times)
    data: dict[str, pa.Array | np.ndarray] = {"timestamp": pa.array(times, MOMENT)}
    if source == "gps":
        data["x"] = (tick * 2.0 + random.normal(0, 1.0, count)).astype(np.float32)
        data["y"] = (tick * 1.0 + random.normal(0, 1.0, count)).astype(np.float32)
        data["heading"] = random.normal(0.4636, 0.02, count).astype(np.float32)
    else:
        data["v"] = random.normal(22.36, 0.3, count).astype(np.float32)
    late = 1_500 if source == "gps" else 500
    data["arrived_at"] = pa.array(times + late, MOMENT)
    data["vehicle"] = vehicle
    return pa.table(data)


def write_file(table: pa.Table, folder: Path, number: int) -> None:
    """Spark takes files in the order of their times."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{number:06d}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


# ---------------------------------------------------------------- comparing

COMPARED = {
    "map": ["vehicle", "timestamp", "wheel", "v"],
    "window": ["vehicle", "end", "v", "top", "n"],
    "join": ["vehicle", "timestamp", "wheel", "v", "celsius"],
}


def difference(fleet: Fleet, got: pa.Table, wanted: pa.Table) -> str:
    """What is wrong with an answer; nothing if it is right."""
    names = COMPARED[fleet.case]
    sides = []
    for table in (fleet.comparable(got), wanted):
        columns = {name: table[name] for name in names}
        moment = "end" if fleet.case == "window" else "timestamp"
        columns[moment] = columns[moment].cast(MOMENT)
        plain = pa.table({name: column.combine_chunks() for name, column in columns.items()})
        sides.append(plain.sort_by([(name, "ascending") for name in names]))
    mine, theirs = sides
    if mine.num_rows != theirs.num_rows:
        return f"{mine.num_rows:,} rows instead of {theirs.num_rows:,}"
    for name in names if mine.num_rows else ():
        same = pc.equal(mine[name], theirs[name].cast(mine[name].type))
        if not pc.all(same, skip_nulls=False).as_py():
            row = pc.index(same, False).as_py()
            got, want = (side.slice(row, 1).to_pylist()[0] for side in sides)
            return f"{name}: {got} instead of {want}"
    return ""
