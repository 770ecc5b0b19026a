"""Strangers at the port of a built node, by the thousand, while an honest driver feeds the car:
python benchmarks/attack_nodes.py [--connections N] [--seed S]

Each connection does one of the things below, and stays open or not, as the seed has it. The driver
feeds tuples all the while. In the end the outputs must be those of the vehicle engine, every node
must end with exit code 0, and memory and notes of the attacked node must have stayed small. Prints,
as JSON, what was done, whom the node refused and why, its resident memory (KiB) and the bytes that
it noted.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from benchmarks.wall_memory import resident  # noqa: E402
from tests.engine.nodes.driver import Driver  # noqa: E402
from tests.engine.nodes.study import study_arrivals, study_plan  # noqa: E402

from headway.engine.engine import Engine  # noqa: E402
from headway.engine.nodes.executables import (  # noqa: E402
    build_executables,
    slices_of,
    write_build,
)
from headway.engine.nodes.greeting import GreetingOut, Identity  # noqa: E402
from headway.engine.nodes.launcher import Launcher  # noqa: E402
from headway.engine.nodes.liveness import PeerTiming  # noqa: E402
from headway.engine.nodes.node_key import KEY_FILE, read_key  # noqa: E402
from headway.engine.nodes.wire_format import (  # noqa: E402
    MAGIC,
    MOST_BYTES,
    VERSION,
    FrameKind,
    WireFrame,
    WireFrameReader,
    encode,
    encode_about,
)
from headway.model.quantities import MILLISECOND, SECOND  # noqa: E402

ATTACKED = "centre"
OPEN = 300
"""connections that stay open at a time"""
PATIENCE = 0.3
"""seconds that a stranger waits for an answer or for room"""
SAMPLES = 20


@dataclass
class Stranger:
    """A connection, what it knows of the build (its fingerprint, never its key), and luck."""

    socket: socket.socket
    fingerprint: str
    luck: random.Random

    def say(self, data: bytes) -> None:
        with suppress(OSError):  # thrown out in the middle of a word
            self.socket.sendall(data)

    def greeting(self, key: bytes = b"") -> GreetingOut:
        me = Identity(name="front", incarnation="1", fingerprint=self.fingerprint, key=key)
        return GreetingOut(me, ATTACKED)

    def answer(self) -> WireFrame | None:
        reader = WireFrameReader()
        with suppress(OSError):
            while data := self.socket.recv(4096):
                reader.add(data)
                if (frame := reader.next()) is not None:
                    return frame
        return None


def says_nothing(stranger: Stranger) -> None:
    assert stranger.socket.fileno() >= 0


def half_a_greeting(stranger: Stranger) -> None:
    hello = encode(stranger.greeting().hello())
    stranger.say(hello[: stranger.luck.randrange(1, len(hello))])


def an_unfinished_frame(stranger: Stranger) -> None:
    whole = encode(WireFrame(FrameKind.HELLO, payload=bytes(MOST_BYTES)))
    stranger.say(whole[: MOST_BYTES // 8])


def a_flood_of_welcomes(stranger: Stranger) -> None:
    about = encode_about(name="front", incarnation="1", positions={})
    stranger.say(encode(WireFrame(FrameKind.WELCOME, payload=about)) * 2000)


def a_wrong_key(stranger: Stranger) -> None:
    greeting = stranger.greeting(stranger.luck.randbytes(32))
    stranger.say(encode(greeting.hello()))
    challenge = stranger.answer()
    if challenge is not None:
        end = WireFrame(FrameKind.END, 1)
        stranger.say(encode(greeting.answer(challenge)) + encode(end))


def a_name_too_long(stranger: Stranger) -> None:
    name = "n" * stranger.luck.choice((64, 300, 500_000))
    about = encode_about(name=name, incarnation="1", plan=stranger.fingerprint, nonce="00" * 32)
    stranger.say(encode(WireFrame(FrameKind.HELLO, payload=about)))


def random_bytes(stranger: Stranger) -> None:
    luck = stranger.luck
    begin = MAGIC + bytes((VERSION, luck.choice(list(FrameKind))))
    stranger.say(luck.choice((b"", MAGIC, begin)) + luck.randbytes(luck.randrange(1, 2000)))


def tuples_without_a_greeting(stranger: Stranger) -> None:
    kind = stranger.luck.choice((FrameKind.ROWS, FrameKind.MARK, FrameKind.END, FrameKind.BYE))
    frame = WireFrame(kind, 1, 0, 1, stranger.luck.randbytes(40))
    stranger.say(encode(frame) * 50)


ATTACKS: tuple[Callable[[Stranger], None], ...] = (
    says_nothing,
    half_a_greeting,
    an_unfinished_frame,
    a_flood_of_welcomes,
    a_wrong_key,
    a_name_too_long,
    random_bytes,
    tuples_without_a_greeting,
)


def attack(connections: int, seed: int, scratch: Path) -> dict[str, Any]:
    plan = study_plan(timeout=225 * MILLISECOND, within=35 * MILLISECOND)
    build, out, parts = scratch / "build", scratch / "out", slices_of(plan)
    write_build(plan, build_executables(plan), build)
    calm = ("--heartbeat", "100 ms", "--missed", "6000")
    timing = PeerTiming(heartbeat=100 * MILLISECOND, missed=6000, linger=600 * SECOND)
    luck = random.Random(seed)
    done: Counter[str] = Counter()
    memory: list[int] = []
    arrivals = deque(study_arrivals(500))
    began = time.monotonic()
    with Launcher(build=build, outputs=out, options=calm) as launcher:
        launcher.start()
        addresses = {node: launcher.address(node) for node in launcher.nodes}
        driver = Driver(parts, addresses, read_key(build / KEY_FILE), timing)
        there: deque[socket.socket] = deque()
        per_tuple = max(1, connections // len(arrivals))
        for number in range(connections):
            there.append(_one(addresses[ATTACKED], parts[0].fingerprint, luck, done, number))
            if len(there) > OPEN or luck.random() < 0.3:
                there.popleft().close()
            if number % per_tuple == 0 and arrivals:
                driver.feed(arrivals[0].source, arrivals.popleft().row)
            if number % max(1, connections // SAMPLES) == 0:
                memory.append(resident(launcher.pid(ATTACKED)))
        for arrival in arrivals:
            driver.feed(arrival.source, arrival.row)
        driver.close()
        ended = launcher.wait(600)
        for sock in there:
            sock.close()
    report = ended[ATTACKED].report
    assert report is not None
    return {
        "connections": connections,
        "seconds": round(time.monotonic() - began, 1),
        "done": dict(sorted(done.items())),
        "refused": report["refused"],
        "bad_frames": report["bad_frames"],
        "exit_codes": {node: one.code for node, one in sorted(ended.items())},
        "outputs_equal": _equal(plan, out),
        "rss_kib": memory,
        "noted_bytes": (out / f"{ATTACKED}.events.jsonl").stat().st_size,
    }


def _one(
    address: tuple[str, int], fingerprint: str, luck: random.Random, done: Counter[str], number: int
) -> socket.socket:
    source = (f"127.0.0.{2 + number % 5}", 0)
    sock = socket.create_connection(address, source_address=source)
    sock.settimeout(PATIENCE)
    chosen = luck.choice(ATTACKS)
    chosen(Stranger(sock, fingerprint, luck))
    done[chosen.__name__] += 1
    return sock


def _equal(plan: Any, out: Path) -> bool:
    """Outputs in which the order of arrival makes no difference."""
    meant = Engine(plan=plan, charged=False).run(study_arrivals(500))
    for name in ("pairs", "counts"):
        lines = (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = sorted(tuple(json.loads(line)["row"].values()) for line in lines)
        if rows != sorted(meant.outputs[name].rows):
            return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="Strangers at the port of a built node.")
    parser.add_argument("--connections", type=int, default=7_500, help="in all (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="headway-attack-") as scratch:
        told = attack(given.connections, given.seed, Path(scratch))
    print(json.dumps(told, indent=1))
    good = told["outputs_equal"] and set(told["exit_codes"].values()) == {0}
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
