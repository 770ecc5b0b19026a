"""Streams that a Spark programmer would write by hand for the queries of ``spark_fleet.py``.

Each reads the same Parquet files, as many a micro-batch, keeps a watermark of a second where it has
state, writes Parquet and is exactly-once. Each runs in a session of its own with the settings that
suit it: as many shuffle partitions as slots, the state store it is named after. Nothing here needs
Headway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import cos, hypot, sin
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": "org.apache.spark.sql.execution.streaming"
    ".state.RocksDBStateStoreProvider",
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
SCHEMAS = {
    "heat": "timestamp timestamp, vehicle string, wheel int, celsius double",
    "speed": "timestamp timestamp, vehicle string, wheel int, v double",
    "fix": "timestamp timestamp, x float, y float, heading float, arrived_at timestamp, "
    "vehicle string",
    "pace": "timestamp timestamp, v float, arrived_at timestamp, vehicle string",
}
WINDOW_US = 5_000_000
REACH_US = 5_000
SLICE_US = 100_000
"""of time, by which the batch join finds its partners"""
CARRIED_US = 1_000_000 + REACH_US


@dataclass(frozen=True)
class Given:
    """``scratch`` gets ``out.parquet`` and ``checkpoint``; nothing is there before."""

    spark: SparkSession
    recording: Path
    scratch: Path
    files_per_batch: int
    slots: int

    def session(self, settings: dict[str, str]) -> SparkSession:
        own = self.spark.newSession()
        own.conf.set("spark.sql.shuffle.partitions", str(self.slots))
        own.conf.set("spark.sql.session.timeZone", "UTC")
        for key, value in settings.items():
            own.conf.set(key, value)
        return own

    def read(self, session: SparkSession, source: str, schema: str = "") -> DataFrame:
        reader = session.readStream.schema(SCHEMAS[schema or source])
        reader = reader.option("maxFilesPerTrigger", self.files_per_batch)
        return reader.parquet(str(self.recording / source))

    def write(self, data: DataFrame) -> None:
        """Through Spark's Parquet sink, until all that is there is done."""
        writer = data.writeStream.format("parquet").outputMode("append")
        writer = writer.option("path", str(self.scratch / "out.parquet"))
        self.finish(writer)

    def finish(self, writer: Any) -> None:
        checkpoint = str(self.scratch / "checkpoint")
        writer = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer.start().awaitTermination()


Program = Callable[[Given], None]

# ---------------------------------------------------------------- map, window


def map_native(given: Given) -> None:
    speed = given.read(given.session({}), "speed").where("v > 1.0")
    given.write(speed.select("vehicle", "timestamp", "wheel", (F.col("v") * 4).alias("v")))


def window_native(settings: dict[str, str], window: str = "5 seconds") -> Program:
    """Spark's windowed aggregation, in append mode: a window comes when the watermark passed."""

    def run(given: Given) -> None:
        speed = given.read(given.session(settings), "speed").withWatermark("timestamp", "1 second")
        means = speed.groupBy("vehicle", F.window("timestamp", window)).agg(
            F.avg("v").alias("v"), F.max("v").alias("top"), F.count("*").alias("n")
        )
        given.write(means.select("vehicle", "window.end", "v", "top", "n"))

    return run


_WINDOW = "begin bigint, total double, top double, n bigint"
_MEANS = "vehicle string, end timestamp, v double, top double, n bigint"
_Open = tuple[int, float, float, int]


