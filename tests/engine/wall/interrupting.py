"""Operators that send their own process a signal: Ctrl-C at a moment that is the same each time."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import OperatorContext, Row, UserOperator


class Interrupting(UserOperator):
    """Passes tuples on; with tuple number ``at`` it raises signal ``number``."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._seen = 0

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        self._seen += 1
        if self._seen == int(self.context.parameters["at"]):
            signal.raise_signal(int(self.context.parameters["number"]))
        return [row for rows in inputs.values() for row in rows]
