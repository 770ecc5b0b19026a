"""The gate: who waits longest for nothing, and in what order batches come through."""

from __future__ import annotations

import threading

from tests.waiting import PATIENCE_S, until

from headway.spark.session.urgency import Gate, NoGate


def through(gate: Gate | NoGate, deadlines: list[int]) -> list[int]:
    """The order in which batches with these deadlines pass; all wait behind one that is inside."""
    passed: list[int] = []
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with gate.passing(0):
            inside.set()
            leave.wait(PATIENCE_S)

    def batch(deadline: int) -> None:
        with gate.passing(deadline):
            passed.append(deadline)

    threads = [threading.Thread(target=first)]
    threads[0].start()
    assert inside.wait(PATIENCE_S)
    for deadline in deadlines:
        threads.append(threading.Thread(target=batch, args=(deadline,)))
        threads[-1].start()
        until(lambda: gate.waiting + len(passed) == len(threads) - 1, every=0.001)
    leave.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    return passed


def test_the_earliest_deadline_passes_first() -> None:
    assert through(Gate(), [5, 3, 9, 1]) == [1, 3, 5, 9]


def test_without_the_gate_they_pass_as_they_come() -> None:
    assert through(NoGate(), [5, 3, 9, 1]) == [5, 3, 9, 1]


def test_a_batch_that_fails_lets_the_next_one_in() -> None:
    gate = Gate()
    for _ in range(2):
        try:
            with gate.passing(1):
                raise ValueError
        except ValueError:
            pass
    assert through(gate, [2]) == [2]


def test_nobody_waits_when_the_run_is_over() -> None:
    gate = Gate()
    with gate.passing(1):
        waiter = threading.Thread(target=lambda: gate.passing(2).__enter__())
        waiter.start()
        gate.give_up()
        waiter.join(PATIENCE_S)
    assert not waiter.is_alive()
