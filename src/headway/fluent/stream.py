"""A stream in a builder, and the operators that read one stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

from headway.fluent.values import (
    Duration,
    ExpressionLike,
    Options,
    to_columns,
    to_cost,
    to_expression,
    to_time,
)
from headway.model.cost import Cost
from headway.model.operators import Aggregate, Filter, Input, Map
from headway.model.operators.base import ONLY_PORT

if TYPE_CHECKING:
    from headway.fluent.graph import GraphBuilder


class Common(TypedDict):
    """The fields every operator has, as the model wants them."""

    name: str
    cost: Cost | None
    selectivity: float
    most_outputs: int
    timeout: int | None


def common(name: str, at: str, options: Options) -> Common:
    """Options of a call as fields of an operator."""
    return Common(
        name=name,
        cost=to_cost(options["cost"], f"{at}.cost") if "cost" in options else None,
        selectivity=float(options.get("selectivity", 1.0)),
        most_outputs=options.get("most_outputs", 1),
        timeout=to_time(options["timeout"], f"{at}.timeout") if "timeout" in options else None,
    )


class Stream:
    """The output of a source, operator or component; its methods add operators that read it."""

    def __init__(self, builder: GraphBuilder, name: str) -> None:
        self._builder = builder
        self._name = name

    @property
    def name(self) -> str:
        """The stream's name in the query."""
        return self._name

    @property
    def builder(self) -> GraphBuilder:
        """The query or component it belongs to."""
        return self._builder

    def __repr__(self) -> str:
        return f"<stream {self._name} of {self._builder.name}>"

    @property
    def _inputs(self) -> tuple[Input, ...]:
        return (Input(ONLY_PORT, self._name),)

    def filter(self, name: str, where: ExpressionLike, **options: Unpack[Options]) -> Stream:
        """Passes the tuples for which ``where`` is true."""
        at = self._builder.path(name)
        condition = to_expression(where, f"{at}.where")
        return self._builder.add(
            Filter(inputs=self._inputs, where=condition, **common(name, at, options))
        )

    def map(
        self, name: str, columns: Mapping[str, ExpressionLike], **options: Unpack[Options]
    ) -> Stream:
        """Computes all columns of the output."""
        return self._map(name, columns, False, options)

    def set(
        self, name: str, columns: Mapping[str, ExpressionLike], **options: Unpack[Options]
    ) -> Stream:
        """Adds or replaces columns and keeps the others."""
        return self._map(name, columns, True, options)

    def _map(
        self, name: str, columns: Mapping[str, ExpressionLike], keep: bool, options: Options
    ) -> Stream:
        at = self._builder.path(name)
        return self._builder.add(
            Map(
                inputs=self._inputs,
                columns=to_columns(columns, at),
                keep=keep,
                **common(name, at, options),
            )
        )

    def aggregate(
        self,
        name: str,
        columns: Mapping[str, ExpressionLike],
        *,
        window: Duration,
        every: Duration | None = None,
        by: Sequence[str] = (),
        **options: Unpack[Options],
    ) -> Stream:
        """Groups the tuples of each window of sensing time by the columns ``by``."""
        at = self._builder.path(name)
        length = to_time(window, f"{at}.window")
        return self._builder.add(
            Aggregate(
                inputs=self._inputs,
                columns=to_columns(columns, at),
                window=length,
                every=length if every is None else to_time(every, f"{at}.every"),
                by=(by,) if isinstance(by, str) else tuple(by),
                **common(name, at, options),
            )
        )
