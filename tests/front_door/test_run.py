"""``hw.run`` in the engine of the car: every form of data, what it gives, and what it refuses."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pytest
from tests.cli.running import headway

import headway as hw
from headway.errors import DataError, EnvironmentMissing
from headway.sources.recordings import read_recording
from headway.testing import BEGIN, ListSink, ListSource, ManualClock

EXAMPLES = Path(__file__).parents[2] / "examples"
HELLO = EXAMPLES / "hello"
SPEEDS = [31.0, 29.0, 33.5, 30.0, 45.0]
FAST_KMH = [v * 3.6 for v in SPEEDS if v > 30]
TIMES = [BEGIN + 10_000 * number for number in range(len(SPEEDS))]


@pytest.fixture
def plan() -> hw.CompiledQuery:
    return hw.compile(HELLO / "query.yaml", HELLO / "vehicle.yaml")


def of_types() -> hw.QueryBuilder:
    """One source with a column of every type, and an output that shows them all."""
    q = hw.QueryBuilder("types")
    columns = {"b": "boolean", "i": "int", "n": "bigint", "f": "float", "d": "double",
               "s": "string(5)", "t": "timestamp"}  # fmt: skip
    stream = q.source("s", columns, rate="1 per 10 ms")
    q.output("out", stream.filter("all_", "true"), deadline="1 s")
    return q


def values(result: hw.QueryResult, output: str = "alarm", column: str = "v") -> list[Any]:
    found: list[Any] = result.tables[output].column(column).to_pylist()
    return found


# -------------------------------------------------------------------- forms of data


def forms() -> dict[str, Any]:
    times = pd.to_datetime(TIMES, unit="us")
    frame = pd.DataFrame({"timestamp": times, "v": SPEEDS})
    arrow = pa.table({"timestamp": pa.array(TIMES, pa.int64()), "v": SPEEDS})
    aware = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(milliseconds=10 * n) for n in range(5)]
    return {
        "pandas": frame,
        "pandas, zone": frame.assign(timestamp=times.tz_localize("UTC")),
        "pandas, index": frame.set_index("timestamp"),
        "pandas, other columns": frame.assign(note=[None, 1, "a", 2.5, b"x"])[["timestamp", "v"]],
        "pandas, out of order": frame.iloc[::-1],
        "pandas, narrower": frame.astype({"v": "float32"}),
        "Arrow": arrow,
        "Arrow, in pieces": pa.concat_tables([arrow.slice(0, 2), arrow.slice(2)]),
        "Arrow, a batch": arrow.to_batches()[0],
        "Arrow, seconds": pa.table(
            {"timestamp": pa.array(TIMES, pa.timestamp("us")).cast(pa.timestamp("ns")), "v": SPEEDS}
        ),
        "mappings": [{"timestamp": t, "v": v} for t, v in zip(TIMES, SPEEDS, strict=True)],
        "tuples": list(zip(TIMES, SPEEDS, strict=True)),
        "datetimes": list(zip(aware, SPEEDS, strict=True)),
        "ISO times": [(t.isoformat(), v) for t, v in zip(aware, SPEEDS, strict=True)],
        "numpy's values": [
            (np.int64(t), np.float64(v)) for t, v in zip(TIMES, SPEEDS, strict=True)
        ],
        "a generator": ((t, v) for t, v in zip(TIMES, SPEEDS, strict=True)),
        "ListSource": ListSource([{"v": v} for v in SPEEDS]),
    }


@pytest.mark.parametrize("form", list(forms()))
def test_every_form_of_data_gives_the_same(plan: hw.CompiledQuery, form: str) -> None:
    result = hw.run(plan, {"speed": forms()[form]})
    assert values(result) == pytest.approx(FAST_KMH)
    seen = result.tables["alarm"].column("timestamp").cast(pa.int64()).to_pylist()
    assert seen == [t for t, v in zip(TIMES, SPEEDS, strict=True) if v > 30]


def test_a_folder_gives_what_the_command_writes(tmp_path: Path) -> None:
    """The same tables and the same numbers."""
    import pyarrow.parquet as pq

    example = EXAMPLES / "tyre_watch"
    files = {"--vehicle": example / "vehicle.yaml", "--input": example / "recording"}
    arguments = [part for pair in files.items() for part in pair]
    done = headway("run", example / "query.yaml", "--engine", "vehicle", *arguments, "--output",
                   tmp_path / "out", "--trace")  # fmt: skip
    assert done.exit_code == 0, done.output
    result = hw.run(
        example / "query.yaml", example / "recording", vehicle=example / "vehicle.yaml", trace=True
    )
    assert set(result.tables) == {output.name for output in result.plan.query.outputs}
    for name, table in {**result.tables, **result.side_tables, "trace": result.trace}.items():
        written = pq.read_table(tmp_path / "out" / f"{name}.parquet")
        assert table.to_pylist() == written.to_pylist(), name
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert result.summary.miss_ratio == summary["miss_ratio"]
    assert [one.latency_max for one in result.summary.outputs] == [
        one["latency_max_ns"] for one in summary["outputs"]
    ]


def test_tables_of_a_recording_give_what_its_folder_gives() -> None:
    example = EXAMPLES / "tyre_watch"
    plan = hw.compile(example / "query.yaml", example / "vehicle.yaml")
    sources = plan.plan.query.sources
    rows: dict[str, list[dict[str, object]]] = {source.name: [] for source in sources}
    names = {source.name: [field.name for field in source.schema.columns] for source in sources}
    for at, source, row, vehicle in read_recording(example / "recording", sources):
        told = dict(zip(names[source], row, strict=True))
        rows[source].append({**told, "arrived_at": at, "vehicle": vehicle})
    of_folder, of_rows = hw.run(plan, example / "recording"), hw.run(plan, rows)
    for name in of_folder.tables:
        assert of_rows.tables[name].equals(of_folder.tables[name])
    assert of_rows.summary == of_folder.summary


def test_columns_of_every_type_as_pandas_has_them() -> None:
    """pandas' integers are wide, and floats where one is missing."""
    moment = pd.Timestamp("2026-01-01")
    frame = pd.DataFrame(
        {
            "timestamp": [moment, moment + pd.Timedelta("10ms")],
            "b": [True, False],
            "i": [1, None],
            "n": [2**40, 7],
            "f": [0.5, 1.5],
            "d": [1, 2],
            "s": ["a", None],
            "t": [moment, None],
        }
    )
    result = hw.run(of_types(), {"s": frame.astype({"s": "category"})})
    first, second = result.tables["out"].to_pylist()
    named = [first[name] for name in "bindfs"]
    assert named == [True, 1, 2**40, 1.0, 0.5, "a"]
    assert [type(value) for value in named] == [bool, int, int, float, float, str]
    assert first["t"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert (second["i"], second["s"], second["t"]) == (None, None, None)


def test_each_vehicle_of_a_fleet_has_its_own_engine(plan: hw.CompiledQuery) -> None:
    rows = [
        *ListSource([{"v": 50.0}, {"v": 10.0}], vehicle="b"),
        *ListSource([{"v": 40.0}], vehicle="a"),
    ]
    result = hw.run(plan, {"speed": rows})
    assert result.tables["alarm"].column("vehicle").to_pylist() == ["a", "b"]
    assert values(result) == [144.0, 180.0]
    assert result.summary.outputs[0].tuples == 2


# -------------------------------------------------------------------- what it gives


def test_outputs_are_dataframes(plan: hw.CompiledQuery) -> None:
    result = hw.run(plan, {"speed": ListSource([{"v": v} for v in SPEEDS])})
    alarm = result.outputs["alarm"]
    assert isinstance(alarm, pd.DataFrame)
    assert list(alarm.columns) == ["timestamp", "v", "deadline", "completed", "latency", "missed"]
    assert alarm["v"].tolist() == pytest.approx(FAST_KMH)
    assert alarm["latency"].tolist() == [70_000] * 3  # 50 us + 20 us: nothing delays these tuples
    assert alarm is result.outputs["alarm"]
    (output,) = result.summary.outputs
    assert (output.tuples, output.misses, output.latency_max) == (3, 0, 70_000)


def test_what_left_its_way_is_in_side() -> None:
    q = hw.QueryBuilder("counting")
    speed = q.source("speed", {"v": "double", "name": "string(3)"}, rate="1 per 10 ms")
    counted = speed.aggregate("counted", {"n": "count(*)"}, window="20 ms")
    q.output("out", counted, deadline="1 s")
    rows = [
        {"timestamp": BEGIN, "v": 1.0, "name": "a"},
        {"timestamp": BEGIN + 100_000, "v": 1.0, "name": "a"},
        {"timestamp": BEGIN + 1, "arrived_at": BEGIN + 110_000, "v": 2.0, "name": "a"},
        {"timestamp": BEGIN + 120_000, "v": 3.0, "name": "too long"},
    ]
    result = hw.run(q, {"speed": rows})
    counts = {kind: len(frame) for kind, frame in result.side.items()}
    assert counts == {"late": 1, "failed": 0, "rejected": 1, "shed": 0}
    assert json.loads(result.side["late"]["row"][0])["v"] == 2.0
    assert result.side["rejected"]["where"].tolist() == ["speed"]


def test_a_missed_deadline_is_no_error() -> None:
    q = hw.QueryBuilder("slow")
    speed = q.source("speed", {"v": "double"}, rate="1 per 10 ms")
    q.output("out", speed.filter("f", "v > 0", cost="9 ms"), deadline="5 ms")
    result = hw.run(
        q, {"speed": ListSource([{"v": 1.0}] * 3)}, vehicle=hw.VehicleBuilder("car").node("ecu")
    )
    assert result.summary.outputs[0].misses == 3
    assert result.outputs["out"]["missed"].all()
    assert hw.run(q, {"speed": ListSource([{"v": 1.0}])}, zero_cost=True).summary.miss_ratio == 0


def test_what_was_not_asked_for_is_noted() -> None:
    rows = ListSource([{"v": 31.0}])
    noted = hw.run(HELLO / "query.yaml", {"speed": rows}).note
    assert noted == "no vehicle: declared costs on one node of rate 1 (zero_cost=True: none)"
    assert not hw.run(HELLO / "query.yaml", {"speed": rows}, zero_cost=True).note


def test_a_notebook_shows_the_outputs(plan: hw.CompiledQuery) -> None:
    result = hw.run(plan, {"speed": ListSource([{"v": v} for v in SPEEDS])})
    assert repr(result) == "<QueryResult of hello on the vehicle engine: alarm 3 tuples>"
    shown = result._repr_html_()
    assert ">alarm</td>" in shown
    assert "No deadline was missed." in shown


def test_an_output_that_there_is_not(plan: hw.CompiledQuery) -> None:
    result = hw.run(plan, {"speed": ListSource([{"v": 31.0}])})
    assert "nope" not in result.outputs
    with pytest.raises(KeyError, match="there is no output 'nope'; there are: alarm"):
        result.outputs["nope"]


def test_without_pandas_there_are_arrow_tables(
    plan: hw.CompiledQuery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.front_door.query_result.find_spec", lambda name: None)
    result = hw.run(plan, {"speed": [(BEGIN, 31.0)]})
    with pytest.raises(EnvironmentMissing) as caught:
        result.outputs["alarm"]
    assert str(caught.value) == (
        f"Results as DataFrames need pandas, not installed for {sys.executable}. Use result.tables "
        "and result.side_tables (Arrow), or install it with: pip install 'headway[spark]'"
    )
    assert result.tables["alarm"].num_rows == 1


# -------------------------------------------------------------------- policies, clocks, sinks


def test_policies_are_those_of_the_engine(plan: hw.CompiledQuery) -> None:
    data = {"speed": ListSource([{"v": v} for v in SPEEDS])}
    assert values(hw.run(plan, data, policy="fifo+")) == values(hw.run(plan, data))
    with pytest.raises(hw.InputError, match=r"^unknown policy 'nope'; one of s-edf, "):
        hw.run(plan, data, policy="nope")


@pytest.mark.parametrize("clock", ["virtual", "manual"])
def test_sinks_take_tuples_as_they_come(plan: hw.CompiledQuery, clock: str) -> None:
    sink = ListSink()
    data = {"speed": ListSource([{"v": v} for v in SPEEDS], delay="1 ms")}
    given = ManualClock() if clock == "manual" else "virtual"
    result = hw.run(plan, data, clock=given, sinks={"alarm": sink})  # type: ignore[arg-type]
    assert [row[1] for row in sink.rows] == values(result)
    assert (len(sink), sink.missed) == (3, 0)
    costs = 0 if clock == "manual" else 70_000  # a manual clock stands still while operators run
    assert [one.latency for one in sink.tuples] == [1_000_000 + costs] * 3


@pytest.mark.parametrize("clock", ["virtual", "manual"])
def test_what_a_sink_raises_comes_out(plan: hw.CompiledQuery, clock: str) -> None:
    def fail(given: object) -> None:
        raise ZeroDivisionError("by the sink")

    given = ManualClock() if clock == "manual" else "virtual"
    with pytest.raises(ZeroDivisionError, match="by the sink"):
        hw.run(plan, {"speed": [(BEGIN, 31.0)]}, clock=given, sinks={"alarm": fail})  # type: ignore[arg-type]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "speed": ({"speed": 2.0}, "speed is for clock='wall'; virtual time is as fast as it can be"),
    "no speed": (
        {"speed": 0.0, "clock": ManualClock()},
        "speed must be more than nothing; got 0.0",
    ),
    "zero cost": (
        {"zero_cost": True, "clock": ManualClock()},
        "zero_cost is for virtual time; leave out clock=",
    ),
    "clock": (
        {"clock": "lunar"},
        "there is no such clock; got 'lunar'; 'virtual', 'wall' or a clock",
    ),
    "engine": (
        {"engine": "steam"},
        "engine: there is no such engine; got 'steam'; vehicle, native or spark",
    ),
    "sinks": (
        {"sinks": {"nope": ListSink()}},
        "sinks: there is no output 'nope'; the outputs are alarm",
    ),
    "spark": ({"spark": object()}, "spark= is a session for engine='spark'; leave it out"),
    "policy": (
        {"engine": "spark", "policy": "fifo+"},
        "policy= belongs to engine='vehicle'; leave it out, or choose that engine",
    ),
    "vehicle": (
        {"vehicle": HELLO / "vehicle.yaml"},
        "vehicle: a plan is for a vehicle already; "
        "leave out vehicle=, or give the query instead of the plan",
    ),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_options_that_do_not_go_together(plan: hw.CompiledQuery, case: str) -> None:
    options, told = REFUSED[case]
    with pytest.raises(hw.InputError) as caught:
        hw.run(plan, {"speed": [(BEGIN, 31.0)]}, **options)
    assert str(caught.value) == told


# -------------------------------------------------------------------- data that is wrong

GIVE = "give a pandas, Polars or Arrow table, or a list of rows"
WRONG: dict[str, tuple[Any, list[str]]] = {
    "another source": (
        {"sped": []},
        [
            "data: there is no source 'sped'; did you mean 'speed'? the query's are speed",
            f"data: no data for source 'speed'; got data for sped; {GIVE}",
        ],
    ),
    "nothing": ({}, [f"data: no data for source 'speed'; got data for none; {GIVE}"]),
    "no rows": ({"speed": []}, ["data: there is nothing to run; got only empty tables: speed"]),
    "no table": ({"speed": 3}, [f"data['speed']: this is no table; got int; {GIVE}"]),
    "no data": (
        3,
        ["data: this is no data; got int; a folder, or a mapping from each source to its table"],
    ),
    "a missing column": (
        {"speed": pd.DataFrame({"timestamp": TIMES, "w": SPEEDS})},
        ["data['speed']: no column 'v'; got the columns timestamp, w; want double [m/s]"],
    ),
    "no timestamp": (
        {"speed": [{"v": 3.0}]},
        ["data['speed']: no column 'timestamp'; got the columns v; want timestamp"],
    ),
    "a wrong type": (
        {"speed": pd.DataFrame({"timestamp": TIMES, "v": list("abcde")})},
        ["data['speed']: v: a column has the wrong type; got string; want double [m/s]"],
    ),
    "a wrong value": (
        {"speed": [(BEGIN, 31.0), (BEGIN, "fast")]},
        ["data['speed']:2: v: not a value of its column; got 'fast'; want double [m/s]"],
    ),
    "too many values": (
        {"speed": [(BEGIN, 31.0, 1)]},
        [
            "data['speed']:1: a row has another number of values than its source has columns; "
            "got 3 values; want (timestamp, v)"
        ],
    ),
    "no row": (
        {"speed": [31.0]},
        [
            "data['speed']:1: this is no row; got float; "
            "a mapping, or a tuple of the timestamp and the fields"
        ],
    ),
    "no time of arrival": (
        {"speed": [(None, 31.0)]},
        [
            "data['speed']:1: arrived_at: a tuple without a time of arrival; got NULL; "
            "without the column 'arrived_at' every tuple needs its 'timestamp'"
        ],
    ),
    "a time too far": (
        {"speed": [(1 << 62, 31.0)]},
        [
            "data['speed']:1: arrived_at: a time beyond the engine's clock; "
            "got 4611686018427387904 (microseconds); a time between the years 1828 and 2112"
        ],
    ),
    "one without a vehicle": (
        {
            "speed": [
                {"timestamp": BEGIN, "v": 1.0, "vehicle": "a"},
                {"timestamp": BEGIN, "v": 1.0, "vehicle": None},
            ]
        },
        [
            "data['speed']:2: vehicle: a tuple without a vehicle, in a recording with vehicles; "
            "give every tuple of every file its 'vehicle', or none"
        ],
    ),
}


@pytest.mark.parametrize("case", list(WRONG))
def test_data_that_is_wrong(plan: hw.CompiledQuery, case: str) -> None:
    data, told = WRONG[case]
    with pytest.raises(DataError) as caught:
        hw.run(plan, data)
    assert [str(problem) for problem in caught.value.problems] == told


def test_values_that_do_not_fit_are_named() -> None:
    at = pd.to_datetime([BEGIN], unit="us")
    good = {"b": [True], "i": [1], "n": [1], "f": [1.0], "d": [1.0], "s": ["a"], "t": at}
    for column, value in {"i": 2**31, "n": 1.5}.items():
        frame = pd.DataFrame({"timestamp": at, **good, column: [value]})
        with pytest.raises(DataError) as caught:
            hw.run(of_types(), {"s": frame})
        (problem,) = caught.value.problems
        assert problem.what.startswith("a value does not fit its column: ")
        assert (str(problem.place), problem.at) == ("data['s']", column)
    mixed = pd.DataFrame({"timestamp": [BEGIN, BEGIN], "v": [1.0, "x"]})
    with pytest.raises(
        DataError, match=r"data\['speed'\]: cannot be made an Arrow table: .* column v with"
    ):
        hw.run(HELLO / "query.yaml", {"speed": mixed})


def test_a_folder_that_there_is_not(plan: hw.CompiledQuery, tmp_path: Path) -> None:
    with pytest.raises(hw.InputError, match="there is no such folder"):
        hw.run(plan, tmp_path / "nope")


# -------------------------------------------------------------------- for users' tests


def test_a_list_source_gives_times() -> None:
    given = [{"v": 1.0}, {"timestamp": 5, "v": 2.0}]
    rows = ListSource(given, every="20 ms", begin=0, delay="1 ms", vehicle="a")
    assert list(rows) == [
        {"timestamp": 0, "v": 1.0, "arrived_at": 1000, "vehicle": "a"},
        {"timestamp": 5, "v": 2.0, "arrived_at": 1005, "vehicle": "a"},
    ]
    assert ListSource([{}, {}, {}], every="20 ms", begin=7)[-1] == {"timestamp": 40_007}
    with pytest.raises(DataError, match="every: 'soon' is not a duration"):
        ListSource([], every="soon")
    with pytest.raises(DataError, match=r"rows\[0\].timestamp: not a time; got 'now'"):
        ListSource([{"timestamp": "now"}], delay="1 ms")


def test_a_manual_clock_makes_waiting_instant(plan: hw.CompiledQuery) -> None:
    """An hour of driving in wall-clock time, by a clock that jumps to the next tuple."""
    clock = ManualClock()
    rows = ListSource([{"v": 31.0}, {"v": 32.0}], every="1 h")
    result = hw.run(plan, {"speed": rows}, clock=clock)
    assert values(result) == [31.0 * 3.6, 32.0 * 3.6]
    assert clock.now() == 3600 * 10**9
