"""What a program in C++ is made of: the units of a plan, and the place of everything in the
program's tables.

Nothing is decided here: the Python engine's own functions lay out units, orders, windows, outlets
and buses (:mod:`headway.engine.program`, :mod:`headway.engine.virtual_time`,
:mod:`headway.engine.bus_network`), so both engines follow the same plan. A plan gives three
programs: the whole vehicle in virtual time, the meaning of the query (nothing takes time, one node,
tuple by tuple), and one node's part for its ECU.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from headway.compiler.node_queries import on_one_node
from headway.engine.bus_network import BusNetwork
from headway.engine.nodes.executables import slices_of
from headway.engine.nodes.node_slice import NodeSlice
from headway.engine.operators.operator_base import StatefulOperator
from headway.engine.program import RunProgram, Unit, assemble, tasks_for
from headway.engine.virtual_time import CoreGroup, core_groups
from headway.errors import InputError
from headway.model.graph import Graph
from headway.model.operators import Operator
from headway.model.plan import Plan
from headway.model.schema import Schema
from headway.model.user_operator import Row, State
from headway.schedule.online import engine_policy_named
from headway.schedule.online.policy import KeyRule, Policy, UnitFacts
from headway.schedule.online.s_edf import StreamEdf


class ProgramForm(Enum):
    """What of a plan a program runs."""

    VEHICLE = "vehicle"
    """all nodes and buses, in virtual time"""
    MEANING = "meaning"
    """the query alone, where nothing takes time"""
    NODE = "node"
    """one node's part, on its ECU"""


class LaidOut(StatefulOperator):
    """Stands for an operator with state where a program is only laid out."""

    def accept(self, port: str, row: Row, now: int, late: bool = False) -> list[Row]:
        raise AssertionError("it does not run")

    def snapshot(self) -> State:
        raise AssertionError("it does not run")

    def restore(self, state: State) -> None:
        raise AssertionError("it does not run")


def _laid_out(operator: Operator, schemas: Mapping[str, Schema]) -> StatefulOperator:
    return LaidOut(operator.name)


@dataclass(frozen=True, slots=True)
class OutletPlace:
    """Where the tuples of a stream go from one node."""

    stream: str
    node: str
    outputs: tuple[str, ...]
    entries: tuple[tuple[Unit, str], ...]
    sent: bool


@dataclass(frozen=True)
class ProgramLayout:
    """A program before it is written. ``part`` is a node's own part of the plan, for
    ``ProgramForm.NODE``."""

    form: ProgramForm
    plan: Plan
    policy: Policy
    charged: bool
    program: RunProgram
    keys: tuple[KeyRule, ...]
    """by the index of the unit"""
    outlets: tuple[OutletPlace, ...]
    groups: tuple[CoreGroup, ...]
    network: BusNetwork | None
    """between nodes in virtual time"""
    part: NodeSlice | None = None
    whole_plan: Plan | None = None
    """of a node's part, the plan it was cut from"""

    @property
    def whole(self) -> Plan:
        """The plan of all nodes."""
        return self.whole_plan or self.plan

    @property
    def graph(self) -> Graph:
        return self.program.graph

    @property
    def schemas(self) -> Mapping[str, Schema]:
        return self.program.schemas

    @property
    def streams(self) -> tuple[str, ...]:
        """All streams, the sources first: their places."""
        return (*self.graph.sources, *self.graph.operators)

    @property
    def stateful(self) -> tuple[str, ...]:
        """The operators that keep state, in the order of the query."""
        return tuple(self.program.stateful)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(self.program.nodes)

    def outlet(self, stream: str, node: str) -> int:
        """The place of an outlet."""
        return next(
            place
            for place, one in enumerate(self.outlets)
            if (one.stream, one.node) == (stream, node)
        )

    @property
    def held_streams(self) -> frozenset[str]:
        """Streams whose messages under way hold windows back."""
        operators = self.graph.operators
        reached = {s for name in self.program.windows.order for s in operators[name].streams}
        return frozenset(one.stream for one in self.plan.crossings if one.stream in reached)


