"""Kills runs with SIGKILL at random moments, starts them again and compares what they give in the
end with what an undisturbed run gives.

    python benchmarks/kill_runs.py [--kills vehicle=14,nodes=12,drive=8,reproduce=8,spark=2,fleet=6]
        [--seed 0]

A command is killed after a random part of the time that it took undisturbed; every other time soon
after it has begun to write; a node after a random number of tuples. The same command is run again,
without ``--force``: it must go on, or start again, and end well. Then every file must be equal:
tables row for row, JSON but for times that are measured. A node must have given nothing twice, and
lack only what its report says that it missed while it was away. Nothing of a killed command may go
on running.

Prints a line for each kill and at the end the counts by kind.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from headway.compiler import compile_query
from headway.engine.engine import Engine
from headway.engine.jobs import Arrival
from headway.engine.nodes.executables import build_executables, write_build
from headway.engine.nodes.launcher import Launcher
from headway.files import load_query, load_vehicle
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND
from headway.sources.parquet_file import StreamWriter

EXAMPLES = Path(__file__).parents[1] / "examples"
CRASH = EXAMPLES / "collision_warning"
HELLO = EXAMPLES / "hello"
PATIENCE_S = 900.0
MEASURED = {"created", "elapsed", "elapsed_s", "seconds", "started", "took_s", "output"}
"""what JSON may say that is never twice the same"""
NEVER_EQUAL = {"timings.json", "headway.json", "report.html"}
"""files of measured times"""


class Wrong(Exception):
    """A run that was killed did not go on as it should."""


# ---------------------------------------------------------------- commands


@dataclass(frozen=True)
class Command:
    """Of ``headway``; ``into`` names its option for the folder of its results."""

    kind: str
    arguments: tuple[str, ...]
    into: str
    on_spark: bool = False

    def start(self, folder: Path, log: Path) -> subprocess.Popen[bytes]:
        """As the leader of a process group of its own."""
        command = [sys.executable, "-m", "headway.cli", *self.arguments, self.into, str(folder)]
        with log.open("ab") as stream:
            return subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)

    def finish(self, folder: Path, log: Path) -> float:
        """Runs it to its end; the seconds it took."""
        begin = time.monotonic()
        process = self.start(folder, log)
        try:
            code = process.wait(PATIENCE_S)
        finally:
            end_group(process)
        if code:
            raise Wrong(f"exit {code}: {log.read_text(errors='replace')[-2000:]}")
        return time.monotonic() - begin


COMMANDS = (
    Command(
        "vehicle",
        (
            *("run", str(CRASH / "query.yaml"), "--engine", "vehicle"),
            *("--vehicle", str(CRASH / "vehicle.yaml"), "--input", str(CRASH / "recording")),
        ),
        "--output",
    ),
    Command("drive", ("drive", "--trials", "2", "--cars", "20", "--policy", "s-edf"), "--out"),
    Command(
        "reproduce",
        ("reproduce", "basic", "tasks", "admission", "nodes", "--quick", "--plain"),
        "--out",
    ),
    Command("spark", ("reproduce", "basic", "tasks", "--quick"), "--out", on_spark=True),
    Command(
        "fleet",
        (
            *("fleet", str(HELLO / "query.yaml"), "--vehicle", str(HELLO / "vehicle.yaml")),
            *("--input", str(HELLO / "recording"), "--vehicles", "40"),
        ),
        "--output",
        on_spark=True,
    ),
)


def alive(group: int) -> list[int]:
    """The processes of a group that still run."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()
            if int(state[2]) == group and state[0] != "Z":
                found.append(int(path.name))
        except (OSError, ValueError, IndexError):
            continue
    return found


