"""Amalthea models: what becomes of them, what is told to be left out, what is refused."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from tests.cli.invoke import headway

from headway.compiler import compile_query
from headway.compiler.read_plan import read_plan
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.errors import FileError
from headway.files import amalthea_tree
from headway.files.amalthea_import import ImportedModel, activations, import_model
from headway.files.amalthea_tree import parse_tree
from headway.model.graph import graph_of
from headway.model.operators import Sample
from headway.model.quantities import MICROSECOND, MILLISECOND, Cost

MS = MILLISECOND
EXAMPLE = Path(__file__).parents[2] / "examples" / "engine_control" / "model.amxmi"
HEAD = (
    '<am:Amalthea xmlns:am="http://app4mc.eclipse.org/amalthea/0.7.2" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">'
)
OLD = f"""<?xml version="1.0" encoding="UTF-8"?>
{HEAD}
  <swModel>
    <tasks name="Task 1" stimuli="often?type=Periodic" priority="3">
      <callGraph><graphEntries xsi:type="am:CallSequence" name="CS">
        <calls xsi:type="am:TaskRunnableCall" runnable="R+1?type=Runnable"/>
        <calls xsi:type="am:TaskRunnableCall" runnable="R2?type=Runnable"/>
      </graphEntries></callGraph>
    </tasks>
    <isrs name="ISR_1" stimuli="burst?type=SporadicStimulus">
      <callGraph><graphEntries xsi:type="am:CallSequence">
        <calls xsi:type="am:TaskRunnableCall" runnable="R3?type=Runnable"/>
      </graphEntries></callGraph>
    </isrs>
    <tasks name="Task-1" stimuli="often?type=Periodic">
      <callGraph><graphEntries xsi:type="am:ModeSwitch"/></callGraph>
    </tasks>
    <tasks name="Unbound"/>
    <runnables name="R 1">
      <runnableItems xsi:type="am:LabelAccess" data="L?type=Label" access="read"/>
      <runnableItems xsi:type="am:RunnableInstructions">
        <default xsi:type="am:InstructionsDeviation"><deviation>
          <lowerBound xsi:type="am:LongObject" value="1000"/>
          <upperBound xsi:type="am:LongObject" value="4001"/>
          <distribution xsi:type="am:WeibullEstimators" pRemainPromille="0.5">
            <mean xsi:type="am:LongObject" value="1500"/></distribution>
        </deviation></default>
      </runnableItems>
    </runnables>
    <runnables name="R2">
      <runnableItems xsi:type="am:RunnableInstructions">
        <default xsi:type="am:InstructionsConstant" value="2000"/>
      </runnableItems>
    </runnables>
    <runnables name="R3">
      <runnableItems xsi:type="am:LabelAccess" data="L?type=Label" access="write"/>
      <runnableItems xsi:type="am:RunnableInstructions">
        <default xsi:type="am:InstructionsGauss"><deviation/></default>
      </runnableItems>
    </runnables>
    <labels name="L"/>
  </swModel>
  <hwModel>
    <coreTypes name="TriCore" instructionsPerCycle="2.0"/>
    <system name="s"><ecus name="e"><microcontrollers name="m">
      <quartzes name="q"><frequency value="400.0" unit="MHz"/></quartzes>
      <cores name="CORE0" coreType="TriCore?type=CoreType">
        <prescaler name="p" clockRatio="0.5" quartz="q?type=Quartz"/></cores>
      <cores name="CORE1" coreType="TriCore?type=CoreType"/>
    </microcontrollers></ecus></system>
  </hwModel>
  <stimuliModel>
    <stimuli xsi:type="am:PeriodicStimulus" name="often">
      <recurrence value="5" unit="ms"/></stimuli>
    <stimuli xsi:type="am:SporadicStimulus" name="burst"><stimulusDeviation>
      <lowerBound value="700" unit="us"/><upperBound value="800" unit="us"/>
    </stimulusDeviation></stimuli>
  </stimuliModel>
  <mappingModel>
    <taskAllocation task="Task+1?type=Task" scheduler="S?type=TaskScheduler"/>
    <coreAllocation scheduler="S?type=TaskScheduler" core="CORE0?type=Core"/>
  </mappingModel>
