"""Responses on a bus worked out by hand: who waits for whom, how old what comes is, who has no
bound and why."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from headway.compiler.latency.job_flows import Flow, Flows
from headway.compiler.latency.media import BusMessage, Responses, media_responses, messages_of
from headway.model.plan import Crossing, Hop, HopKind
from headway.model.quantities import ArrivalCurve, Rate
from headway.model.vehicle import Bus, BusKind, frame_times

PERIOD = 1000


@dataclass
class KnownAges:
    """Two streams, each of a source of its own that gives a tuple in 1000."""

    ages: dict[str, int | None]
    boundless: dict[str, str] = field(default_factory=dict)
    count: int = 1

    @property
    def flows(self) -> Flows:
        return {name: {name: Flow(self.count, 0)} for name in self.ages}

    @property
    def curves(self) -> dict[str, ArrivalCurve]:
        return {name: ArrivalCurve((Rate(1, PERIOD),)) for name in self.ages}

    def sent_after(self, stream: str, source: str) -> int | None:
        return self.ages[stream]


def message(
    stream: str, *frames: int, entries: int = 1, before: tuple[tuple[str, int], ...] = ()
) -> BusMessage:
    return BusMessage(
        stream=stream, medium="can", priority=0, frames=frames, entries=entries, before=before
    )


URGENT, OTHER = message("urgent", 100, 50), message("other", 70, 90, 20)


def responses(
    ages: KnownAges, *messages: BusMessage, known: Responses | None = None
) -> tuple[list[int | None], dict[str, str]]:
    reasons: dict[str, str] = {}
    found = media_responses({"can": list(messages)}, ages, known or {}, reasons)
    return [found[one.stream, "can"] for one in messages], reasons


def test_the_longest_lower_frame_and_all_that_is_no_less_urgent() -> None:
    ages = KnownAges({"urgent": 0, "other": 0})
    assert responses(ages, URGENT, OTHER) == ([90 + 150, 150 + 180], {})
    assert responses(ages, OTHER, URGENT) == ([100 + 180, 150 + 180], {})


def test_what_one_arrival_brings_about() -> None:
    ages = KnownAges({"urgent": 0, "other": 0}, count=2)
    assert responses(ages, URGENT, OTHER)[0] == [90 + 300, 300 + 360]
    twice = message("urgent", 100, 50, entries=2)
    assert responses(KnownAges({"urgent": 0}), twice)[0] == [300]


def test_the_older_a_tuple_can_be_the_more_of_them_meet() -> None:
    """Within 150, those of 1000 meet if they can be 850 old: two are sent, the rest waits."""
    assert responses(KnownAges({"urgent": 849}), URGENT)[0] == [150]
    assert responses(KnownAges({"urgent": 850}), URGENT)[0] == [300]
    # so also by what they spent on the way here: what is known of it, or at least its delay
    late = message("urgent", 100, 50, before=(("first", 400), ("gate", 10)))
    ages = KnownAges({"urgent": 400})
    assert responses(ages, late)[0] == [150]
    assert responses(ages, late, known={("urgent", "first"): 439})[0] == [150]
    assert responses(ages, late, known={("urgent", "first"): 440})[0] == [300]


def test_without_a_bound() -> None:
    """What is less urgent than a stream without one has none either, with the first reason."""
    told = {"can": "urgent reaches can without a bound"}
    assert responses(KnownAges({"urgent": None, "other": 0}), URGENT, OTHER) == ([None, None], told)
    told = {"can": "other reaches can without a bound"}
    assert responses(KnownAges({"urgent": 0, "other": None}), URGENT, OTHER) == ([240, None], told)
    late = message("urgent", 1, before=(("first", 5),))
    found = responses(KnownAges({"urgent": 0}), late, known={("urgent", "first"): None})
    assert found == ([None], {"can": "urgent reaches can without a bound"})
    full = message("urgent", 600, 400)
    told = {"can": "can is asked for more than it can carry"}
    assert responses(KnownAges({"urgent": 0, "other": 0}), full, OTHER) == ([None, None], told)
    many = KnownAges({"urgent": None, "other": 0}, boundless={"urgent": "double"})
    found = responses(many, URGENT, OTHER)
    assert found[0] == [None, None]
    assert found[1]["can"].startswith("how many results one tuple can have in double is not known")


def test_a_stream_enters_a_bus_once_for_each_way_to_it() -> None:
    bus = Bus(name="can", kind=BusKind.CAN, bit_rate=1_000_000, nodes=("a", "b", "c"))
    first = Bus(name="first", kind=BusKind.CAN, bit_rate=500_000, nodes=("d",))
    direct = (Hop(kind=HopKind.BUS, name="can", delay=7),)
    around = (
        Hop(kind=HopKind.BUS, name="first", delay=5),
        Hop(kind=HopKind.GATEWAY, name="gate", delay=2),
        Hop(kind=HopKind.BUS, name="can", delay=7),
    )

    def crossing(stream: str, receiver: str, priority: int, hops: tuple[Hop, ...]) -> Crossing:
        return Crossing(
            stream=stream,
            sender="a",
            receiver=receiver,
            hops=hops,
            size_bytes=16,
            priority=priority,
        )

    crossings = (
        crossing("late", "b", 3, direct),
        crossing("s", "b", 1, direct),
        crossing("s", "c", 1, direct),
        crossing("s", "d", 1, around),
    )
    found = messages_of(crossings, {"can": bus, "first": first})
    assert [(one.stream, one.entries, one.before) for one in found["can"]] == [
        ("s", 2, (("first", 5), ("gate", 2))),
        ("late", 1, ()),
    ]
    assert [(one.stream, one.entries, one.before) for one in found["first"]] == [("s", 1, ())]
    assert found["can"][0].frames == frame_times(16, bus)
    assert found["first"][0].frames == pytest.approx(frame_times(16, first))
