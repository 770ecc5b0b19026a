"""Messages of a source: which become tuples, which are quarantined and why, which came before."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from headway.gateway.inlet import KEPT, KEPT_BYTES, MOST_BYTES, Inlet
from headway.gateway.payloads import JsonPayload
from headway.model.query import Source
from headway.model.schema import schema
from headway.model.user_operator import Row

SOURCE = Source(name="speed", schema=schema(v="double", n="int"))
PAYLOAD = JsonPayload(SOURCE.schema.columns)
NOW = 1_700_000_000_000_000_123


class Fed:
    def __init__(self, folder: Path, *, stamped_here: bool = False, once: int = 0) -> None:
        self.rows: list[Row] = []
        self.events: list[tuple[str, str]] = []
        self.inlet = Inlet(
            SOURCE,
            lambda source, row: self.rows.append(row),
            folder,
            on_event=lambda where, what: self.events.append((where, what)),
            names={"v": "Vehicle.Speed"},
            stamped_here=stamped_here,
            once=once,
            clock=lambda: NOW,
        )

    def take(self, *bodies: str | bytes) -> None:
        for body in bodies:
            given = body if isinstance(body, bytes) else body.encode()
            self.inlet.message(PAYLOAD, given, "car/speed")


def test_tuples_and_what_is_none(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.take(
        '{"timestamp": 1, "Vehicle.Speed": 2, "n": 3, "more": 4}',
        '{"timestamp": "1970-01-01T00:00:01Z", "v": 9}',
        '{"Vehicle.Speed": 2}',
        '{"timestamp": 1, "n": 3000000000}',
        '{"timestamp": 1, "n": true}',
        "{",
        b"x" * (MOST_BYTES + 1),
    )
    assert fed.rows == [(1, 2.0, 3), (1_000_000, None, None)]
    counts = fed.inlet.counts()
    assert counts.taken == 2
    assert counts.refused == {
        "timestamp: a message without a sensing time": 1,
        "n: not a value of its column": 2,
        "not JSON in UTF-8": 1,
        f"longer than {MOST_BYTES} bytes": 1,
    }
    kept = [json.loads(line) for line in (tmp_path / "speed.jsonl").read_text().splitlines()]
    assert [one["bytes"] for one in kept] == [20, 33, 27, 1, MOST_BYTES + 1]
    assert base64.b64decode(kept[3]["body"]) == b"{"
    assert len(base64.b64decode(kept[4]["body"])) == KEPT_BYTES
    assert {one["where"] for one in kept} == {"car/speed"}
    assert {one["at"] for one in kept} == {NOW // 1000}


def test_the_quarantine_does_not_grow_for_ever(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    fed.take(*["{"] * (KEPT + 5))
    assert fed.inlet.counts().refused == {"not JSON in UTF-8": KEPT + 5}
    assert len((tmp_path / "speed.jsonl").read_text().splitlines()) == KEPT


def test_messages_without_a_time_are_stamped_if_that_is_asked_for(tmp_path: Path) -> None:
    fed = Fed(tmp_path, stamped_here=True)
    fed.take('{"n": 1}', '{"timestamp": 5, "n": 2}')
    assert fed.rows == [(NOW // 1000, None, 1), (NOW // 1000, None, 2)]


def test_what_came_before_is_overlooked_as_far_as_it_is_remembered(tmp_path: Path) -> None:
    one, two, three = (f'{{"timestamp": {n}}}' for n in (1, 2, 3))
    fed = Fed(tmp_path, once=2)
    fed.take(one, one, two, one, three, two, one)
    # Three pushes one out of the last two, so that one is new again; two is remembered.
    assert [row[0] for row in fed.rows] == [1, 2, 3, 1]
    assert fed.inlet.counts().again == 3
    all_of_them = Fed(tmp_path)
    all_of_them.take(one, one)
    assert len(all_of_them.rows) == 2


def test_an_event_is_told_once_however_often_it_happens(tmp_path: Path) -> None:
    fed = Fed(tmp_path)
    for what in ("lost", "lost", "there", "lost"):
        fed.inlet.event(what)
    assert fed.events == [("speed", "lost"), ("speed", "there"), ("speed", "lost")]


def test_a_quarantine_that_cannot_be_written_stops_neither_counts_nor_tuples(
    tmp_path: Path,
) -> None:
    in_the_way = tmp_path / "a file"
    in_the_way.write_text("where the folder is to be", encoding="utf-8")
    fed = Fed(in_the_way)
    good = f'{{"timestamp": {NOW // 1000}, "Vehicle.Speed": 2.5, "n": 1}}'
    fed.take("no tuple", "no tuple", good)
    assert sum(fed.inlet.counts().refused.values()) == 2
    assert len(fed.rows) == 1
    ((where, what),) = fed.events
    assert where == "speed"
    assert what.startswith(f"refused messages cannot be kept in {in_the_way}/speed.jsonl: ")