</am:Amalthea>
"""


def imported(text: str, folder: Path) -> ImportedModel:
    path = folder / "old.amxmi"
    path.write_text(text, encoding="utf-8")
    return import_model(path)


def test_the_example_by_hand() -> None:
    found = import_model(EXAMPLE)
    operators = {one.name: one for one in found.query.operators}
    # 28,000 to 64,000 cycles at 300 MHz; on the accelerator 2 to 3.8 million at 1 GHz.
    assert operators["Task_2ms"].cost == Cost(213_334, best=93_333)
    assert operators["Detection"].cost == Cost(3_800_000, best=2_000_000)
    assert operators["Detection"].streams == ("Camera_33ms",)
    brake = operators["Brake_10ms_reads"]
    assert isinstance(brake, Sample)
    assert (brake.every, brake.offset) == (10 * MS, 3 * MS)
    assert brake.holds == (("Detection", 66 * MS), ("Task_2ms", 10 * MS))
    assert brake.streams == ("Detection", "Task_2ms")
    outputs = {one.name: one for one in found.query.outputs}
    chain = outputs["chain_camera_to_brake"]
    assert (chain.age, chain.reaction) == (120 * MS, 150 * MS)
    assert chain.through == ("Camera_33ms", "Detection", "Brake_10ms_reads", "Brake_10ms")
    # 33 ms of the camera's, 33 of the detection's, 66 held, and 8 that are required of it.
    assert outputs["Brake_10ms"].deadline == 140 * MS
    assert [node.core_kind for node in found.vehicle.nodes] == ["TriCore", "TriCore", "GPU"]
    assert dict(found.vehicle.pins)["Detection"] == "Accelerator"
    assert found.left_out == (
        "the read of fuel, ignition from Task_10ms to Task_20ms would close a cycle",
        "Angle_sync reads fuel of Task_10ms when an event comes, not by a clock",
    )
    assert [what for what, _, _ in found.unused] == ["modes", "modules (Memory)", "osModel"]


def test_the_example_compiles_and_no_run_is_beyond_its_bounds() -> None:
    found = import_model(EXAMPLE)
    plan = compile_query(found.query, found.vehicle)
    assert plan.verdict is not None
    assert plan.verdict.safe
    arrivals = sorted(
        Arrival(time * MICROSECOND, source, (time, number))
        for source, times in activations(found, Decimal(1))
        for number, time in enumerate(times)
    )
    result = Engine(plan=plan, keep_trace=False).run(arrivals)
    assert len(result.chains) == len(plan.verdict.chains) == 12
    for chain, seen in zip(plan.verdict.chains, result.chains, strict=True):
        for bound, time in ((chain.age, seen.age), (chain.reaction, seen.reaction)):
            assert bound.bound is not None
            assert time is not None
            assert 0.2 * bound.bound < time <= bound.bound
    bounds = {promise.output: promise.bound for promise in plan.verdict.promises}
    for output in result.summary().outputs:
        bound_of = bounds[output.output]
        assert bound_of is not None
        assert 0 < output.latency_max <= bound_of


def test_the_words_of_an_older_version(tmp_path: Path) -> None:
    found = imported(OLD, tmp_path)
    operators = graph_of(found.query).operators
    # 3,000 to 6,001 instructions, 2 a cycle, at half of 400 MHz: 2.5 ns each.
    assert operators["Task_1"].cost == Cost(15_003, best=7_500)
    assert [one.name for one in found.vehicle.nodes] == ["CORE0"]
    sources = {one.name: one for one in found.query.sources}
    isr = sources["ISR_1_due"]
    assert isr.rate is not None
    assert (isr.rate.period, isr.gap) == (700_000, 800_000)
    assert operators["Task_1_reads"].streams == ("ISR_1",)
    assert "Task_1_2" in operators, "two names that become one are told apart"
    said = "\n".join(found.left_out)
    assert "core CORE1 has no frequency" in said
    assert "an execution need of runnable R3 has no upper bound" in said
    assert "task Unbound has no stimulus" in said
    assert "task ISR_1 is on no core" in said
    assert [what for what, _, _ in found.unused] == [
        "cores",
        "graphEntries (ModeSwitch)",
        "runnableItems (RunnableInstructions)",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "b">]><a>&b;</a>',
            "declares a document type",
        ),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "declares a document type"),
        (f"{HEAD}<swModel></am:Amalthea>", "not XML: mismatched tag"),
        ("", "not XML: no element found"),
        ("<html/>", "not an Amalthea model"),
        (f"{HEAD}</am:Amalthea>", "the model has no task"),
        (
            OLD.replace("<tasks", "<task").replace("</tasks", "</task").replace("isrs", "is"),
            "no task",
        ),
    ],
)
def test_what_is_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FileError, match=said):
        imported(text, tmp_path)


def test_depth_and_size_are_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    deep = f"{HEAD}{'<a>' * 300}{'</a>' * 300}</am:Amalthea>".encode()
    with pytest.raises(FileError, match="more elements, or deeper ones"):
        parse_tree(deep, "deep")
    monkeypatch.setattr(amalthea_tree, "MOST_ELEMENTS", 3)
    with pytest.raises(FileError, match="more elements, or deeper ones"):
        parse_tree(f"{HEAD}<a/><a/><a/></am:Amalthea>".encode(), "many")
    monkeypatch.setattr(amalthea_tree, "MOST_BYTES", 10)
    with pytest.raises(FileError, match="the model is too large"):
        imported(OLD, tmp_path)
    with pytest.raises(FileError, match="cannot be read"):
        import_model(tmp_path / "nowhere.amxmi")


def test_the_command(tmp_path: Path) -> None:
    done = headway("import", EXAMPLE, "--out", tmp_path / "eng", "--seconds", "0.1", "--json")
    assert done.code == 0
    told = json.loads(done.out)
    assert told["taken"]["tasks"] == 8
    assert told["unused"][0]["element"] == "modes"
    text = (tmp_path / "eng" / "import.md").read_text(encoding="utf-8")
    assert "would close a cycle" in text
    compiled = headway(
        "compile",
        tmp_path / "eng" / "query.yaml",
        "--vehicle",
        tmp_path / "eng" / "vehicle.yaml",
        "--out",
        tmp_path / "plan",
    )
    assert compiled.code == 0, compiled.err
    plan = read_plan((tmp_path / "plan" / "plan.json").read_text(encoding="utf-8"))
    assert plan.verdict is not None
    assert plan.verdict.safe
    lines = (tmp_path / "eng" / "recording" / "Camera_33ms_due.csv").read_text().splitlines()
    assert lines == ["timestamp,n,arrived_at", "0,0,0", "33000,1,33000", "66000,2,66000",
                     "99000,3,99000"]  # fmt: skip
