"""Plants bugs in the code of the nodes, one at a time, and lets the simulation look for them:
python benchmarks/simulation_mutants.py [--seeds N] [--only NUMBER] [--out FILE.json]

Each bug is a small replacement in one module of protocol, detection, recovery, watermarks or
shedding. A process of its own loads the module with the bug in it and runs seed after seed of the
campaigns below, until one breaks a property; which bugs are found, at which seed and by which
property is printed. A bug that is not found has run through all seeds of all campaigns.
"""

from __future__ import annotations

import argparse
import importlib.abc
import importlib.machinery
import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NODES = "headway.engine.nodes"


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """``old`` stands in the module once, and becomes ``new``."""

    what: str
    module: str
    old: str
    new: str


BUGS: tuple[PlantedBug, ...] = (
    # ------------------------------------------------------------ frames and links
    PlantedBug(
        "a frame that is sent is not kept",
        f"{NODES}.links",
        "        self._kept.append(kept)\n",
        "        if not self.up:\n            self._kept.append(kept)\n",
    ),
    PlantedBug(
        "what was not acknowledged is not sent again",
        f"{NODES}.links",
        "        for kept in self._kept:\n            self.connection.send_bytes(kept.data)",
        "        for kept in list(self._kept)[1:]:\n"
        "            self.connection.send_bytes(kept.data)",
    ),
    PlantedBug(
        "the last frame is taken twice",
        f"{NODES}.links",
        "if frame.sequence <= last:",
        "if frame.sequence < last:",
    ),
    PlantedBug(
        "an acknowledgement drops one frame too many",
        f"{NODES}.links",
        "if positions.get(k.stream, 0) < k.sequence)",
        "if positions.get(k.stream, 0) + 1 < k.sequence)",
    ),
    PlantedBug(
        "an acknowledgement says one frame too many",
        f"{NODES}.links",
        "positions[frame.stream] = frame.sequence\n",
        "positions[frame.stream] = frame.sequence + 1\n",
    ),
    PlantedBug(
        "an acknowledgement says one frame too few",
        f"{NODES}.links",
        "positions[frame.stream] = frame.sequence\n",
        "positions[frame.stream] = frame.sequence - 1\n",
    ),
    PlantedBug(
        "a restarted receiver does not get the last watermark again",
        f"{NODES}.links",
        "        if again:\n",
        "        if False:\n",
    ),
    PlantedBug(
        "a restarted sender's frames are taken for old ones",
        f"{NODES}.links",
        "if known != incarnation:",
        "if not known:",
    ),
    PlantedBug(
        "a part of a write that did not fit is forgotten",
        f"{NODES}.links",
        "del self._out[:written]",
        "self._out.clear()",
    ),
    PlantedBug(
        "a watermark overtakes the tuples before it",
        f"{NODES}.links",
        "if rows and not together:",
        "if rows and name != current:",
    ),
    PlantedBug(
        "tuples for an absent peer are dropped and not counted",
        f"{NODES}.links",
        "                self._lose([dropped])\n",
        "                pass\n",
    ),
    PlantedBug(
        "a damaged frame is believed",
        f"{NODES}.wire_format",
        "if zlib.crc32(payload, zlib.crc32(header)) != checksum:",
        "if False:",
    ),
    # ------------------------------------------------------------ who is there
    PlantedBug(
        "a connection that broke is not opened again",
        f"{NODES}.peers",
        "link.down(now if link.up else now + backoff, backoff)",
        "link.down(now + 3_600_000_000_000, backoff)",
    ),
    PlantedBug(
        "the way to a peer is tried again later and later",
        f"{NODES}.peers",
        "backoff = min(max(",
        "backoff = max(max(",
    ),
    PlantedBug(
        "silence is noticed late",
        f"{NODES}.liveness",
        "if peer.alive and silent > self._timing.silence:",
        "if peer.alive and silent > 3 * self._timing.silence:",
    ),
    PlantedBug(
        "silence is noticed too early",
        f"{NODES}.liveness",
        "if peer.alive and silent > self._timing.silence:",
        "if peer.alive and silent > self._timing.heartbeat // 2:",
    ),
    PlantedBug(
        "signs of life are too rare",
        f"{NODES}.peers",
        "self._timing.heartbeat * 3 // 4:",
        "self._timing.heartbeat * 4:",
    ),
    PlantedBug(
        "that a peer is back is not told",
        f"{NODES}.liveness",
        "            if peer.lost_at is not None:\n                self._on_back(name)",
        "            if peer.lost_at is None:\n                self._on_back(name)",
    ),
    PlantedBug(
        "that a peer is lost is not told",
        f"{NODES}.liveness",
        "now - peer.heard)\n        self._on_lost(name)\n",
        "now - peer.heard)\n",
    ),
    PlantedBug(
        "a node leaves before its peers have everything",
        f"{NODES}.peers",
        "while not self._all_done() and machine.now()",
        "while False and machine.now()",
    ),
    PlantedBug(
        "the good-bye is taken for silence",
        f"{NODES}.peers",
        "            self.liveness.finished(connection.peer, now)\n",
        "            self.liveness.refused(connection.peer, now)\n",
    ),
    # ------------------------------------------------------------ recovery
    PlantedBug(
        "a node that starts again begins its recording anew",
        f"{NODES}.node_process",
        "                if arrival.time >= since:\n",
        "                if True:\n",
    ),
    PlantedBug(
        "a node that starts again writes its outputs anew",
        f"{NODES}.node_process",
        "            self._publish,\n            append=settings.resume,",
        "            self._publish,\n            append=False,",
    ),
    PlantedBug(
        "windows wait for who is away",
        f"{NODES}.node_process",
        "self._time.lost |= self._from(peer) - self._time.ended",
        "self._time.lost |= set()",
    ),
    PlantedBug(
        "windows do not wait for who is back",
        f"{NODES}.node_process",
        "self._time.lost -= self._from(peer)\n",
        "self._time.lost -= set()\n",
    ),
    PlantedBug(
        "the streams of a peer that stays away are not ended",
        f"{NODES}.node_process",
        "            time.end(stream)\n",
        "            pass\n",
    ),
    PlantedBug(
        "what was dropped is not counted",
        f"{NODES}.node_process",
        "        at[dropped.where] += 1\n",
        "        at[dropped.where] += len(at) == 0\n",
    ),
    PlantedBug(
        "what has not been written down is acknowledged",
        f"{NODES}.links",
        "if (safe := self.safe) is not None:",
        "if (safe := self.safe) is not None and not self.safe:",
    ),
    PlantedBug(
        "what was given to peers is given again",
        f"{NODES}.node_state",
        "        if counts[key] <= 0:\n",
        "        if True:\n",
    ),
    PlantedBug(
        "what was written to an output is written again",
        f"{NODES}.node_records",
        "            if given[_key(text, missed)] > 0:\n",
        "            if False:\n",
    ),
    PlantedBug(
        "tuples that came are not written down",
        f"{NODES}.run_keeper",
        "if name is not None and self._writes:",
        "if name is not None and name != 'rows' and self._writes:",
    ),
    PlantedBug(
        "a checkpoint leaves out the jobs that wait",
        "headway.engine.wall_time",
        '"ready": [_packed_job(job) for job in sorted(self._ready)],',
        '"ready": [],',
    ),
    PlantedBug(
        "a node that is taken up skips a tuple of its recording",
        "headway.engine.wall_time",
        'self.replayed = state["replayed"]\n',
        'self.replayed = state["replayed"] + 1\n',
    ),
    # ------------------------------------------------------------ watermarks
    PlantedBug(
        "a watermark on the wire runs ahead",
        f"{NODES}.node_process",
        "                self._send_out(stream, mark)\n",
        "                self._send_out(stream, mark + 60_000)\n",
    ),
    PlantedBug(
        "time is where the fastest source is",
        "headway.engine.watermarks",
        "mark = min(known) if len(known) == len(marks) else None\n            entering",
        "mark = max(known) if len(known) == len(marks) else None\n            entering",
    ),
    PlantedBug(
        "time does not wait for a source that has not begun",
        "headway.engine.watermarks",
        "mark = min(known) if len(known) == len(marks) else None\n            entering",
        "mark = min(known) if known else None\n            entering",
    ),
    PlantedBug(
        "windows do not wait for tuples under way",
        "headway.engine.watermarks",
        "                marks += _oldest(unit.flights)\n",
        "                pass\n",
    ),
    PlantedBug(
        "a lost source holds time back",
        "headway.engine.wall_time",
        "elif name in self.lost and known and len(known) == len(heard):",
        "elif name in self.lost and not known:",
    ),
    # ------------------------------------------------------------ shedding
    PlantedBug(
        "a job that is shed is not named",
        "headway.engine.wall_time",
        "            kernel.lose(job, room.reason(job, now))\n",
        "",
    ),
    PlantedBug(
        "twice as many jobs are shed as were chosen",
        "headway.engine.wall_time",
        "gone = {job.number for job in shed}",
        "gone = {job.number for job in shed} | {ready[0].number}",
    ),
)


