"""User-defined operators for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import Row, UserOperator


class PassOn(UserOperator):
    """Gives one row per execution: the first tuple of the first port that has one."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        for rows in inputs.values():
            if rows:
                return [(None, *rows[0][1:])]
        return []
