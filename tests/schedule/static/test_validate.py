"""Every algorithm's every schedule passes the validator; schedules tampered with do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.exploring import examples
from tests.schedule.static.cases import paper_graph, paper_network, paper_options
from tests.schedule.static.random_cases import Case, cases

from headway.model.static_network import LinkSlot, ProcessorNetwork, Schedule, Switching, TaskSlot
from headway.schedule.static import (
    ALGORITHMS,
    ExactAlpha,
    FixedAlpha,
    GridAlpha,
    Instance,
    schedule,
    schedule_holes,
    violations,
)
from headway.schedule.static.hvlb_cc_ic import latest_messages

GRAPH, NETWORK = paper_graph(150), paper_network()


def example() -> Schedule:
    found = schedule(GRAPH, NETWORK, "hsv-cc", paper_options()).schedule
    assert found is not None
    return found


def wrong(found: Schedule, network: ProcessorNetwork = NETWORK) -> tuple[str, ...]:
    return violations(GRAPH, network, found, whole_link_times=True)


def with_task(found: Schedule, name: str, change: Callable[[TaskSlot], TaskSlot]) -> Schedule:
    return replace(found, tasks=tuple(change(s) if s.task == name else s for s in found.tasks))


def with_link(
    found: Schedule, pair: tuple[str, str], number: int, change: Callable[[LinkSlot], LinkSlot]
) -> Schedule:
    messages = []
    for message in found.messages:
        if (message.sender, message.receiver) == pair:
            links = list(message.links)
            links[number] = change(links[number])
            message = replace(message, links=tuple(links))
        messages.append(message)
    return replace(found, messages=tuple(messages))


def moved(slot: TaskSlot, by: int) -> TaskSlot:
    return replace(slot, start=slot.start + by, finish=slot.finish + by)


def moved_link(slot: LinkSlot, by: int) -> LinkSlot:
    return replace(slot, start=slot.start + by, finish=slot.finish + by)


@examples(150)
@given(cases(), st.sampled_from(sorted(ALGORITHMS)), st.sampled_from([0, 1, 20]))
def test_every_algorithm_makes_valid_schedules(case: Case, name: str, alpha: int) -> None:
    for choice in (ExactAlpha(), FixedAlpha(alpha), GridAlpha(1, 0.5)):
        result = ALGORITHMS[name].run(case.instance, choice)
        case.check(result)
        assert (result.schedule is None) == (result.failure is not None)
        if result.failure is not None:
            assert name in ("hsv-cc", "hvlb-cc-a", "hvlb-cc-b")


@examples(150)
@given(cases(), st.sampled_from(sorted(ALGORITHMS)), st.data())
def test_any_time_changed_alone_is_noticed(case: Case, name: str, data: st.DataObject) -> None:
    """A start or finish alone changes a duration, or breaks the timing on a link."""
    result = ALGORITHMS[name].run(case.instance, FixedAlpha(1))
    assume(result.schedule is not None)
    assert result.schedule is not None
    by = data.draw(st.sampled_from([Fraction(-1, 7), Fraction(1, 7)]))
    field = data.draw(st.sampled_from(["start", "finish"]))
    slots = result.schedule.tasks
    number = data.draw(st.integers(0, len(slots) - 1))
    changed = replace(slots[number], **{field: getattr(slots[number], field) + by})
    tampered = replace(result.schedule, tasks=(*slots[:number], changed, *slots[number + 1 :]))
    whole = case.options.whole_link_times
    assert violations(case.graph, case.network, tampered, whole_link_times=whole)


TAMPERED: dict[str, tuple[Callable[[Schedule], Schedule], str]] = {
    "a task is missing": (lambda s: replace(s, tasks=s.tasks[1:]), "n1: not scheduled"),
    "a task is there twice": (lambda s: replace(s, tasks=(*s.tasks, s.tasks[0])), "twice"),
    "an unknown task": (
        lambda s: with_task(s, "n1", lambda slot: replace(slot, task="x")),
        "x: not a task of the graph",
    ),
    "an unknown processor": (
        lambda s: with_task(s, "n1", lambda slot: replace(slot, processor="p9")),
        "unknown processor p9",
    ),
    "a task runs too briefly": (
        lambda s: with_task(s, "n9", lambda slot: replace(slot, finish=slot.finish - 1)),
        "n9: runs for 12 instead of 13",
    ),
    "a task starts before time 0": (
        lambda s: with_task(s, "n1", lambda slot: moved(slot, -1)),
        "n1: starts at -1, before it is released",
    ),
    "two tasks at once": (
        lambda s: with_task(s, "n3", lambda slot: moved(slot, -1)),
        "p2: n1 and n3 at the same time",
    ),
    "a task before its predecessor on the same processor": (
        lambda s: with_task(s, "n9", lambda slot: moved(slot, -10)),
        "n8->n9: n9 starts before n8 has finished",
    ),
    "a task before its message": (
        lambda s: with_task(s, "n10", lambda slot: moved(slot, -1)),
        "n7->n10: arrives at 56, but n10 starts before",
    ),
    "a message before its sender has finished": (
        lambda s: with_link(s, ("n7", "n10"), 0, lambda slot: moved_link(slot, -1)),
        "n7->n10: on l3 from 50, possible only from 51",
    ),
    "a message too fast": (
        lambda s: with_link(s, ("n7", "n10"), 0, lambda x: replace(x, finish=x.finish - 1)),
        "n7->n10: on l3 until 55 instead of 56",
    ),
    "a second link before the first": (
        lambda s: with_link(s, ("n3", "n6"), 1, lambda slot: moved_link(slot, -1)),
        "on l4 from 19, possible only from 20",
    ),
    "a message is missing": (
        lambda s: replace(s, messages=s.messages[1:]),
        "n2->n4: no message from p3 to p2",
    ),
    "a message is sent twice": (
        lambda s: replace(s, messages=(*s.messages, s.messages[0])),
        "n2->n4: sent twice",
    ),
    "a message without an edge": (
        lambda s: replace(s, messages=(*s.messages, replace(s.messages[0], receiver="n10"))),
        "n2->n10: a message without an edge",
    ),
    "a message within a processor": (
        lambda s: replace(
            s,
            messages=(*s.messages, replace(s.messages[0], sender="n1", receiver="n4")),
        ),
        "n1->n4: a message between tasks on one processor",
    ),
    "links that do not lead there": (
        lambda s: with_link(s, ("n3", "n6"), 1, lambda slot: replace(slot, link="l1")),
        "l2 l1 is no route from p2 to p3",
    ),
    "an unknown link": (
        lambda s: with_link(s, ("n3", "n6"), 1, lambda slot: replace(slot, link="l9")),
        "over unknown link l9",
    ),
    "two messages on a link at once": (
        lambda s: with_link(s, ("n2", "n4"), 0, lambda slot: moved_link(slot, 1)),
        "l3: n2->n4 and n1->n5 at the same time",
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_tampered_schedules_are_refused(what: str) -> None:
    change, said = TAMPERED[what]
    assert not wrong(example())
    assert said in "\n".join(wrong(change(example())))


def test_a_task_off_its_processors_is_refused() -> None:
    tasks = tuple(
        replace(task, processors=("p1",)) if task.name == "n1" else task for task in GRAPH.tasks
    )
    found = violations(replace(GRAPH, tasks=tasks), NETWORK, example(), whole_link_times=True)
    assert found == ("n1: may not run on p2",)


def test_without_contention_links_may_be_shared() -> None:
    shared = with_link(example(), ("n2", "n4"), 0, lambda slot: moved_link(slot, 1))
    assert any("at the same time" in problem for problem in wrong(shared))
    alone = replace(shared, contention=False)
    assert not any("at the same time" in problem for problem in wrong(alone))


def test_store_and_forward_refuses_a_cut_through() -> None:
    stored = replace(NETWORK, switching=Switching.STORE_AND_FORWARD)
    assert wrong(example(), stored) == ("n3->n6: on l4 from 20, possible only from 28",)


@examples(150)
@given(cases(), st.sampled_from(sorted(ALGORITHMS)))
def test_all_holes_may_be_used_at_once(case: Case, name: str) -> None:
    """With every optional part as long as its hole and every message as late as it can be, the
    schedule is still valid, and as long as before."""
    result = ALGORITHMS[name].run(case.instance, FixedAlpha(1))
    assume(result.schedule is not None)
    assert result.schedule is not None
    instance = Instance(case.graph, case.network, case.options)
    holes = schedule_holes(instance, result.schedule)
    tasks = tuple(
        replace(slot, finish=slot.finish + holes[slot.task]) for slot in result.schedule.tasks
    )
    messages = latest_messages(instance, result.schedule)
    filled = replace(result.schedule, tasks=tasks, messages=messages)
    whole = case.options.whole_link_times
    found = violations(case.graph, case.network, filled, whole_link_times=whole, longer=holes)
    assert found == ()
    assert filled.makespan == result.makespan


@pytest.mark.parametrize(
    ("number", "link", "route"),
    [
        (0, "l1", "l1 l4"),  # begins at p1, which has not sent it
        (1, "l1", "l2 l1"),  # ends at p1, which does not want it
        (1, "l2", "l2 l2"),  # goes back the way it came
    ],
)
def test_a_route_leads_from_the_sender_to_the_receiver(number: int, link: str, route: str) -> None:
    """Also where the network names no routes, so that only its links tell: n3 on p2 sends over
    l2 and l4 to n6 on p3."""
    free = replace(NETWORK, given_routes={})
    assert not wrong(example(), free)
    turned = with_link(example(), ("n3", "n6"), number, lambda slot: replace(slot, link=link))
    assert f"n3->n6: {route} is no route from p2 to p3" in wrong(turned, free)
