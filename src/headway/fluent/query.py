"""Queries built in Python."""

from __future__ import annotations

from headway.fluent.graph import GraphBuilder
from headway.fluent.stream import Stream
from headway.fluent.values import (
    Duration,
    SchemaLike,
    refuse,
    to_choice,
    to_name,
    to_rate,
    to_schema,
    to_time,
)
from headway.model.arrival import Rate
from headway.model.query import Criticality, LoadShedder, Output, Query, Source


class QueryBuilder(GraphBuilder):
    """A query in the making: sources, operators, outputs.

    >>> q = QueryBuilder("hello")
    >>> speed = q.source("speed", {"v": "double [m/s]"}, rate="1 per 10 ms")
    >>> fast = speed.filter("fast", "v > 30", cost="50 us")
    >>> q.output("alarm", fast, deadline="5 ms")
    >>> query = q.build()
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._sources: list[Source] = []
        self._outputs: dict[str, Output] = {}

    def source(
        self,
        name: str,
        schema: SchemaLike,
        *,
        rate: str | Rate | None = None,
        jitter: Duration = 0,
        gap: Duration | None = None,
        delay: Duration = 0,
        lateness: Duration = 0,
        shed: LoadShedder | None = None,
    ) -> Stream:
        """An input stream; :class:`headway.model.query.Source` tells what the settings mean."""
        at = f"sources.{name}"
        if rate is None and jitter:
            raise refuse("a jitter without a rate", f"{at}.jitter", want="add a rate")
        self._take(name, at)
        self._sources.append(
            Source(
                name=name,
                schema=to_schema(schema, f"{at}.schema"),
                rate=None if rate is None else to_rate(rate, jitter, f"{at}.rate"),
                gap=None if gap is None else to_time(gap, f"{at}.gap"),
                delay=to_time(delay, f"{at}.delay"),
                lateness=to_time(lateness, f"{at}.lateness"),
                shedder=shed,
            )
        )
        return Stream(self, name)

    def output(
        self,
        name: str,
        stream: Stream,
        *,
        deadline: Duration | None,
        criticality: Criticality | str = Criticality.HARD,
        weight: float = 1.0,
    ) -> None:
        """An output stream with its end-to-end deadline; None for none."""
        at = f"outputs.{name}"
        if to_name(name, at) in self._outputs:
            raise refuse(f"the output '{name}' is taken", at, want="choose another")
        self._outputs[name] = Output(
            name=name,
            stream=self._stream(stream, f"{at}.from"),
            deadline=None if deadline is None else to_time(deadline, f"{at}.deadline"),
            criticality=to_choice(Criticality, criticality, f"{at}.criticality"),
            weight=float(weight),
        )

    def build(self) -> Query:
        """The query as a value of the model, equal to the one a YAML file would give."""
        return Query(
            name=self.name,
            sources=tuple(self._sources),
            steps=tuple(self._steps.values()),
            outputs=tuple(self._outputs.values()),
            components=self.library,
        )
