"""What reservations keep of tuples and jobs, entry by entry: where a tuple comes from, when a job
has overrun, and who is let in."""

from __future__ import annotations

import pytest
from tests.engine.reserving.small import MS, TWO_STEPS, plan_of

from headway.engine import reservations
from headway.engine.kernel import Sink
from headway.engine.path_tasks import PathTasks
from headway.engine.program import build_program
from headway.engine.reservations import PathJob, Reservations
from headway.engine.reserved_paths import PathPlace, Policer
from headway.engine.trace import Trace
from headway.engine.virtual_time import VirtualTime
from headway.model.quantities import ArrivalCurve, Rate
from headway.model.taskset import FULL
from headway.schedule.online.cbs import Servers
from headway.schedule.online.er_edf import SharedByTuples
from headway.schedule.online.reservation import JobState, Ledger, ReservationPolicy, TaskFacts
from headway.schedule.online.rop_edf import ReservedEdf1

PLACE = PathPlace(node="ecu", task=0, hard=False, stage=0)
TASK = TaskFacts(name="t", hard=False, period=100, deadline=100, average=100_000, peak=FULL)


def opened(policy: ReservationPolicy | None = None) -> Reservations:
    chosen = policy or ReservedEdf1()
    plan = plan_of(TWO_STEPS)
    program = build_program(plan, chosen)
    sinks: dict[str, Sink] = dict.fromkeys(("brake", "show"), lambda row, completed: None)
    time = VirtualTime(
        plan, program, chosen, sinks=sinks, on_drop=lambda dropped, now: None, trace=Trace()
    )
    return Reservations(PathTasks(plan, program).tables(), time, chosen)


def test_a_tuple_takes_its_source_along() -> None:
    """Radar is source 0 and v2v source 1; another process says so by number, or that it does not
    know, and so does a number that is of no source."""
    found = opened()
    roots = [found.coming(number) for number in (1, 0, 2, reservations.UNKNOWN, 1)]
    assert roots == [1, 2, 3, 4, 5]
    assert [found.leaving(root) for root in roots] == [1, 0] + [reservations.UNKNOWN] * 2 + [1]
    assert [found._source_of(root) for root in roots] == ["v2v", "radar", None, None, "v2v"]
    for unheard_of in (0, 6, -1):
        assert found.leaving(unheard_of) == reservations.UNKNOWN


def test_sources_are_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of them when there are more than are to be remembered; gaps between roots are kept."""
    monkeypatch.setattr(reservations, "MOST_ORIGINS", 4)
    found = opened()
    found._note_origin(3, 1)  # 0 to 2 are of none
    assert [found.leaving(root) for root in range(5)] == [reservations.UNKNOWN] * 3 + [1, 65535]
    found._note_origin(4, 0)
    assert [found.leaving(root) for root in range(1, 5)] == [reservations.UNKNOWN] * 2 + [1, 0]
    assert found._first_root == 2
    found._note_origin(5, 1)
    assert [found.leaving(root) for root in (2, 3, 4, 5)] == [reservations.UNKNOWN, 1, 0, 1]


def job(ledger: Ledger, left: int = 30, deadline: int = 100, now: int = 0) -> PathJob:
    return PathJob(ledger, PLACE, now, deadline, left)


def state_of(one: PathJob) -> JobState:
    return one.state


def test_what_a_job_uses_of_the_processor() -> None:
    """Its work over the time that it has, rounded up; without time more than all of it."""
    ledger = Ledger([TASK])
    assert job(ledger).utilisation == 300_000
    assert job(ledger, 1, 3).utilisation == 333_334
    assert job(ledger, 10, 20, now=15).utilisation == 2 * FULL
    assert job(ledger, 10, 15, now=15).utilisation == FULL + 1
    assert job(ledger, 10, 16, now=15).utilisation == 10 * FULL
    found = job(ledger, 10, 20, now=15)
    assert (found.release, found.deadline, found.left, found.task) == (15, 20, 10, 0)
    assert (found.pending, found.number, found.place, found.ledger) == (0, 0, PLACE, ledger)


def test_how_a_job_is_ordered() -> None:
    """By its train's deadline, or by the one that its server gave it; one that has overrun last."""
    own, served = job(SharedByTuples([TASK])), job(Servers([TASK]))
    served.due = 70
    assert own.key(55) == (0, 55)
    assert served.key(55) == (0, 70)
    own.state = JobState.OVERRUN
    assert own.key(55) == (1, 100)


def test_when_a_job_has_overrun() -> None:
    """Before an operator that its budget does not hold, if another waits. Alone it goes on, unless
    it takes all of the processor."""
    ledger = SharedByTuples([TASK])
    found = job(ledger)
    found.budget = 10
    assert not found.overruns(10, others=True)
    assert not found.overruns(11, others=False)
    assert state_of(found) is JobState.DORMANT
    assert found.overruns(11, others=True)
    assert state_of(found) is JobState.OVERRUN
    assert not found.overruns(11, others=True)  # once is enough
    greedy = job(ledger, left=100)
    greedy.budget = 10
    assert greedy.overruns(11, others=False)
    lenient = job(Ledger([TASK]))  # its books enforce nothing
    lenient.budget = 0
    assert not lenient.overruns(1, others=True)


def test_a_server_gives_later_budgets_until_one_holds_the_operator() -> None:
    servers = Servers([TASK])  # 10 in 100
    found = job(servers)
    servers.admit(found)
    assert (found.due, found.budget) == (100, 10)
    assert not found.overruns(25, others=True)
    assert (found.due, found.budget, found.state) == (300, 30, JobState.DORMANT)


def test_a_source_keeps_to_all_of_its_rates() -> None:
    """Two in 10 and three in 100; who is turned away takes no place."""
    policer = Policer(ArrivalCurve((Rate(2, 10), Rate(3, 100))))
    times = (0, 1, 9, 10, 11, 99, 100, 101, 109, 110)
    assert [policer.lets_in(time) for time in times] == [
        True, True, False, True, False, False, True, True, False, True,
    ]  # fmt: skip


def test_jobs_of_a_node_are_released_with_their_work() -> None:
    """`distance` takes 10 of 20 ms and is hard, and one operator of 4 ms may be in its way: so 30 %
    are left. A tuple that is late in its path has 40 ms for 8."""
    found = opened()
    books = found.books
    units = {unit.operators[0]: unit for unit in found._kernel.program.units}
    first = units["first"]
    place = found._paths.place(first.name, "v2v")
    assert place is not None
    released = books.release(first, "input", "v2v", place, 40 * MS, 0, 1)
    assert released is not None
    assert (released.left, released.deadline, released.pending) == (8 * MS, 40 * MS, 1)
    assert (released.state, released.number) == (JobState.READY, 1)
    assert released.held == 200_000
    # no more than 10 % are left
    assert books.release(first, "input", "v2v", place, 40 * MS, 0, 1) is None
    released.pending = 2
    assert books.ended(released, MS) is None
    assert state_of(released) is JobState.READY
    assert books.ended(released, MS) is None
    assert state_of(released) is JobState.DORMANT
