"""The programs of ``stream_cases.py`` on bytewax: ``python peer_bytewax.py CASE TUPLES BATCH
REPEATS``.

Fused by hand as an expert would: neighbouring operators are one function, so that no step is paid
for twice; joins and windows are one stateful step that keeps no more than it must. ``chain_apart``
is the chain operator by operator, as the query says it. The filter of ``fusion`` is Headway's own
Python class. Prints the CPU seconds of every run, and how many results came out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import bytewax.operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.testing import TestingSink, TestingSource, run_main
from stream_cases import BRANCHES, WINDOW, WITHIN, Row, rows_of

# ---------------------------------------------------------------- steps


def add_one(row: Row) -> Row:
    return (row[0], row[1] + 1, row[2])


def above(row: Row) -> bool:
    return bool(row[1] > -1)


def whole_chain(row: Row) -> Row | None:
    v = row[1] + 1
    if not v > -1:
        return None
    v += 1
    if not v > -1:
        return None
    return (row[0], v + 1, row[2])


def add(b: int) -> Callable[[Row], Row]:
    return lambda row: (row[0], row[1] + b, row[2])


Sided = tuple[int, Row]


def pairs(state: tuple[list[Row], list[Row]] | None, sided: Sided) -> tuple[Any, list[Row]]:
    """Of one key: all partners of the other side that are near enough; what is too old goes."""
    kept = ([], []) if state is None else state
    side, row = sided
    others = kept[1 - side]
    oldest = row[0] - WITHIN
    while others and others[0][0] < oldest:
        others.pop(0)
    found = [(row[0], row[1] + one[1], row[2]) for one in others if one[0] <= row[0] + WITHIN]
    kept[side].append(row)
    return kept, found


def sums(state: list[Any] | None, row: Row) -> tuple[Any, list[Row]]:
    """Of one key: the sum and count of a window, given out when the next one begins."""
    window = row[0] // WINDOW
    if state is None:
        return [window, row[0], row[1], 1], []
    if state[0] == window:
        state[2] += row[1]
        state[3] += 1
        return state, []
    closed = (state[1], row[2], state[2], state[3])
    return [window, row[0], row[1], 1], [closed]


class Fusing:
    """Headway's own vehicle fusion, run as soon as both sensors have something."""

    def __init__(self) -> None:
        sys.path.append(str(Path(__file__).resolve().parents[1] / "src"))
        from headway.fusion.own_vehicle import OwnVehicleFusion
        from headway.model.schema import schema
        from headway.model.user_operator import OperatorContext

        columns = dict.fromkeys(("x", "y", "vx", "vy"), "float")
        columns |= {f"var_{name}": "float" for name in columns}
        self._fusion = OwnVehicleFusion()
        self._fusion.open(
            OperatorContext(
                name="own",
                inputs={
                    "gps": schema(x="float", y="float", heading="float"),
                    "speed": schema(v="float"),
                },
                output=schema(id="bigint", sensor="string(5)", own="boolean", **columns),
                windows={
                    "front": 1_000_000_000,
                    "rear": 1_000_000_000,
                    "object_key": None,
                    "sensor_key": None,
                },
            )
        )
        self._waiting: dict[str, list[Row]] = {"gps": [], "speed": []}

    def take(self, named: tuple[str, Row]) -> list[Row]:
        source, row = named
        self._waiting[source].append(row)
        if not all(self._waiting.values()):
            return []
        given, self._waiting = self._waiting, {"gps": [], "speed": []}
        return list(self._fusion.process(given, row[0] * 1000))


# ---------------------------------------------------------------- flows


def build(case: str, tuples: int, batch: int, flow: Dataflow, out: list[Any]) -> None:
    given = rows_of("chain" if case == "chain_apart" else case, tuples)
    sink = TestingSink(out)

    def source(rows: list[Any]) -> Stream[Any]:
        return op.input("in", flow, TestingSource(rows, batch_size=batch))

    if case == "fusion":
        stream = op.flat_map("fuse", source(given), Fusing().take)  # one vehicle: no key is needed
    elif case == "join":
        sides = {"s": 0, "t": 1}
        sided = [(sides[name], row) for name, row in given]
        keyed = op.key_on("key", source(sided), lambda one: str(one[1][2]))
        stream = op.stateful_flat_map("pairs", keyed, pairs)
    elif case == "aggregate":
        keyed = op.key_on("key", source([row for _, row in given]), lambda row: str(row[2]))
        stream = op.stateful_flat_map("sums", keyed, sums)
    else:
        stream = source([row for _, row in given])
        if case == "fan_out":
            for b in range(BRANCHES):
                op.output(f"out{b}", op.map(f"branch{b}", stream, add(b)), sink)
            return
        if case == "chain":
            stream = op.filter_map("chain", stream, whole_chain)
        else:
            stream = op.map("o0", stream, add_one)
            stream = op.filter("o1", stream, above)
            stream = op.map("o2", stream, add_one)
            stream = op.filter("o3", stream, above)
            stream = op.map("o4", stream, add_one)
    op.output("out", stream, sink)


def run(case: str, tuples: int, batch: int) -> tuple[float, int]:
    out: list[Any] = []
    flow = Dataflow(case)
    build(case, tuples, batch, flow, out)
    start = process_time()
    run_main(flow)
    return process_time() - start, len(out)


def main() -> None:
    case = sys.argv[1]
    tuples, batch, repeats = map(int, sys.argv[2:])
    runs = [run(case, tuples, batch) for _ in range(repeats)]
    print(json.dumps({"seconds": [seconds for seconds, _ in runs], "out": runs[0][1]}))


if __name__ == "__main__":
    main()
