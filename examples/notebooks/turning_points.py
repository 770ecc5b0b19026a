"""The operator of write_an_operator.ipynb, in a module so that nodes and workers can import it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import OperatorContext, Row, State, UserOperator


class TurningPoints(UserOperator):
    """Passes a value where a signal turns by more than ``least``: the peaks and the troughs."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._least = float(context.parameters.get("least", 1.0))
        self._extreme: float | None = None
        self._rising = True

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        for _, v in inputs["signal"]:
            if v is None:
                continue
            if self._extreme is None or (v > self._extreme) == self._rising:
                self._extreme = v
            elif abs(v - self._extreme) > self._least:
                yield None, self._extreme, self._rising
                self._extreme, self._rising = v, not self._rising

    def snapshot(self) -> State:
        return {"extreme": self._extreme, "rising": self._rising}

    def restore(self, state: State) -> None:
        self._extreme, self._rising = state["extreme"], state["rising"]