# -------------------------------------------------------------------- one bug, in this process


class _Loader(importlib.machinery.SourceFileLoader):
    bug: PlantedBug

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        source = Path(path).read_text(encoding="utf-8")
        if source.count(self.bug.old) != 1:
            raise SystemExit(f"{self.bug.what!r}: its place is not in {path} once")
        code = self.source_to_code(source.replace(self.bug.old, self.bug.new).encode(), path)
        assert isinstance(code, CodeType)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, bug: PlantedBug) -> None:
        self._bug = bug

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._bug.module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        loader = _Loader(fullname, spec.origin)
        loader.bug = self._bug
        return importlib.util.spec_from_file_location(fullname, spec.origin, loader=loader)


def look_for(bug: PlantedBug | None, seeds: int) -> dict[str, Any]:
    """The first seed that finds the bug, if one does."""
    if bug is not None:
        sys.meta_path.insert(0, _Finder(bug))
    from tests.simulation.cases import campaigns

    ran = 0
    made = campaigns()
    for seed in range(seeds):
        for name, campaign in made.items():
            ran += 1
            try:
                violations = campaign.run(seed).judgement.violations
            except Exception as error:  # noqa: BLE001 - a bug may break anything
                told = f"{type(error).__name__}: {error}"
                return {"found": True, "campaign": name, "seed": seed, "by": told, "runs": ran}
            if violations:
                first = violations[0]
                return {
                    "found": True,
                    "campaign": name,
                    "seed": seed,
                    "by": first.rule,
                    "told": str(first),
                    "runs": ran,
                }
    return {"found": False, "runs": ran}


# -------------------------------------------------------------------- all of them


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0] if __doc__ else "")
    parser.add_argument("--seeds", type=int, default=60, help="of each campaign (%(default)s)")
    parser.add_argument("--only", type=int, help="one bug, by its number; 0: no bug at all")
    parser.add_argument("--out", type=Path, help="a file for the results, as JSON")
    given = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if given.only is not None:
        bug = BUGS[given.only - 1] if given.only else None
        print(json.dumps(look_for(bug, given.seeds)))
        return
    results = []
    for number, bug in enumerate(BUGS, start=1):
        done = subprocess.run(
            [sys.executable, __file__, "--only", str(number), "--seeds", str(given.seeds)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"bug {number}: {done.stderr}")
        result = {"number": number, "what": bug.what, "module": bug.module} | json.loads(
            done.stdout
        )
        results.append(result)
        told = "NOT FOUND" if not result["found"] else f"{result['campaign']} {result['seed']}"
        print(f"{number:3} {bug.what:60} {told:20} {result.get('by', '')}", flush=True)
    found = sum(result["found"] for result in results)
    print(f"{found} of {len(results)} planted bugs found")
    if given.out is not None:
        given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
