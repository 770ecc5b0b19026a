"""The compiler: a list of passes from query and vehicle to plan (AEDSMS section 5.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from headway.compiler.check_query import check
from headway.compiler.compilation import Compilation, Pass, plan_of, silent
from headway.compiler.components import expand
from headway.compiler.deadlines import deadlines
from headway.compiler.latency.blame import blame
from headway.compiler.latency.verdict import judge
from headway.compiler.node_queries import split
from headway.compiler.placement.placement_solver import place
from headway.compiler.placement.promised_placement import keep_promises
from headway.compiler.processor_costs import settle_costs
from headway.compiler.sampling import fill_holds
from headway.compiler.schemas import infer
from headway.compiler.trains import trains
from headway.compiler.utilisation import rates
from headway.model.graph import graph_of
from headway.model.plan import ONLY_NODE, Plan
from headway.model.query import Query
from headway.model.vehicle import Node, Vehicle

PASSES: tuple[Pass, ...] = (
    check,  # does the query hold together?
    expand,  # components become operators
    fill_holds,  # how long samples read a value
    infer,  # a schema for every stream; every expression type-checked
    rates,  # how many tuples a second, at worst
    place,  # every operator on a node, every crossing stream on a route
    settle_costs,  # what operators cost on the kind of their nodes
    split,  # a low-level query for each node
    trains,  # operator trains: the tasks of each node
    deadlines,  # relative deadlines by EDF*
    judge,  # loads, and a latency bound for each output
    keep_promises,  # where a promise fails: is there a placement that keeps all?
    blame,  # where the time of a broken promise goes
)


def compile_query(
    query: Query, vehicle: Vehicle | None = None, tell: Callable[[str], None] = silent
) -> Plan:
    """Compiles a query for a vehicle; ``tell`` hears what takes long.

    Without a vehicle the plan has one node and no verdict: that is enough to run the query as
    fast as possible, on a vehicle engine without costs or on Spark."""
    compilation = Compilation(
        query=query,
        vehicle=vehicle or Vehicle(name=ONLY_NODE, nodes=(Node(name=ONLY_NODE),)),
        timed=vehicle is not None,
        tell=tell,
    )
    for run_pass in PASSES:
        compilation = run_pass(compilation)
    return plan_of(compilation)


def recompile(plan: Plan, query: Query) -> Plan:
    """The plan with other costs or load shedders in its query, every operator where it was. Whether
    its promises still hold is not asked: it has no verdict."""
    graph = graph_of(query)
    compilation = Compilation(
        query=query,
        vehicle=plan.vehicle,
        timed=False,
        graph=graph,
        origins={name: f"operators.{name}" for name in graph.operators},
        placement=dict(plan.placement),
        node_queries=plan.node_queries,
        crossings=plan.crossings,
    )
    changed = plan_of(deadlines(trains(settle_costs(infer(compilation)))))
    return replace(changed, crossings=plan.crossings, static_order=plan.static_order)
