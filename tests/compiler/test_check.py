"""The pass ``check``: every structural problem, with its words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.compiler.build import VALUE, identity, query_of, source

from headway.compiler.check_query import query_problems
from headway.compiler.front_end import check_query
from headway.compiler.passes import compile_query
from headway.errors import QueryError, VehicleError
from headway.model.expression import Sql
from headway.model.operators import Input, Join, Map, Union
from headway.model.quantities import MILLISECOND, Cost, Rate
from headway.model.query import Component, ComponentUse, LoadShedder, Output, Port, Query
from headway.model.schema import schema
from headway.model.vehicle import Node, Vehicle

GOOD = query_of([("s", "a"), ("a", "out")], {"out": 10 * MILLISECOND})
PART = Component(
    name="part",
    inputs=(Port(name="x", schema=VALUE),),
    steps=(identity("m", ["x"]),),
    outputs=(("y", "m"),),
)
USING = replace(
    GOOD,
    steps=(ComponentUse(name="u", component="part", inputs=(Input("x", "s"),)),),
    outputs=(Output(name="out", stream="u.y", deadline=1),),
    components=(PART,),
)


def problems(query: Query, *, timed: bool = False) -> list[str]:
    return [str(problem) for problem in query_problems(query, timed=timed)]


def with_operator(**changes: object) -> Query:
    return replace(GOOD, steps=(replace(GOOD.steps[0], **changes),))  # type: ignore[arg-type]


def with_source(**changes: object) -> Query:
    return replace(GOOD, sources=(replace(GOOD.sources[0], **changes),))  # type: ignore[arg-type]


def with_output(**changes: object) -> Query:
    return replace(GOOD, outputs=(replace(GOOD.outputs[0], **changes),))  # type: ignore[arg-type]


def with_component(**changes: object) -> Query:
    return replace(USING, components=(replace(PART, **changes),))  # type: ignore[arg-type]


def test_good_queries_have_none() -> None:
    assert problems(GOOD, timed=True) == []
    assert problems(USING, timed=True) == []


JOIN = Join(name="j", inputs=(Input("l", "s"), Input("r", "s")), within=1, cost=Cost(1))
CASES: dict[str, tuple[Query, list[str]]] = {
    "no source": (
        replace(GOOD, sources=(), steps=(), outputs=()),
        [
            "sources: the query has no source; declare at least one",
            "outputs: the query has no output; declare at least one",
        ],
    ),
    "bad name": (
        replace(GOOD, sources=(source("s"), source("9x"))),
        [
            "sources.9x: '9x' cannot be a name; use letters, digits and '_', not starting with a "
            "digit, at most 63",
            "sources.9x: nothing reads this stream; use it or remove it",
        ],
    ),
    "name twice": (
        replace(GOOD, steps=(*GOOD.steps, *GOOD.steps)),
        ["operators.a: the name 'a' is taken; choose another"],
    ),
    "operator named like a source": (
        replace(
            GOOD,
            steps=(identity("s", ["s"]),),
            outputs=(Output(name="out", stream="s", deadline=1),),
        ),
        [
            "operators.s: the name 's' is taken; choose another",
            "operators.s: the streams form a cycle; got s <- s; a query is an acyclic graph: "
            "remove one of these inputs",
        ],
    ),
    "unknown stream": (
        replace(GOOD, steps=(identity("a", ["s"]), identity("b", ["aa"]))),
        [
            "operators.b.inputs.in0: unknown stream 'aa'; did you mean 'a'?",
            "operators.b: nothing reads stream 'b'; feed it to an operator or an output, or "
            "remove it",
        ],
    ),
    "output of an unknown stream": (
        with_output(stream="zzz"),
        [
            "operators.a: nothing reads stream 'a'; feed it to an operator or an output, or "
            "remove it",
            "outputs.out.from: unknown stream 'zzz'",
        ],
    ),
    "no deadline": (
        with_output(deadline=None),
        ["outputs.out: the output has no deadline; add 'deadline: 300 ms', say"],
    ),
    "deadline of nothing": (
        with_output(deadline=0),
        ["outputs.out.deadline: a deadline must be longer than nothing"],
    ),
    "negative weight": (
        with_output(weight=-1.0),
        ["outputs.out.weight: a weight must not be negative; got -1.0"],
    ),
    "weight that is no number": (
        with_output(weight=float("nan")),
        ["outputs.out.weight: a weight must not be negative; got nan"],
    ),
    "cycle": (
        replace(
            GOOD, steps=(identity("a", ["s", "c"]), identity("b", ["a"]), identity("c", ["b"]))
        ),
        [
            "operators.a: the streams form a cycle; got a <- c <- b <- a; a query is an acyclic "
            "graph: remove one of these inputs"
        ],
    ),
    "a rate of nothing": (
        with_source(rate=Rate(0, 5)),
        ["sources.s.rate: a rate must be a positive number of tuples per positive time"],
    ),
    "negative delay and lateness": (
        with_source(delay=-1, lateness=-1),
        [
            "sources.s.delay: delay must not be negative",
            "sources.s.lateness: lateness must not be negative",
        ],
    ),
    "a gap of nothing": (
        with_source(gap=0),
        ["sources.s.gap: the longest gap must be longer than nothing"],
    ),
    "a shedder that lets nothing pass": (
        with_source(shedder=LoadShedder(at_most=0, per=1, value=Sql("v"))),
        ["sources.s.shed.at_most: a load shedder must let something pass"],
    ),
    "declared timestamp": (
        with_source(schema=schema(timestamp="double")),
        [
            "sources.s.schema.timestamp: column 'timestamp' is part of every stream; remove it "
            "from the schema"
        ],
    ),
    "column twice": (
        with_source(schema=schema([*VALUE.fields, *VALUE.fields])),
        ["sources.s.schema.v: the name 'v' is taken; choose another"],
    ),
    "reads nothing": (
        with_operator(inputs=()),
        [
            "operators.a.inputs: the operator reads no stream",
            "sources.s: nothing reads this stream; use it or remove it",
        ],
    ),
    "port twice": (
        replace(
            GOOD, steps=(Union(name="a", inputs=(Input("p", "s"), Input("p", "s")), cost=Cost(1)),)
        ),
        ["operators.a.inputs.p: the name 'p' is taken; choose another"],
    ),
    "timeout with one input": (
        with_operator(timeout=5),
        [
            "operators.a.timeout: a timeout needs an operator with several inputs; remove the "
            "timeout"
        ],
    ),
    "negative timeout": (
        replace(GOOD, steps=(identity("a", ["s", "s"], timeout=-1),)),
        ["operators.a.timeout: a timeout must not be negative"],
    ),
    "negative cost": (
        with_operator(cost=Cost(-1)),
        ["operators.a.cost: a cost must not be negative"],
    ),
    "negative selectivity": (
        with_operator(selectivity=-0.5),
        ["operators.a.selectivity: a selectivity must be 0 or more; got -0.5"],
    ),
    "most outputs below the mean": (
        with_operator(selectivity=2.0),
        [
            "operators.a.most_outputs: the most outputs of one input are below the mean; got 1 "
            "with a selectivity of 2.0; raise most_outputs or lower selectivity"
        ],
    ),
    "join of one stream": (
        replace(
            GOOD,
            steps=(replace(JOIN, name="a", inputs=JOIN.inputs[:1]),),
        ),
        ["operators.a.inputs: a join reads two streams; got 1"],
    ),
    "partners of no port": (
        replace(GOOD, steps=(replace(JOIN, name="a", partners=("x", 1)),)),
        [
            "operators.a.partners: partners must name an input and a positive number; got x: 1; "
            "one of l, r"
        ],
    ),
    "unknown component": (
        replace(
            USING,
            steps=(ComponentUse(name="u", component="prat", inputs=(Input("x", "s"),)),),
        ),
        [
            "operators.u.component: unknown component 'prat'; did you mean 'part'?",
            "outputs.out.from: unknown stream 'u.y'",
        ],
    ),
    "wrong inputs of a component": (
        replace(
            USING,
            steps=(ComponentUse(name="u", component="part", inputs=(Input("xx", "s"),)),),
        ),
        [
            "operators.u.inputs: input 'x' of component 'part' is missing",
            "operators.u.inputs.xx: unknown input of component 'part': 'xx'; did you mean 'x'?",
        ],
    ),
    "component without output": (
        with_component(outputs=()),
        [
            "components.part.outputs: the component has no output",
            "components.part.operators.m: nothing reads stream 'm'; feed it to an operator or an "
            "output, or remove it",
            "outputs.out.from: unknown stream 'u.y'",
        ],
    ),
    "component's output of an unknown stream": (
        with_component(outputs=(("y", "mm"),)),
        [
            "components.part.operators.m: nothing reads stream 'm'; feed it to an operator or an "
            "output, or remove it",
            "components.part.outputs.y: unknown stream 'mm'; did you mean 'm'?",
        ],
    ),
    "component's output named like another operator": (
        with_component(
            steps=(identity("m", ["x"]), identity("y", ["x"])),
            outputs=(("y", "m"), ("z", "y")),
        ),
        [
            "components.part.outputs.y: output 'y' bears the name of another operator inside; "
            "got stream 'm'; rename the output",
            "operators.u: nothing reads stream 'u.z'; feed it to an operator or an output, or "
            "remove it",
        ],
    ),
    "component that contains itself": (
        with_component(
            steps=(ComponentUse(name="m", component="part", inputs=(Input("x", "x"),)),),
            outputs=(("y", "m.y"),),
        ),
        ["components.part: a component contains itself; got part -> part"],
    ),
    "component input that is not read": (
        with_component(inputs=(*PART.inputs, Port(name="w", schema=VALUE))),
        [
            "components.part.inputs.w: nothing reads this stream; use it or remove it",
            "operators.u.inputs: input 'w' of component 'part' is missing",
        ],
    ),
}


@pytest.mark.parametrize(("query", "expected"), CASES.values(), ids=CASES)
def test_problems_are_told(query: Query, expected: list[str]) -> None:
    assert sorted(problems(query)) == sorted(expected)


def test_costs_and_rates_are_needed_for_a_vehicle_only() -> None:
    query = replace(
        GOOD,
        sources=(replace(GOOD.sources[0], rate=None),),
        steps=with_operator(cost=None).steps,
    )
    assert problems(query) == []
    assert problems(query, timed=True) == [
        "sources.s: the source has no rate; add its worst case, such as 'rate: 10 per 1 s'",
        "operators.a: the operator has no cost; add its computation time: 'cost: 100 us'",
    ]


def test_a_shedder_is_a_rate() -> None:
    query = with_source(rate=None, shedder=LoadShedder(at_most=1, per=5, value=Sql("v")))
    assert problems(query, timed=True) == []


def test_all_problems_come_at_once() -> None:
    query = replace(GOOD, outputs=(Output(name="out", stream="a", deadline=None),), sources=())
    with pytest.raises(QueryError) as caught:
        check_query(query)
    assert len(caught.value.problems) == 3


def test_the_vehicle_is_checked_first() -> None:
    with pytest.raises(VehicleError, match=r"nodes\.ecu\.rate: must be positive"):
        compile_query(GOOD, Vehicle(name="v", nodes=(Node(name="ecu", rate=0.0),)))


def test_deep_chains_and_cycles_need_no_stack() -> None:
    steps = [Map(name="m0", inputs=(Input("in", "s"),), columns=(), keep=True)]
    for number in range(1, 5_000):
        inputs = (Input("in", f"m{number - 1}"),)
        steps.append(Map(name=f"m{number}", inputs=inputs, columns=(), keep=True))
    outputs = (Output(name="out", stream="m4999", deadline=1),)
    assert problems(replace(GOOD, steps=tuple(steps), outputs=outputs)) == []
    steps[0] = Map(name="m0", inputs=(Input("in", "m4999"),), columns=(), keep=True)
    found = problems(replace(GOOD, steps=tuple(steps), outputs=outputs))
    assert any("the streams form a cycle" in problem for problem in found)
