"""Operators with an optional part, twins of those in anytime_users.hpp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headway.model.user_operator import OperatorContext, Row, UserOperator


class Anytime(UserOperator):
    """What its value asks for: 0 nothing, below 0 it refuses the tuple and gives one row, else so
    many rows. A piece halves the way of each to 1, and adds a share of the time, ``of_now``; there
    are as many as ``steps`` says."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._refused: list[tuple[str, str, Row]] = []

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        for port, rows in inputs.items():
            for row in rows:
                if row[1] < 0:
                    self._refused.append(("refused by its class (0)", port, row))
                count = 1 if row[1] < 0 else int(row[1])
                yield from ((None, 0.1 * number) for number in range(count))

    def refine(self, rows: Sequence[Row], now: int) -> Iterator[Sequence[Row]]:
        parameters = self.context.parameters
        share = float(parameters.get("of_now", 0.0)) * float(now % 1000)
        for _ in range(int(parameters["steps"])):
            rows = [(at, v + ((1.0 - v) / 2.0 + share)) for at, v in rows]
            yield rows

    def take_refused(self) -> Sequence[tuple[str, str, Row]]:
        taken, self._refused = self._refused, []
        return taken


class AnytimeTogether(Anytime):
    """The same for two inputs."""