# ---------------------------------------------------------------- the three programs of a plan


def vehicle_layout(
    plan: Plan, policy: str | Policy = "s-edf", *, charged: bool = True, partitioned: bool = False
) -> ProgramLayout:
    """The whole vehicle, for virtual time."""
    chosen = engine_policy_named(policy) if isinstance(policy, str) else policy
    tasks, order = tasks_for(plan, chosen)
    program = assemble(plan, chosen, tasks, order, charged=charged, build=_laid_out)
    return _layout(
        ProgramForm.VEHICLE, plan, chosen, program, charged=charged, partitioned=partitioned
    )


def meaning_layout(plan: Plan, watched: Collection[str] = ()) -> ProgramLayout:
    """The meaning of the query, tuple by tuple; ``watched`` are streams whose marks somebody
    outside asks for."""
    plan = on_one_node(plan)
    policy = StreamEdf()
    tasks, order = tasks_for(plan, policy)
    program = assemble(plan, policy, tasks, order, charged=False, leaving=watched, build=_laid_out)
    return _layout(ProgramForm.MEANING, plan, policy, program, charged=False)


def node_layout(plan: Plan, node: str, policy: str = "s-edf") -> ProgramLayout:
    """One node's part. Streams of other nodes enter it as sources."""
    parts = {part.node: part for part in slices_of(plan, policy)}
    if node not in parts:
        raise InputError(
            f"node {node!r} has nothing to do", want=f"one of {', '.join(parts) or 'none'}"
        )
    part = parts[node]
    chosen = engine_policy_named(policy)
    tasks = part.plan.scheduled(trains=chosen.fuse)
    sent = [stream for stream, _ in part.sends]
    program = assemble(part.plan, chosen, tasks, part.order, leaving=sent, build=_laid_out)
    return _layout(
        ProgramForm.NODE, part.plan, chosen, program, charged=True, part=part, whole=plan
    )


def _layout(
    form: ProgramForm,
    plan: Plan,
    policy: Policy,
    program: RunProgram,
    *,
    charged: bool,
    partitioned: bool = False,
    part: NodeSlice | None = None,
    whole: Plan | None = None,
) -> ProgramLayout:
    groups: list[CoreGroup] = []
    for node in program.nodes.values():
        units = [unit for unit in program.units if unit.node == node.name]
        groups += core_groups(node, units, len(groups), partitioned=partitioned)
    network = None
    if form is ProgramForm.VEHICLE and plan.crossings:
        network = BusNetwork(plan, lambda: 0, lambda *_: None, lambda *_: None)
    return ProgramLayout(
        form=form,
        plan=plan,
        policy=policy,
        charged=charged,
        program=program,
        keys=tuple(_key_rule(policy, unit.facts) for unit in program.units),
        outlets=_outlets(plan, program),
        groups=tuple(groups),
        network=network,
        part=part,
        whole_plan=whole,
    )


def _key_rule(policy: Policy, facts: UnitFacts) -> KeyRule:
    rule = policy.key_rule(facts)
    if rule is None:
        raise InputError(
            f"the policy {policy.name!r} cannot be compiled: it does not say its order in numbers",
            want="choose another policy, or the engine 'vehicle'",
        )
    return rule


def _outlets(plan: Plan, program: RunProgram) -> tuple[OutletPlace, ...]:
    """As the kernel lays them: of each stream on its own node, then where it is received."""
    graph, placement = program.graph, dict(plan.placement)
    crossing = {one.stream for one in plan.crossings}
    keys = [(stream, placement[stream]) for stream in (*graph.sources, *graph.operators)]
    keys += [key for key in program.entering if key not in set(keys)]
    return tuple(
        OutletPlace(
            stream=stream,
            node=node,
            outputs=graph.outputs_of[stream] if node == placement[stream] else (),
            entries=tuple(program.entering.get((stream, node), ())),
            sent=node == placement[stream] and stream in crossing,
        )
        for stream, node in keys
    )
