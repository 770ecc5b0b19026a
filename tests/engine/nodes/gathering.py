"""An operator of a user, in a module of its own: it is carried into the executables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import Row, UserOperator


class Latest(UserOperator):
    """How many tuples came on each side."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        return [(None, len(inputs["left"]), len(inputs["right"]))]
