"""The worked examples that have no exact table: AEDSMS figure 2, S-EDF section 2, and the query of
ROP-EDF figure 10, run here and now; claims by value, and that they fail on other rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from headway.model.quantities import MILLISECOND
from headway.model.taskset import FULL
from headway.schedule.online.reservation import ReservedJob, TaskFacts
from headway_studies.aedsms import waiting_messages
from headway_studies.aedsms.waiting_messages import JUST_SENT, ONE_INSTANT, URGENT
from headway_studies.provenance import Origin
from headway_studies.rop_edf import two_deadlines
from headway_studies.rop_edf.task_set_rows import ChainOfPaths
from headway_studies.row_reading import number, where
from headway_studies.s_edf import old_and_new
from headway_studies.study import Row, Scalar, Study, Verdict


@cache
def rows(study: Study) -> tuple[Row, ...]:
    return tuple(row for cell in study.cells(True) for row in study.run(cell))


def spoilt(study: Study, wanted: Mapping[str, Scalar], **new: Scalar) -> list[Row]:
    """The rows with other values where they have the ``wanted`` ones."""
    assert where(rows(study), **wanted)
    return [
        {**row, **new} if all(row.get(key) == value for key, value in wanted.items()) else row
        for row in rows(study)
    ]


# ---------------------------------------------------------------- AEDSMS figure 2

MESSAGES = waiting_messages.STUDY


@pytest.mark.parametrize(
    ("reading", "policy", "latency", "order"),
    [
        (JUST_SENT, "fifo+", 95 + 30 + 7 * 30, [0, 1, 2, 3, 4, 5, 6, 7]),
        (JUST_SENT, "s-edf", 95 + 30, [7, 0, 1, 2, 3, 4, 5, 6]),
        (ONE_INSTANT, "fifo+", 5 + 8 * 30, [0, 1, 2, 3, 4, 5, 6, 7]),
        (ONE_INSTANT, "s-edf", 5 + 8 * 30, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_the_message_about_x(reading: str, policy: str, latency: int, order: list[int]) -> None:
    found = where(rows(MESSAGES), reading=reading, policy=policy)
    assert [row["message"] for row in found] == order
    (urgent,) = where(found, message=URGENT)
    assert number(urgent, "latency") == latency
    assert urgent["missed"] is (latency > 300)


def test_the_claims_of_figure_2() -> None:
    claims = MESSAGES.analyse(rows(MESSAGES)).claims
    assert [claim.verdict for claim in claims] == [
        Verdict.EQUAL, Verdict.SAME, Verdict.SAME, Verdict.DIFFERS,
    ]  # fmt: skip
    assert claims[0].came.origin is Origin.PRINTED
    assert claims[0].ours == "335 ms"
    assert "3 of the 7" in claims[3].why


@pytest.mark.parametrize(
    ("place", "wanted", "new"),
    [
        (0, {"reading": JUST_SENT, "policy": "fifo+", "message": URGENT}, {"latency": 334.0}),
        (2, {"reading": JUST_SENT, "policy": "s-edf", "message": 3}, {"missed": True}),
    ],
)
def test_other_rows_are_not_figure_2(
    place: int, wanted: dict[str, Scalar], new: dict[str, Scalar]
) -> None:
    found = spoilt(MESSAGES, wanted, **new)
    assert MESSAGES.analyse(found).claims[place].verdict is Verdict.DIFFERS


def test_the_message_about_x_must_go_first() -> None:
    assert MESSAGES.analyse(rows(MESSAGES)[::-1]).claims[1].verdict is Verdict.DIFFERS


# ---------------------------------------------------------------- S-EDF section 2

SECTION_2 = old_and_new.STUDY


def warnings(policy: str, age: int) -> list[float]:
    found = where(rows(SECTION_2), policy=policy, age=age, what="output", name="warning")
    return [number(row, "end") for row in found]


def test_warnings_of_new_tuples() -> None:
    """FIFO+: 300 ms of old work, then 60 ms a tuple, 40 of them before its warning. S-EDF: o2 and
    o3 of all five, then o4 and o6 of each, in 200 ms."""
    assert warnings("fifo+", 0) == [340, 400, 460, 520, 580]
    assert warnings("s-edf", 0) == [120, 140, 160, 180, 200]
    for age, missed in ((0, 5), (100, 5)):
        assert (
            sum(bool(row["missed"]) for row in where(rows(SECTION_2), policy="fifo+", age=age))
            == missed
        )
        assert not any(row["missed"] for row in where(rows(SECTION_2), policy="s-edf", age=age))


def test_the_graph_is_what_the_text_says() -> None:
    followers = {
        name: sorted(one for one, streams in old_and_new.INPUTS.items() if name in streams)
        for name in old_and_new.INPUTS
    }
    assert followers["o3"] == ["o4", "o5"]
    assert all(len(after) <= 1 for name, after in followers.items() if name != "o3")
    information = where(rows(SECTION_2), policy="fifo+", age=0, what="output", name="information")
    old = [number(row, "end") for row in information if number(row, "number") < 0]
    assert (len(old), max(old)) == (15, 300)
    assert max(number(row, "end") for row in information) == 300 + 5 * 60


def test_the_claims_of_section_2() -> None:
    claims = SECTION_2.analyse(rows(SECTION_2)).claims
    assert [claim.verdict for claim in claims] == [Verdict.SAME, Verdict.SAME, Verdict.BEYOND]
    assert "0 missed; the last warning is ready 300 ms after sensing" in claims[2].ours
    early = spoilt(SECTION_2, {"policy": "fifo+", "name": "warning", "number": 0}, end=300.0)
    assert SECTION_2.analyse(early).claims[0].verdict is Verdict.DIFFERS
    late = spoilt(SECTION_2, {"policy": "s-edf", "name": "information", "number": -1}, missed=True)
    assert SECTION_2.analyse(late).claims[1].verdict is Verdict.DIFFERS


# ---------------------------------------------------------------- ROP-EDF figure 10

QUERY = two_deadlines.STUDY


def test_trains_of_figure_10() -> None:
    """Group A goes by the shorter deadline, whatever navigation still has to do behind it."""
    found = {task.operators: task.relative_deadline for task in two_deadlines.plan().tasks}
    assert found == {
        ("map1", "join1", "map3"): 100 * MILLISECOND,
        ("map2", "join1", "map3"): 100 * MILLISECOND,
        ("map4", "join2", "join3"): 150 * MILLISECOND,
        ("join2", "join3"): 150 * MILLISECOND,
        ("join3",): 150 * MILLISECOND,
    }


def test_warnings_in_time() -> None:
    def late(policy: str) -> list[int]:
        found = where(rows(QUERY), policy=policy, output="warning")
        return [20 - int(number(row, "tuples") - number(row, "missed")) for row in found]

    assert {policy: late(policy) for policy in two_deadlines.POLICIES} == {
        "chain": [0, 20, 20],
        "rtstream": [0, 9, 18],
        "op-edf": [0, 10, 18],
        "rate-monotonic": [0, 20, 20],
        "er-edf": [0, 20, 20],
        "cbs": [0, 0, 0],
        "rop-edf-1": [0, 0, 0],
        "rop-edf-2": [0, 0, 0],
    }


def test_the_claims_of_figure_10() -> None:
    claims = QUERY.analyse(rows(QUERY)).claims
    kinds = [claim.verdict for claim in claims]
    assert kinds == [Verdict.SAME] * 6 + [Verdict.BEYOND] * 2
    late: dict[str, Scalar] = {"policy": "rop-edf-1", "rate": 400, "output": "warning"}
    assert QUERY.analyse(spoilt(QUERY, late, missed=1)).claims[5].verdict is Verdict.DIFFERS
    assert claims[5].came.origin is Origin.CHANGED


def test_chain_of_paths_goes_by_mean_work() -> None:
    """U · D: 5 of 10, 3 of 20, 5 of 10 again."""
    tasks = [
        TaskFacts(name, True, period, period, use * FULL // 100, FULL)
        for name, period, use in (("a", 10, 50), ("b", 20, 15), ("c", 20, 25))
    ]
    ledger = ChainOfPaths().open(tasks)
    jobs = [ReservedJob(task, 0, 10, 1, FULL, task) for task in range(3)]
    assert all(ledger.admit(job) for job in jobs)
    assert [job.due for job in jobs] == [1, 0, 1]
