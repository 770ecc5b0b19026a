from __future__ import annotations

import json

from headway.engine.operators.user_defined import Gathering, Signal
from headway.model.operators import Gather

PORTS = ("gps", "speed")


def test_all_is_ready_when_every_port_has_a_tuple() -> None:
    gathering = Gathering(PORTS, Gather.ALL)
    assert gathering.offer("gps", (5, 1)) is Signal.FIRST
    assert gathering.offer("gps", (3, 2)) is Signal.NOTHING
    assert gathering.size() == 2
    assert gathering.output_watermark(4) == 3
    assert gathering.offer("speed", (4, 3)) is Signal.READY
    assert gathering.take() == {"gps": [(5, 1), (3, 2)], "speed": [(4, 3)]}
    assert gathering.size() == 0
    assert gathering.output_watermark(4) == 4
    assert gathering.offer("speed", (6, 4)) is Signal.FIRST, "a new batch"
    assert gathering.take() == {"gps": [], "speed": [(6, 4)]}, "the time is up"


def test_one_port_is_ready_at_once() -> None:
    assert Gathering(("gps",), Gather.ALL).offer("gps", (1,)) is Signal.READY


def test_time_waits_for_the_timer_whatever_comes() -> None:
    gathering = Gathering(PORTS, Gather.TIME)
    signals = [gathering.offer(port, (1,)) for port in ("gps", "speed", "gps")]
    assert signals == [Signal.FIRST, Signal.NOTHING, Signal.NOTHING]
    assert gathering.take() == {"gps": [(1,), (1,)], "speed": [(1,)]}


def test_an_open_batch_survives_a_move() -> None:
    old, new = Gathering(PORTS, Gather.ALL), Gathering(PORTS, Gather.ALL)
    old.offer("gps", (1, 2.5))
    new.restore(json.loads(json.dumps(old.snapshot())))
    assert new.offer("speed", (2, 1.0)) is Signal.READY
    assert new.take() == {"gps": [(1, 2.5)], "speed": [(2, 1.0)]}
