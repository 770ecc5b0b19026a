"""ROP-EDF in the vehicle engine: hard outputs keep their deadlines, soft tuples are shed."""

from __future__ import annotations

import pytest
from tests.cli.invoke import STUDY

from headway.compile import compile_query
from headway.errors import InputError
from headway.files import load_query, load_vehicle, parse_query
from headway.model.plan import Plan
from headway.model.time import MICROSECOND, MILLISECOND, SECOND
from headway.model.vehicle import Node, Vehicle
from headway.runtime.engine import Engine, RunResult
from headway.runtime.kernel import Arrival
from headway.sources.recordings import read_recording
from headway.sources.scan import scan_recording

CROSSING = """query: crossing
schemas:
  A: {v: double}
sources:
  radar: {schema: A, rate: 1 per 20 ms}
  v2v: {schema: A, rate: 500 per 1 s}
operators:
  distance: {map: {v: v}, from: radar, cost: 5 ms}
  others: {map: {v: v}, from: v2v, cost: 1 ms}
outputs:
  brake: {from: distance, deadline: 20 ms, criticality: hard}
  show: {from: others, deadline: 15 ms, criticality: soft}
"""


def plan() -> Plan:
    node = Node(name="ecu")
    sensors = (("radar", "ecu"), ("v2v", "ecu"))
    return compile_query(
        parse_query(CROSSING).query, Vehicle(name="one", nodes=(node,), sensors=sensors)
    )


def run(policy: str, every: int, length: int = SECOND) -> RunResult:
    """V2V tuples come ``every`` so many ns: 1 ms is 125 % with the radar, 0.5 ms is 225 %."""
    radar = [(t, "radar") for t in range(0, length, 20 * MILLISECOND)]
    v2v = [(t, "v2v") for t in range(0, length, every)]
    arrivals = [Arrival(t, name, (t // 1000, 1.0)) for t, name in sorted(radar + v2v)]
    return Engine(plan=plan(), policy=policy).run(arrivals)


def misses(result: RunResult) -> dict[str, int]:
    return {output.output: output.misses for output in result.summary().outputs}


@pytest.mark.parametrize("every", [2 * MILLISECOND, MILLISECOND, MILLISECOND // 2])
def test_the_hard_output_never_misses(every: int) -> None:
    result = run("rop-edf", every)
    summary = result.summary()
    assert misses(result) == {"brake": 0, "show": 0}  # what is admitted is in time
    assert {one.output: one.tuples for one in summary.outputs}["brake"] == 50
    assert (summary.shed > 0) == (every < 2 * MILLISECOND)


def test_without_reservations_it_does() -> None:
    assert misses(run("s-edf", MILLISECOND // 2))["brake"] > 40
    assert misses(run("op-edf", MILLISECOND // 2))["brake"] > 40


def test_policies_of_task_sets_alone_are_refused() -> None:
    with pytest.raises(InputError, match="the engine does not run 'cbs'; it is for task sets"):
        Engine(plan=plan(), policy="cbs")


def collision_warning(policy: str, times: int) -> tuple[RunResult, int]:
    """The example's recording with every V2V tuple ``times`` over, and how many V2V tuples."""
    query = load_query(STUDY / "query.yaml").query
    compiled = compile_query(query, load_vehicle(STUDY / "vehicle_modern.yaml").vehicle)
    arrivals: list[Arrival] = []
    v2v = 0
    vehicle = scan_recording(STUDY / "recording", compiled.query.sources).vehicles[0]
    for time, source, row, _ in read_recording(
        STUDY / "recording", compiled.query.sources, vehicle
    ):
        copies = times if source == "v2v" else 1
        v2v += copies * (source == "v2v")
        arrivals += [Arrival(time * MICROSECOND, source, row)] * copies
    return Engine(plan=compiled, policy=policy, keep_trace=False).run(arrivals), v2v


@pytest.mark.parametrize("times", [1, 2])
def test_the_collision_warning_keeps_output1_and_output2(times: int) -> None:
    result, v2v = collision_warning("rop-edf", times)
    outputs = {one.output: one for one in result.summary().outputs}
    assert v2v > 100 * times
    assert all(outputs[name].tuples > 0 for name in ("output1", "output2"))
    assert [outputs[name].misses for name in ("output1", "output2")] == [0, 0]
