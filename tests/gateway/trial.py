"""A live query in a thread of the test, and somebody who sends to it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from headway.compiler import compile_query
from headway.engine.run_folder import RunFolder
from headway.files import parse_query
from headway.gateway.gateway_base import Speaker, address_of
from headway.gateway.live_query import Links, LiveOutcome, LiveQuery
from headway.model.plan import Plan
from headway.model.quantities import MICROSECOND

QUERY = """
query: trial
sources:
  speed: {schema: {v: "double [km/h]", n: int}, rate: 1 per 1 ms, lateness: 1 h}
operators:
  fast: {map: {v: v, n: n}, from: speed}
outputs:
  fast: {from: fast, deadline: 1 h, criticality: soft}
"""


def trial_plan(text: str = QUERY) -> Plan:
    return compile_query(parse_query(text).query)


@dataclass
class Running:
    query: LiveQuery
    events: list[tuple[str, str]]
    outcome: LiveOutcome | None = None
    errors: list[BaseException] = field(default_factory=list)

    def taken(self, source: str = "speed") -> int:
        """Tuples of a source until now."""
        if self.errors:
            raise self.errors[0]
        inlet = self.query.inlets.get(source)
        return 0 if inlet is None else inlet.counts().taken

    def listening(self) -> bool:
        """All sources are listened to."""
        if self.errors:
            raise self.errors[0]
        return self.query.listening

    def connected(self) -> bool:
        if self.errors:
            raise self.errors[0]
        return bool(self.events)


@contextmanager
def running(
    folder: Path,
    sources: Mapping[str, str],
    outputs: Mapping[str, str] | None = None,
    plan: Plan | None = None,
) -> Iterator[Running]:
    """Stopped, and waited for, at the end; then it has its outcome."""
    plan = plan or trial_plan()
    with RunFolder(folder) as made:
        events: list[tuple[str, str]] = []
        query = LiveQuery(
            plan=plan,
            links=Links.of(plan, sources, outputs or {}),
            folder=made,
            on_event=lambda where, what: events.append((where, what)),
        )
        found = Running(query, events)

        def work() -> None:
            try:
                found.outcome = query.run()
            except BaseException as error:  # noqa: BLE001 - the test raises it
                found.errors.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield found
        finally:
            query.stop()
            thread.join()
        if found.errors:
            raise found.errors[0]


def tuple_of(number: int) -> dict[str, object]:
    return {"timestamp": time.time_ns() // MICROSECOND, "v": number / 8, "n": number}


def sender(address: str) -> Speaker:
    """Speaks tuples of the source ``speed``."""
    gateway, found = address_of(address)
    return gateway.speak(found, "sender", trial_plan().query.sources[0].schema)