class WindowsInPandas(StatefulProcessor):
    """A vehicle's open window is its state; a row of a later one closes it."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._open = handle.getValueState("open", _WINDOW)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Any:  # noqa: N802, N803
        data = pd.concat(list(rows))
        begin = data["timestamp"].astype("int64") // (1000 * WINDOW_US) * WINDOW_US
        found = data["v"].groupby(begin).agg(["sum", "max", "count"]).sort_index()
        windows: list[_Open] = [
            (int(at), float(one["sum"]), float(one["max"]), int(one["count"]))
            for at, one in found.iterrows()
        ]
        closed, last = _merged(self._open.get() if self._open.exists() else None, windows)
        self._open.update(last)
        if closed:
            table = pd.DataFrame(
                [(key[0], at + WINDOW_US, total / n, top, n) for at, total, top, n in closed],
                columns=["vehicle", "end", "v", "top", "n"],
            )
            table["end"] = pd.to_datetime(table["end"], unit="us")
            yield table

    def close(self) -> None:
        pass


class WindowsInRows(StatefulProcessor):
    """The same, row by row."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._open = handle.getValueState("open", _WINDOW)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        windows: dict[int, list[float]] = {}
        for row in rows:
            one = windows.setdefault(row.micros // WINDOW_US * WINDOW_US, [0.0, -1e300, 0])
            one[0] += row.v
            one[1] = max(one[1], row.v)
            one[2] += 1
        listed = [(at, t, top, int(n)) for at, (t, top, n) in sorted(windows.items())]
        closed, last = _merged(self._open.get() if self._open.exists() else None, listed)
        self._open.update(last)
        for at, total, top, n in closed:
            yield Row(vehicle=key[0], micros=at + WINDOW_US, v=total / n, top=top, n=n)

    def close(self) -> None:
        pass


def _merged(held: Any, windows: list[_Open]) -> tuple[list[_Open], _Open]:
    """The windows that are closed, and the one that is open."""
    if held is not None:
        begin, total, top, n = held
        if windows and windows[0][0] == begin:
            _, more, higher, others = windows[0]
            windows = [(begin, total + more, max(top, higher), n + others), *windows[1:]]
        else:
            windows = [(begin, total, top, n), *windows]
    return windows[:-1], windows[-1]


def window_in_pandas(given: Given) -> None:
    grouped = given.read(given.session(ROCKSDB), "speed").groupBy("vehicle")
    given.write(grouped.transformWithStateInPandas(WindowsInPandas(), _MEANS, "Append", "None"))


def window_in_rows(given: Given) -> None:
    speed = given.read(given.session(ROCKSDB), "speed")
    plain = speed.select("vehicle", F.unix_micros("timestamp").alias("micros"), "v")
    schema = _MEANS.replace("end timestamp", "micros bigint")
    found = plain.groupBy("vehicle").transformWithState(WindowsInRows(), schema, "Append", "None")
    given.write(found.withColumn("end", F.timestamp_micros("micros")))


# ---------------------------------------------------------------- join


def join_native(settings: dict[str, str]) -> Program:
    """Spark's join of two streams, with watermarks and a range of time that bound its state."""

    def run(given: Given) -> None:
        session = given.session(settings)
        speed, heat = (
            given.read(session, name).withWatermark("timestamp", "1 second").alias(name[0])
            for name in ("speed", "heat")
        )
        near = "interval 5 milliseconds"
        condition = F.expr(
            "s.vehicle = h.vehicle AND s.wheel = h.wheel AND h.timestamp BETWEEN "
            f"s.timestamp - {near} AND s.timestamp + {near}"
        )
        moment = F.least("s.timestamp", "h.timestamp").alias("timestamp")
        pairs = speed.join(heat, condition)
        given.write(pairs.select("s.vehicle", moment, "s.wheel", "v", "celsius"))

    return run


def join_carried(given: Given) -> None:
    """``foreachBatch``: a batch join of the new rows with each other and with those of the last
    second, which each micro-batch leaves for the next; time is cut into slices."""
    session = given.session({})
    both = _tagged(given.read(session, "speed"), "v", "celsius").unionByName(
        _tagged(given.read(session, "heat"), "celsius", "v")
    )
    carried = given.scratch / "carried"

    def on_batch(batch: DataFrame, number: int) -> None:
        new = batch.persist()
        try:
            rows = new.withColumn("new", F.lit(True))
            if number:
                before = batch.sparkSession.read.parquet(str(carried / str(number - 1)))
                rows = rows.unionByName(before.withColumn("new", F.lit(False)))
            left, right = rows.where("celsius IS NULL"), rows.where("v IS NULL")
            left = left.selectExpr(
                "vehicle", "wheel", "v", "t", "new", f"t div {SLICE_US} AS slice"
            )
            first, last = (f"(t {sign} {REACH_US}) div {SLICE_US}" for sign in "-+")
            near = F.expr(f"explode(sequence({first}, {last}))")
            right = right.select(
                "vehicle", "wheel", "celsius", F.col("t").alias("u"), F.col("new").alias("fresh"),
                near.alias("slice"),
            )  # fmt: skip
            pairs = left.join(right, ["vehicle", "wheel", "slice"]).where(
                f"abs(t - u) <= {REACH_US} AND (new OR fresh)"
            )
            moment = F.timestamp_micros(F.least("t", "u")).alias("timestamp")
            out = given.scratch / "out.parquet" / f"batch={number}"
            pairs.select("vehicle", moment, "wheel", "v", "celsius").write.mode(
                "overwrite"
            ).parquet(str(out))
            (newest,) = new.agg(F.max("t")).first() or (0,)
            kept = rows.drop("new").where(f"t >= {(newest or 0) - CARRIED_US}")
            kept.write.mode("overwrite").parquet(str(carried / str(number)))
        finally:
            new.unpersist()

    given.finish(both.writeStream.foreachBatch(on_batch))


def _tagged(data: DataFrame, value: str, other: str) -> DataFrame:
    micros = F.unix_micros("timestamp").alias("t")
    missing = F.lit(None).cast("double").alias(other)
    return data.select("vehicle", "wheel", micros, value, missing)


# ---------------------------------------------------------------- fusion

_FILTER = "t double, x double, y double, vx double, vy double, p double, q double"
_ESTIMATES = "vehicle string, micros bigint, x double, y double, vx double, vy double"


class FilterInPandas(StatefulProcessor):
    """A Kalman filter with one variance for both axes; a fix and its speed come together."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("filter", _FILTER)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Any:  # noqa: N802, N803
        data = pd.concat(list(rows))
        fixes = data[data["x"].notna()].set_index("micros").sort_index()
        paces = data[data["x"].isna()].set_index("micros")["v"]
        state = tuple(self._state.get()) if self._state.exists() else None
        found = []
        for fix in fixes.itertuples():
            speed = paces.get(fix.Index)
            state = _filtered(state, fix.Index / 1e6, fix.x, fix.y, fix.heading, speed)
            found.append((key[0], int(fix.Index), *state[1:5]))
        if state is not None:
            self._state.update(state)
        if found:
            yield pd.DataFrame(found, columns=["vehicle", "micros", "x", "y", "vx", "vy"])

    def close(self) -> None:
        pass


def _filtered(state: Any, t: float, x: float, y: float, heading: float, speed: Any) -> Any:
    if state is None:
        v = 0.0 if speed is None else float(speed)
        return (t, float(x), float(y), v * cos(heading), v * sin(heading), 9.0, 1.0)
    before, px, py, vx, vy, p, q = state
    step = t - before
    px, py, p, q = px + vx * step, py + vy * step, p + q * step * step, q + step
    gain = p / (p + 9.0)
    px, py, p = px + gain * (x - px), py + gain * (y - py), (1 - gain) * p
    if speed is not None:
        gain = q / (q + 0.04)
        slow = hypot(vx, vy) or 1.0
        vx += gain * (float(speed) * vx / slow - vx)
        vy += gain * (float(speed) * vy / slow - vy)
        q *= 1 - gain
    return (t, float(px), float(py), float(vx), float(vy), float(p), float(q))


def fusion_in_pandas(given: Given) -> None:
    session = given.session(ROCKSDB)
    micros = F.unix_micros("timestamp").alias("micros")
    missing = [F.lit(None).cast("float").alias(name) for name in ("x", "y", "heading", "v")]
    fixes = given.read(session, "gps", "fix").select(
        "vehicle", micros, "x", "y", "heading", missing[3]
    )
    paces = given.read(session, "speed", "pace").select("vehicle", micros, *missing[:3], "v")
    grouped = fixes.unionByName(paces).groupBy("vehicle")
    found = grouped.transformWithStateInPandas(FilterInPandas(), _ESTIMATES, "Append", "None")
    given.write(found.withColumn("timestamp", F.timestamp_micros("micros")))


# ---------------------------------------------------------------- all


@dataclass(frozen=True)
class Peer:
    """``slow``: so slow that it gets the first files only."""

    name: str
    run: Program
    slow: bool = False


PEERS: dict[str, list[Peer]] = {
    "map": [Peer("Spark's own", map_native)],
    "window": [
        Peer("Spark's own", window_native({})),
        Peer("Spark's own, RocksDB", window_native(ROCKSDB)),
        Peer("transformWithStateInPandas", window_in_pandas, slow=True),
        Peer("transformWithState", window_in_rows, slow=True),
    ],
    "join": [
        Peer("Spark's own", join_native({})),
        Peer(
            "Spark's own, RocksDB",
            join_native({**ROCKSDB, "spark.sql.streaming.join.stateFormatVersion": "3"}),
        ),
        Peer("foreachBatch, carried rows", join_carried),
    ],
    "fusion": [Peer("transformWithStateInPandas", fusion_in_pandas, slow=True)],
    "collision": [],
}
