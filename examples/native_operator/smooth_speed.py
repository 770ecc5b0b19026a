"""The mean of a speed in which older readings count less and less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.model.user_operator import OperatorContext, Row, State, UserOperator


class SmoothSpeed(UserOperator):
    """``weight`` (0 to 1) is how much a new reading counts."""

    def open(self, context: OperatorContext) -> None:
        super().open(context)
        self._weight = float(context.parameters.get("weight", 0.5))
        self._mean, self._readings = 0.0, 0

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        for _, v in inputs["speed"]:
            if v is None:
                continue
            self._mean = v if self._readings == 0 else self._mean + self._weight * (v - self._mean)
            self._readings += 1
            yield None, self._mean, self._readings

    def snapshot(self) -> State:
        return {"mean": self._mean, "readings": self._readings}

    def restore(self, state: State) -> None:
        self._mean, self._readings = state["mean"], state["readings"]
