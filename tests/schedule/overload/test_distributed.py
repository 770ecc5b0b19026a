"""Reservations over several nodes: all or nothing, and safe on every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.overload.support import MS, shares

from headway.errors import TaskSetError
from headway.model.taskset import FULL, Constant, OverloadTask, TaskKind, TaskSet
from headway.schedule.online import overload_policy_named
from headway.schedule.overload.admission_over_nodes import (
    Admission,
    NodeBooks,
    NodePath,
    Stage,
    check_paths,
)
from headway.schedule.overload.one_processor import in_order, simulate
from headway_studies.beyond.across_nodes import draw_jobs, node_jobs

NODES = ("n1", "n2", "n3")
DURATION = 400 * MS


def random_paths(random: np.random.Generator, overhead: int = 0) -> list[NodePath]:
    """Hard paths that together need 1 − α of every node; soft ones that ask for up to 300 %."""
    counts = {TaskKind.HARD: int(random.integers(1, 4)), TaskKind.SOFT: int(random.integers(2, 7))}
    paths: list[NodePath] = []
    for kind, count in counts.items():
        most = random.choice([0.5, 0.8, 1.0]) if kind is TaskKind.HARD else random.uniform(0.5, 3)
        peaks = {node: shares(random, count, int((FULL - overhead) * most)) for node in NODES}
        for number in range(count):
            gap = int(random.integers(10, 60)) * MS
            nodes = random.permutation(NODES)[: random.integers(1, 4)]
            paths.append(
                NodePath(
                    name=f"{kind.value}{number}",
                    kind=kind,
                    gap=gap,
                    stages=tuple(
                        Stage(
                            node=str(node),
                            window=int(gap * random.uniform(0.3, 1)),
                            peak=peaks[str(node)][number],
                            latency=int(random.integers(0, 8)) * MS,
                        )
                        for node in nodes
                    ),
                )
            )
    return paths


def late_stages(
    paths: Sequence[NodePath], admission: Admission, random: np.random.Generator
) -> int:
    """Admitted stages, hard or soft, that did not end within their window on their node."""
    jobs = draw_jobs(paths, DURATION, random)
    seen, _ = node_jobs(paths, jobs, admission)
    tasks = tuple(
        OverloadTask(
            name=path.name, kind=path.kind, period=path.gap, deadline=path.gap,
            utilisation=Constant(1),
        )
        for path in paths
    )  # fmt: skip
    late = 0
    for node, stages in seen.items():
        on_node = TaskSet(name=node, tasks=tasks)
        releases = in_order(tasks, list(stages))
        outcome = simulate(on_node, releases, overload_policy_named("op-edf"), 2 * DURATION)
        late += sum(task.late for task in outcome.tasks)
    return late


def test_every_admitted_stage_is_in_time_on_its_node() -> None:
    for number in range(300):
        random = np.random.default_rng([8, number])
        overhead = int(random.choice([0, 50_000]))
        paths = random_paths(random, overhead)
        assert late_stages(paths, Admission(paths, overhead), random) == 0


def test_all_or_nothing_leaves_nothing_behind() -> None:
    turned_down = 0
    for number in range(100):
        random = np.random.default_rng([9, number])
        paths = random_paths(random)
        admission = Admission(paths)
        held: dict[str, list[tuple[int, int, int]]] = {node: [] for node in admission.books}
        for release, index, uses in draw_jobs(paths, DURATION, random):
            admitted = admission.admit(paths[index], release, uses)
            turned_down += not admitted
            if admitted and not paths[index].hard:
                for (stage, opens, closes), use in zip(
                    paths[index].windows(release), uses, strict=True
                ):
                    held[stage.node].append((opens, closes, use))
            for node, books in admission.books.items():
                held[node] = [one for one in held[node] if one[1] > release]
                assert sorted(books.reserved) == sorted(held[node])
                for opens, closes, _ in held[node]:
                    assert books.most(opens, closes) <= books.capacity
    assert turned_down > 100


class Careless(Admission):
    """Admits whoever finds room on the first node."""

    def admit(self, path: NodePath, release: int, uses: Sequence[int]) -> bool:
        first = path.windows(release)[0]
        books = self.books[first[0].node]
        books.return_until(release)
        if not path.hard and not books.fits(first[1], first[2], uses[0]):
            return False
        if not path.hard:
            books.reserve(first[1], first[2], uses[0])
        return True


def test_admission_on_the_first_node_only_is_caught() -> None:
    late = 0
    for number in range(40):
        random = np.random.default_rng([8, number])
        paths = random_paths(random)
        late += late_stages(paths, Careless(paths), random)
    assert late > 0


def test_a_path_that_comes_back_to_a_node_counts_twice() -> None:
    stages = tuple(Stage(node="n1", window=10 * MS, peak=600_000, latency=0) for _ in range(2))
    path = NodePath(name="there and back", kind=TaskKind.SOFT, gap=100 * MS, stages=stages)
    admission = Admission([path])
    assert admission.admit(path, 0, (600_000, 600_000))  # one after the other: they fit
    assert not admission.admit(path, 5 * MS, (600_000, 600_000))
    assert admission.admit(path, 20 * MS, (600_000, 600_000))


def test_hard_paths_beyond_a_node_are_named() -> None:
    def path(name: str) -> NodePath:
        stage = Stage(node="n1", window=10 * MS, peak=600_000)
        return NodePath(name=name, kind=TaskKind.HARD, gap=10 * MS, stages=(stage,))

    with pytest.raises(TaskSetError, match="hard paths need 120 % of 'n1'; got a 60 %, b 60 %"):
        check_paths([path("a"), path("b")])


def test_the_end_to_end_deadline_includes_communication() -> None:
    first = Stage(node="n1", window=10, peak=1, latency=3)
    path = NodePath(
        name="p", kind=TaskKind.HARD, gap=50, stages=(first, Stage(node="n2", window=20, peak=1))
    )
    assert path.deadline == 33
    assert [(opens, closes) for _, opens, closes in path.windows(100)] == [(100, 110), (113, 133)]


def test_books_of_a_node_by_hand() -> None:
    """60 % until 10 and 30 % from 5 to 15: both between 5 and 10. Windows that only touch do not
    overlap, and a reservation ends with its window."""
    books = NodeBooks(FULL)
    books.reserve(5, 15, 300_000)
    books.reserve(0, 10, 600_000)
    windows = ((0, 5), (4, 6), (5, 10), (9, 20), (10, 15), (15, 20), (0, 20))
    most = [books.most(*window) for window in windows]
    assert most == [600_000, 900_000, 900_000, 900_000, 300_000, 0, 900_000]
    assert books.fits(5, 10, 100_000)
    assert not books.fits(5, 10, 100_001)
    assert books.fits(15, 20, FULL)
    books.return_until(9)
    assert books.reserved == [(0, 10, 600_000), (5, 15, 300_000)]
    books.return_until(10)
    assert books.reserved == [(5, 15, 300_000)]


def test_what_soft_paths_find_left() -> None:
    """1 − α without the hard stages, which have theirs whatever they use of it."""
    window = 10 * MS
    hard = NodePath(
        name="h",
        kind=TaskKind.HARD,
        gap=window,
        stages=(Stage(node="n", window=window, peak=600_000),),
    )
    soft = NodePath(
        name="s",
        kind=TaskKind.SOFT,
        gap=window,
        stages=(Stage(node="n", window=window, peak=FULL),),
    )
    assert check_paths([hard, soft], 100_000) == {"n": 300_000}
    assert check_paths([hard], 400_000) == {"n": 0}
    admission = Admission([hard, soft], 100_000)
    assert admission.admit(hard, 0, (600_000,))
    assert not admission.admit(hard, 0, (600_001,))
    both = replace(hard, stages=hard.stages * 2)
    assert admission.admit(both, 0, (600_000, 600_000))
    assert not admission.admit(both, 0, (1, 600_001))
    assert admission.admit(soft, 0, (300_000,))
    assert not admission.admit(soft, window - 1, (1,))
    assert admission.admit(soft, window, (300_000,))
    with pytest.raises(TaskSetError, match="window is longer than its gap"):
        check_paths([replace(hard, gap=window - 1)])
    with pytest.raises(TaskSetError, match=r"hard paths need 60 % of 'n'.*at most 59\.9999 %"):
        check_paths([hard], 400_001)
