"""The backlog of tuples that wait to run as a batch, alone."""

from __future__ import annotations

import random
from collections.abc import Iterable

from headway.engine.fast_path import Backlog
from headway.model.user_operator import Row


def rows_of(*timestamps: int) -> list[Row]:
    return [(timestamp,) for timestamp in timestamps]


def taken(backlog: Backlog, most: int, limit: int | None = None) -> list[int]:
    return [row[0] for row in backlog.take(most, lambda row: row[0], limit)]


def test_backlog_gives_the_oldest_first() -> None:
    backlog = Backlog()
    assert backlog.add(rows_of(1, 5, 9)) == []
    assert backlog.add(rows_of(0, 2, 12)) == rows_of(0)
    assert (len(backlog), backlog.oldest) == (5, 1)
    assert taken(backlog, 2) == [1, 2]
    assert backlog.add(rows_of(3, 5, 6)) == rows_of(3)
    assert taken(backlog, 9, limit=6) == [5, 5, 6]
    assert taken(backlog, 9, limit=0) == [9]
    assert taken(backlog, 9) == [12]
    assert not backlog


def test_backlog_is_the_same_as_a_sorted_list() -> None:
    draw = random.Random(1)
    backlog = Backlog()
    model: list[int] = []
    for _ in range(3000):
        if draw.random() < 0.5:
            new = sorted(draw.randint(0, 100) for _ in range(draw.randint(1, 6)))
            older = [row[0] for row in backlog.add(rows_of(*new))]
            assert older == ([one for one in new if one < model[0]] if model else [])
            model = sorted([*model, *new[len(older) :]])
        elif model:
            most, limit = draw.randint(1, 8), draw.choice((None, draw.randint(0, 100)))
            wanted = within(model[:most], limit)
            assert taken(backlog, most, limit) == wanted
            model = model[len(wanted) :]
        assert len(backlog) == len(model)
        assert not model or backlog.oldest == model[0]


def within(timestamps: Iterable[int], limit: int | None) -> list[int]:
    first, *rest = timestamps
    return [first, *(one for one in rest if limit is None or one <= limit)]
