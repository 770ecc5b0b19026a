"""A plan that behaves as badly as its declarations allow, whatever its data would be.

A bound holds for every run within the declared rates, delays, costs, partners and most_outputs, so
whoever looks for the worst one needs no recording: each operator gives way to one that works on
three columns of no meaning and gives as many results as its declaration admits. Nodes, tasks, buses
and deadlines stay, and so does all that decides when something happens: kinds of operators that
wait, timeouts, windows, costs.

Columns: ``g``, the group in a window; ``k``, by which tuples are partners (all with the same, up to
the declared number); ``n``, a number of its own for each tuple; ``v``, what a filter asks (it lets
``v >= 0.5`` pass) and a load shedder values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headway.compiler.passes import recompile
from headway.engine.operators.implementations import build_stateful
from headway.engine.operators.join import JoinOperator
from headway.engine.operators.operator_base import StatefulOperator
from headway.errors import InputError
from headway.model.expression import Column, Sql
from headway.model.operators import (
    Aggregate,
    Clock,
    Distinct,
    Filter,
    Gather,
    Join,
    Map,
    Operator,
    Union,
    UserDefined,
)
from headway.model.plan import Plan
from headway.model.schema import Schema, schema
from headway.model.user_operator import Row, UserOperator

COLUMNS = schema(g="bigint", k="bigint", n="bigint", v="double")
PASSES = 1.0
DROPPED = 0.0
"""values of ``v``"""


class StandIn(UserOperator):
    """In place of a class of the user: for each tuple of an execution so many rows as it may give
    (or one for all), with the oldest timestamp of the execution."""

    def process(self, inputs: Mapping[str, Sequence[Row]], now: int) -> Iterable[Row]:
        rows = [(None, *row[1:]) for port in inputs.values() for row in port]
        if self.context.parameters.get("one"):
            return rows[:1]
        times = range(int(self.context.parameters["rows"]))
        return [row for row in rows for _ in times]

    def refine(self, rows: Sequence[Row], now: int) -> Iterator[Sequence[Row]]:
        """An optional part that never has less to do than declared."""
        while True:
            yield rows


@dataclass(frozen=True, kw_only=True)
class Clocked(UserDefined):
    """In place of an operator that reads at the instants of a clock: what it reads is one row."""

    read_by: Clock

    @property
    def clock(self) -> Clock:
        return self.read_by


class LimitedJoin(JoinOperator):
    """Pairs whatever meets, until a tuple has as many partners as are declared: which those are is
    for conditions on the data to say, so they may be any."""

    def __init__(self, operator: Join, inputs: Mapping[str, Schema], output: Schema) -> None:
        super().__init__(operator, inputs, output)
        self._partners: dict[int, tuple[Row, int]] = {}
        """by the identity of a row on the limited side; the row is kept, and so its identity"""

    def _pair(self, pair: tuple[Row, Row], timestamp: int, results: list[Row], port: str) -> bool:
        if self._most is None:
            return super()._pair(pair, timestamp, results, port)
        if self._limited is None:
            if len(results) >= self._most:
                return False
            return super()._pair(pair, timestamp, results, port)
        row = pair[self._limited]
        _, count = self._partners.get(id(row), (row, 0))
        if count >= self._most:
            return False
        self._partners[id(row)] = (row, count + 1)
        return super()._pair(pair, timestamp, results, port)


CLASS = f"{StandIn.__module__}:{StandIn.__name__}"


def build_stand_in(operator: Operator, schemas: Mapping[str, Schema]) -> StatefulOperator:
    """What runs an operator of a plan with stand-ins."""
    if isinstance(operator, Join):
        inputs = {port.port: schemas[port.stream] for port in operator.inputs}
        return LimitedJoin(operator, inputs, schemas[operator.name])
    return build_stateful(operator, schemas)


def stand_in_plan(plan: Plan) -> Plan:
    """The plan with stand-ins, every operator where it was, and with the verdict of the original;
    InputError for an operator of a kind that has none."""
    steps = tuple(_stand_in(operator) for operator in plan.query.operators)
    sources = tuple(
        replace(
            source,
            schema=COLUMNS,
            shedder=source.shedder and replace(source.shedder, value=Sql("v")),
        )
        for source in plan.query.sources
    )
    query = replace(plan.query, sources=sources, steps=steps)
    return replace(recompile(plan, query), verdict=plan.verdict)


def _stand_in(operator: Operator) -> Operator:
    match operator:
        case Union():
            return operator
        case Filter():
            return replace(operator, where=Sql("v >= 0.5"))
        case Map():
            return replace(operator, columns=(), keep=True)
        case Distinct():
            return replace(operator, keys=("n",))
        case Join():
            return _join(operator)
        case Aggregate():
            by = ("g",) if operator.by else ()
            rest = [name for name in COLUMNS.names if name not in by]
            columns = tuple(Column(name, Sql(f"max({name})")) for name in rest)
            return replace(operator, by=by, columns=columns)
        case _:
            return _custom(operator)


def _join(join: Join) -> Join:
    left, right = (port.port for port in join.inputs)
    columns = tuple(
        Column(name, Sql(f"coalesce({left}.{name}, {right}.{name})")) for name in COLUMNS.names
    )
    return replace(join, keys=(("k", "k"),), where=None, columns=columns)


def _custom(operator: Operator) -> UserDefined:
    if operator.traits.emits_on_time or operator.makes_pairs or operator.holds_for is not None:
        raise InputError(
            f"an operator of the kind {operator.kind!r} cannot be stood in for",
            at=f"operators.{operator.name}",
            want="attack a plan without it",
        )
    if operator.clock is not None:
        return Clocked(
            name=operator.name,
            inputs=operator.inputs,
            cost=operator.cost,
            most_outputs=1,
            implementation=CLASS,
            schema=COLUMNS,
            parameters=(("rows", 1), ("one", True)),
            read_by=operator.clock,
        )
    rows = operator.most_outputs
    if rows is None:
        rows = max(1, round(operator.selectivity))
    return UserDefined(
        name=operator.name,
        inputs=operator.inputs,
        cost=operator.cost,
        selectivity=operator.selectivity,
        most_outputs=operator.most_outputs,
        timeout=operator.timeout,
        implementation=CLASS,
        schema=COLUMNS,
        gather=operator.gathering or Gather.ALL,
        parameters=(("rows", rows),),
        optional=operator.optional_part,
    )