def end_group(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None or alive(process.pid):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def something(folder: Path) -> bool:
    """Whether anything is in the folder, or in one beside it that is named like it, as what is not
    published yet may be."""
    return any(any(one.iterdir()) for one in folder.parent.glob(f"*{folder.name}*") if one.is_dir())


def killed(
    command: Command, folder: Path, log: Path, after: float, *, writing: bool = False
) -> str | None:
    """Kills it after that many seconds, or those after it has begun to write; what was there then,
    None if it was over before."""
    process = command.start(folder, log)
    try:
        while writing and process.poll() is None and not something(folder):
            time.sleep(0.002)
        try:
            process.wait(after)
            return None
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        until = time.monotonic() + PATIENCE_S / 10
        while left := alive(process.pid):
            if time.monotonic() > until:
                raise Wrong(f"{len(left)} processes of a killed run go on without it")
            time.sleep(0.05)
    finally:
        end_group(process)
    return "with results begun" if something(folder) else "before any result"


# ---------------------------------------------------------------- comparing


def contents(folder: Path) -> dict[str, Any]:
    """What a run has given: file -> what must be equal."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or path.name in NEVER_EQUAL or "/cells/" in f"/{name}":
            continue
        if path.suffix == ".crc":  # Hadoop's checksums of files whose names are drawn
            continue
        if path.suffix == ".parquet":
            rows = pq.ParquetFile(path).read().to_pylist()
            # The files of a folder that Spark has written share its rows by chance.
            whole = str(path.parent.relative_to(folder)) if path.parent != folder else name
            found[whole] = sorted([*found.get(whole, []), *rows], key=repr)
        elif path.suffix == ".json":
            found[name] = without_times(json.loads(path.read_text()))
        elif path.suffix not in (".html", ".svg"):
            found[name] = path.read_bytes()
        else:
            found[name] = None
    return found


def without_times(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: without_times(one) for key, one in data.items() if key not in MEASURED}
    return [without_times(one) for one in data] if isinstance(data, list) else data


def compare(got: dict[str, Any], meant: dict[str, Any]) -> None:
    if set(got) != set(meant):
        raise Wrong(f"other files: {sorted(set(got) ^ set(meant))}")
    if wrong := [name for name in meant if got[name] != meant[name]]:
        raise Wrong(f"not as undisturbed: {', '.join(wrong)}")


def of_command(command: Command, kills: int, random: Random, scratch: Path) -> Iterator[str]:
    """What each kill hit; Wrong when the run that followed is not right."""
    log = scratch / "log.txt"
    whole = scratch / "undisturbed"
    took = command.finish(whole, log)
    meant = contents(whole)
    done = 0
    while done < kills:
        folder = scratch / f"killed{done}"
        writing = done % 2 == 1
        after = random.uniform(0, 0.1) if writing else random.uniform(0.05, 1.0) * took
        hit = killed(command, folder, log, after, writing=writing)
        if hit is None:
            shutil.rmtree(folder, ignore_errors=True)
            continue
        done += 1
        again = random.random() < 0.3 and killed(command, folder, log, random.uniform(0, 1) * took)
        if command.kind in ("vehicle", "drive", "fleet") and (folder / "summary.json").exists():
            shutil.rmtree(folder)  # the second one was over before it could be killed
        command.finish(folder, log)
        compare(contents(folder), meant)
        shutil.rmtree(folder)
        yield f"killed {hit}{', and once more' if again else ''}: equal, {len(meant)} files"


# ---------------------------------------------------------------- nodes

QUERY = """query: killed
schemas:
  Radar: {id: int, distance: double}
  Own: {speed: double}
sources:
  radar: {schema: Radar, rate: 1 per 10 ms}
  own: {schema: Own, rate: 1 per 10 ms}
operators:
  near: {filter: distance < 80, from: radar, cost: 10 us}
  moving: {filter: speed > 1, from: own, cost: 10 us}
  paired:
    join: {r: near, o: moving}
    within: 35 ms
    select: {id: r.id, gap: r.distance - o.speed}
    cost: 10 us
    most_outputs: 8
  counted: {aggregate: {n: count(*), closest: min(gap)}, from: paired, window: 100 ms, cost: 10 us}
outputs:
  pairs: {from: paired, deadline: 2 s, criticality: soft}
  counts: {from: counted, deadline: 5 s, criticality: soft}
"""
VEHICLE = """vehicle: three
nodes: {front: {}, rear: {}, centre: {}}
buses:
  backbone: {kind: ethernet, bit_rate: 100 Mbit/s, nodes: [front, rear, centre]}
sensors: {radar: front, own: rear}
pins: {near: front, moving: rear, paired: centre, counted: centre}
"""
TUPLES = 400
EVERY_US = 10_000
BEGIN_US = 1_700_000_000_000_000
OUTPUTS = ("pairs", "counts")
CALM = ("--heartbeat", "100 ms", "--missed", "6000", "--checkpoint", "200 ms")


def arrivals() -> list[Arrival]:
    found = []
    for n in range(TUPLES):
        at = BEGIN_US + n * EVERY_US
        found.append(Arrival(at * MICROSECOND, "radar", (at, n, float(n * 7 % 100))))
        own = at + 1_000
        found.append(Arrival(own * MICROSECOND, "own", (own, float(n % 5))))
    return found


def lines(folder: Path, output: str) -> list[dict[str, Any]]:
    path = folder / f"{output}.jsonl"
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def has_given(folder: Path, tuples: int) -> bool:
    return len(lines(folder, "pairs")) >= tuples


def given(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: sorted(tuple(line["row"].values()) for line in lines(folder, name))
        for name in OUTPUTS
    }


def of_nodes(kills: int, random: Random, scratch: Path) -> Iterator[str]:
    """Each time all three nodes run, and one of them is killed up to three times."""
    (scratch / "query.yaml").write_text(QUERY)
    (scratch / "vehicle.yaml").write_text(VEHICLE)
    plan = compile_query(
        load_query(scratch / "query.yaml").query,
        load_vehicle(scratch / "vehicle.yaml").vehicle,
    )
    write_build(plan, build_executables(plan), scratch / "build")
    for source in plan.query.sources:
        path = scratch / "recording" / f"{source.name}.parquet"
        with StreamWriter(path, source.schema) as writer:
            for one in arrivals():
                if one.source == source.name:
                    writer.write(one.row, arrived_at=one.time // MICROSECOND)
    done = 0
    while done < kills:
        node = random.choice(["front", "rear", "centre", "centre"])
        times = min(random.randint(1, 3), kills - done)
        out = scratch / f"out{done}"
        killed_now, found = one_car(plan, scratch, out, node, times, random)
        for _ in range(killed_now):
            done += 1
            yield f"{node}, {killed_now} times in a run: {found}"


def one_car(
    plan: Plan, scratch: Path, out: Path, node: str, times: int, random: Random
) -> tuple[int, str]:
    """How often the node was really killed, and what came of it."""
    kills = 0
    with Launcher(
        build=scratch / "build", outputs=out, inputs=scratch / "recording", options=CALM
    ) as launcher:
        launcher.start()
        for _ in range(times):
            known = len(lines(out, "pairs"))
            wanted = known + random.randrange(1, 200)
            reach(partial(has_given, out, wanted), launcher, node)
            if node not in launcher.running():
                break
            launcher.kill(node)
            kills += 1
            launcher.restart(node)
        ended = launcher.wait(PATIENCE_S)
        events = launcher.events(node)
    for name, one in ended.items():
        if one.code != 0 or one.report is None:
            raise Wrong(f"node {name} ended with {one.code}: {one.errors}")
    report = ended[node].report
    assert report is not None
    if not kills:
        return 0, "over before"
    resumed = report["resumed"]
    if resumed is None or not resumed["believed"] or resumed["damage"]:
        raise Wrong(f"node {node} was not taken up: {resumed}")
    gone = {place for one in events if one["event"] == "taken up" for place in missed(one)}
    mine = [one for one in arrivals() if one.source == {"front": "radar", "rear": "own"}.get(node)]
    if len(gone) != report["missed_while_down"] or report["arrived"] + len(gone) != len(mine):
        raise Wrong(f"{len(gone)} missed, report {report['missed_while_down']}")
    lost = {mine[place] for place in gone}
    meant = Engine(plan=plan, charged=False).run([a for a in arrivals() if a not in lost])
    for name, rows in given(out).items():
        if rows != sorted(meant.outputs[name].rows):
            raise Wrong(f"output {name}: not as the engine gives it without what was missed")
    counts = {name: len(rows) for name, rows in given(out).items()}
    told = ended["centre"].report
    assert told is not None
    if {name: told["outputs"][name]["tuples"] for name in OUTPUTS} != counts:
        raise Wrong(f"the report counts {told['outputs']}, the files {counts}")
    return kills, f"equal, {sum(counts.values())} tuples, {len(gone)} arrivals missed while down"


def missed(event: dict[str, Any]) -> range:
    """Which arrivals of the node's recording came while it was away."""
    first, last = event["arrivals_passed_over"]
    return range(first, last)


def reach(condition: Callable[[], bool], launcher: Launcher, node: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while node in launcher.running() and not condition():
        if time.monotonic() > until:
            raise Wrong(f"nothing came for {PATIENCE_S} s")
        time.sleep(0.005)


# ---------------------------------------------------------------- all


def kinds() -> dict[str, Callable[[int, Random, Path], Iterator[str]]]:
    found: dict[str, Callable[[int, Random, Path], Iterator[str]]] = {"nodes": of_nodes}
    for command in COMMANDS:
        found[command.kind] = partial(of_command, command)
    return found


def main(given_arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kills", default="vehicle=14,nodes=12,drive=8,reproduce=8,spark=2,fleet=6"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(given_arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    asked = [one.partition("=") for one in options.kills.split(",")]
    done, wrong = Counter[str](), Counter[str]()
    for kind, _, kills in asked:
        random = Random(f"{options.seed} {kind}")
        with tempfile.TemporaryDirectory(prefix=f"headway-{kind}-") as scratch:
            try:
                for told in kinds()[kind](int(kills), random, Path(scratch)):
                    done[kind] += 1
                    print(f"{kind}: {told}", flush=True)
            except Wrong as error:
                wrong[kind] += 1
                print(f"{kind}: WRONG: {error}", flush=True)
    told = ", ".join(f"{count} {kind}" for kind, count in done.items())
    print(f"{done.total()} kills ({told}); {wrong.total()} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
