"""What a Python node tells of itself while it runs, for who watches the car: what each operator
took and gave, what waits, and how much of the node that needs.

It is a file beside the outputs, written anew twice a second by the thread of the connections, which
reads counters of the run that may be a tuple apart from each other at that moment. No one is asked
to read it, and a full disk is no reason to stop: then nothing new is shown.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from headway.engine.declared_loads import DeclaredLoads
from headway.engine.nodes.node_machine import Machine
from headway.engine.nodes.node_slice import NodeSlice
from headway.engine.operator_counts import counts_of_kernel
from headway.engine.wall_time import WallTime
from headway.model.quantities import MILLISECOND

EVERY = 500 * MILLISECOND


def live_file(folder: Path, node: str) -> Path:
    return folder / f"{node}.live.json"


class LiveCounts:
    def __init__(self, machine: Machine, folder: Path, part: NodeSlice) -> None:
        self._machine, self._path = machine, live_file(folder, part.node)
        self._node, self._loads = part.node, DeclaredLoads(part.plan)
        self._own = {*part.own_sources, *(one.name for one in part.plan.query.operators)}
        self._told = self._began = machine.now()

    def tell(self, now: int, run: WallTime, dropped: Mapping[str, Mapping[str, int]]) -> None:
        """``dropped``: kind -> operator or source -> tuples."""
        if now - self._told < EVERY:
            return
        self._told = now
        with suppress(OSError):
            self._machine.replace_text(self._path, json.dumps(self._data(now, run, dropped)) + "\n")

    def _data(
        self, now: int, run: WallTime, dropped: Mapping[str, Mapping[str, int]]
    ) -> dict[str, Any]:
        gone = {
            (where, kind): count
            for kind, at in list(dropped.items())
            for where, count in dict(at).items()
        }
        counts = counts_of_kernel(run.kernel, gone, running=True)
        loads, _ = self._loads.look(run.kernel.program, counts, now - self._began)
        waiting: dict[str, int] = {}
        for head in run.waiting_heads():
            waiting[head] = waiting.get(head, 0) + 1
        return {
            "at": now,
            "load": loads[self._node],
            "waiting": sum(waiting.values()),
            "operators": [
                {
                    "operator": one.operator,
                    "taken": one.consumed,
                    "given": one.produced,
                    "late": one.late,
                    "shed": one.shed + one.rejected,
                    "failed": one.failed,
                    "waiting": waiting.get(one.operator, 0),
                }
                for one in counts
                if one.operator in self._own
            ],
        }
