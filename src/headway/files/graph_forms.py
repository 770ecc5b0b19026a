"""Task graphs and networks as YAML or JSON, as TGFF and STG: their forms, read and written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from headway.files.forms import TAG, Form
from headway.files.graph_draft import PINNED, Amount, Label, NotNegative, State, number
from headway.files.write_yaml import to_yaml
from headway.model.quantities import Number
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch, Switching
from headway.model.task_memory import Memory
from headway.model.taskgraph import Edge, GraphTask, TaskGraph

# ---------------------------------------------------------------- task graphs


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"{TAG}mapping"
    return f"{TAG}list" if isinstance(value, list) else f"{TAG}scalar"


def _mapping_or_scalar(value: Any) -> str:
    return f"{TAG}mapping" if isinstance(value, dict) else f"{TAG}scalar"


class GraphTaskForm(Form):
    """A task that is more than its work."""

    work: Amount | None = Field(
        default=None, description="computation volume: its time at execution rate 1"
    )
    times: dict[Label, Amount] = Field(
        default={}, description="processor: computation time there, instead of work"
    )
    on: list[Label] = Field(
        default=[], description="the processors that may run it; one alone pins it there"
    )
    imprecise: bool = Field(
        default=False, description="an optional part may follow in the schedule hole behind it"
    )
    release: Amount = Field(default=0.0, description="earliest start")
    period: Amount | None = Field(default=None, description="its own period")
    deadline: Amount | None = Field(
        default=None, description="of an exit: by when it must have finished, from its release"
    )
    state: State | None = Field(
        default=None,
        description="volume of state that moves with the task between its executions, or 'pinned'",
    )
    window: NotNegative | None = Field(
        default=None, description="reads all inputs released within this time, not only the latest"
    )

    def to_model(self, name: str) -> GraphTask:
        return GraphTask(
            name=name,
            work=self.work,
            times=dict(self.times),
            processors=tuple(self.on),
            imprecise=self.imprecise,
            release=self.release,
            period=self.period,
            deadline=self.deadline,
        )

    @property
    def memory(self) -> Memory | None:
        if self.state is None and self.window is None:
            return None
        return Memory(
            state=max(self.state or 0.0, 0.0), pinned=self.state == PINNED, window=self.window
        )


class MessageForm(Form):
    """A message that is more than its volume."""

    volume: Amount | None = Field(default=None, description="what is sent")
    ccr: Amount | None = Field(
        default=None, description="volume in units of the sender's computation time, instead"
    )
    times: dict[Label, Amount] = Field(default={}, description="link: time on it, outright")


TaskChoice = Annotated[
    Annotated[GraphTaskForm, Tag(f"{TAG}mapping")] | Annotated[Amount, Tag(f"{TAG}scalar")],
    Discriminator(_mapping_or_scalar),
]
MessageChoice = Annotated[
    Annotated[MessageForm, Tag(f"{TAG}mapping")] | Annotated[Amount, Tag(f"{TAG}scalar")],
    Discriminator(_mapping_or_scalar),
]
Receivers = Annotated[
    Annotated[dict[Label, MessageChoice], Tag(f"{TAG}mapping")]
    | Annotated[list[Label], Tag(f"{TAG}list")]
    | Annotated[Label, Tag(f"{TAG}scalar")],
    Discriminator(_kind),
]


class GraphForm(Form):
    """A task graph: what to compute, and which results go where."""

    graph: Label = Field(description="the graph's name")
    period: Amount | None = Field(
        default=None, description="period (and deadline) of the application"
    )
    ccr: Amount = Field(
        default=0.0,
        description="volume of messages without one, in units of the sender's computation time",
    )
    tasks: dict[Label, TaskChoice] = Field(description="name: work, or a mapping")
    messages: dict[Label, Receivers] = Field(
        default={}, description="sender: {receiver: volume}, or a list of receivers"
    )

    def to_model(self) -> TaskGraph:
        return TaskGraph(
            name=self.graph,
            tasks=tuple(
                form.to_model(name)
                if isinstance(form, GraphTaskForm)
                else GraphTask(name=name, work=form)
                for name, form in self.tasks.items()
            ),
            edges=tuple(self._edges()),
            period=self.period,
        )

    @property
    def memories(self) -> dict[str, Memory]:
        """What tasks keep between executions, where they keep anything."""
        found = {
            name: form.memory
            for name, form in self.tasks.items()
            if isinstance(form, GraphTaskForm)
        }
        return {name: memory for name, memory in found.items() if memory is not None}

    def _edges(self) -> Iterator[Edge]:
        for sender, receivers in self.messages.items():
            if isinstance(receivers, str):
                yield Edge(sender=sender, receiver=receivers, ccr=self.ccr)
            elif isinstance(receivers, list):
                yield from (Edge(sender=sender, receiver=name, ccr=self.ccr) for name in receivers)
            else:
                for name, form in receivers.items():
                    if isinstance(form, MessageForm):
                        yield Edge(
                            sender=sender,
                            receiver=name,
                            volume=form.volume,
                            ccr=form.ccr,
                            times=dict(form.times),
                        )
                    else:
                        yield Edge(sender=sender, receiver=name, volume=form)


def graph_plain(graph: TaskGraph, memories: Mapping[str, Memory] | None = None) -> dict[str, Any]:
    """What a person would write for that graph."""
    messages: dict[str, dict[str, Any]] = {}
    for edge in graph.edges:
        messages.setdefault(edge.sender, {})[edge.receiver] = _edge_plain(edge)
    result: dict[str, Any] = {"graph": graph.name}
    if graph.period is not None:
        result["period"] = number(graph.period)
    result["tasks"] = {
        task.name: _task_plain(task, (memories or {}).get(task.name)) for task in graph.tasks
    }
    if messages:
        result["messages"] = messages
    return result


def _task_plain(task: GraphTask, memory: Memory | None) -> Any:
    plain: dict[str, Any] = {
        "work": None if task.work is None else number(task.work),
        "times": {name: number(time) for name, time in task.times.items()},
        "on": list(task.processors),
        "imprecise": task.imprecise,
        "release": number(task.release),
        "period": None if task.period is None else number(task.period),
        "deadline": None if task.deadline is None else number(task.deadline),
    }
    if memory is not None:
        plain["state"] = "pinned" if memory.pinned else number(memory.state) or None
        plain["window"] = None if memory.window is None else number(memory.window)
    written = {key: value for key, value in plain.items() if value not in (None, {}, [], False)}
    if not task.release:
        written.pop("release", None)
    return written["work"] if written.keys() == {"work"} else written


def _edge_plain(edge: Edge) -> Any:
    if edge.ccr is None and not edge.times and edge.volume is not None:
        return number(edge.volume)
    plain = {
        "volume": None if edge.volume is None else number(edge.volume),
        "ccr": None if edge.ccr is None else number(edge.ccr),
        "times": {name: number(time) for name, time in edge.times.items()},
    }
    return {key: value for key, value in plain.items() if value not in (None, {})}


# ---------------------------------------------------------------- networks


class NetworkLinkForm(Form):
    """A link between two, or a bus between more: one message at a time, in any direction."""

    ends: list[Label] = Field(description="processors or switches")
    speed: Amount = Field(default=1.0, description="volume that passes in a unit of time")


class RouteForm(Form):
    """The routes between two processors, given outright."""

    between: Annotated[list[Label], Field(min_length=2, max_length=2)] = Field(
        description="two processors"
    )
    links: list[list[Label]] = Field(description="each route as a list of links, in order")


class NetworkForm(Form):
    """Processors, switches and the links between them."""

    network: Label = Field(description="the network's name")
    processors: dict[Label, Amount] = Field(
        description="name: execution rate; 1 is the machine the work was measured on"
    )
    switches: dict[Label, Amount] = Field(
        default={}, description="name: the time it holds a message between two links"
    )
    links: dict[Label, NetworkLinkForm] = Field(default={}, description="the links, by name")
    routes: list[RouteForm] = Field(
        default=[], description="routes given outright; other pairs get all simple ones"
    )
    most_routes: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=16, description="how many simple routes of a pair to consider, shortest first"
    )
    processors_forward: bool = Field(
        default=True, description="whether a route may pass through a processor"
    )
    switching: Literal["cut-through", "store-and-forward"] = Field(
        default="cut-through", description="how a message passes from link to link"
    )

    def to_model(self) -> ProcessorNetwork:
        return ProcessorNetwork(
            name=self.network,
            processors=tuple(
                Processor(name=name, rate=rate) for name, rate in self.processors.items()
            ),
            switches=tuple(Switch(name=name, delay=delay) for name, delay in self.switches.items()),
            links=tuple(
                NetworkLink(name=name, ends=tuple(form.ends), speed=form.speed)
                for name, form in self.links.items()
            ),
            given_routes={
                (form.between[0], form.between[1]): tuple(tuple(route) for route in form.links)
                for form in self.routes
            },
            most_routes=self.most_routes,
            processors_forward=self.processors_forward,
            switching=Switching(self.switching),
        )


def network_plain(network: ProcessorNetwork) -> dict[str, Any]:
    """What a person would write for that network."""
    result: dict[str, Any] = {
        "network": network.name,
        "processors": {one.name: number(one.rate) for one in network.processors},
        "switches": {switch.name: number(switch.delay) for switch in network.switches},
        "links": {
            link.name: {"ends": list(link.ends), "speed": number(link.speed)}
            for link in network.links
        },
        "routes": [
            {"between": list(pair), "links": [list(route) for route in routes]}
            for pair, routes in network.given_routes.items()
        ],
    }
    result = {key: value for key, value in result.items() if value}
    if network.most_routes != 16:
        result["most_routes"] = network.most_routes
    if not network.processors_forward:
        result["processors_forward"] = False
    if network.switching is not Switching.CUT_THROUGH:
        result["switching"] = network.switching.value
    return result


# ---------------------------------------------------------------- as text


def graph_to_yaml(graph: TaskGraph, memories: Mapping[str, Memory] | None = None) -> str:
    """YAML that reads back as an equal graph (numbers that are no decimals become the nearest)."""
    return to_yaml(graph_plain(graph, memories))


def network_to_yaml(network: ProcessorNetwork) -> str:
    """YAML that reads back as an equal network."""
    return to_yaml(network_plain(network))


def graph_to_tgff(graph: TaskGraph) -> str:
    """TGFF: every task and arc a type of its own, so that tables can say its work and volume."""
    names = {task.name: f"t0_{number}" for number, task in enumerate(graph.tasks)}
    lines = ["@TASK_GRAPH 0 {"]
    if graph.period is not None:
        lines += [f"\tPERIOD {_number(graph.period)}", ""]
    lines += [f"\tTASK {names[task.name]}\tTYPE {i}" for i, task in enumerate(graph.tasks)]
    lines += [
        f"\tARC a0_{i}\tFROM {names[edge.sender]}  TO  {names[edge.receiver]} TYPE {i}"
        for i, edge in enumerate(graph.edges)
    ]
    lines += [
        f"\tHARD_DEADLINE d0_{i} ON {names[task.name]} AT {_number(task.deadline)}"
        for i, task in enumerate(graph.tasks)
        if task.deadline is not None
    ]
    lines += ["}", "", "@PE 0 {", "# type exec_time"]
    lines += [f"{i} {_number(_work(task))}" for i, task in enumerate(graph.tasks)]
    lines += ["}", "", "@COMMUN 0 {", "# type exec_time"]
    lines += [f"{i} {_number(_volume(edge, graph))}" for i, edge in enumerate(graph.edges)]
    return "\n".join([*lines, "}", ""])


def graph_to_stg(graph: TaskGraph) -> str:
    """STG with communication costs, between a dummy entry and a dummy exit."""
    return "\n".join(_stg_lines(graph)) + "\n"


def _stg_lines(graph: TaskGraph) -> Iterator[str]:
    place = {task.name: position for position, task in enumerate(graph.tasks, start=1)}
    volumes = {(edge.sender, edge.receiver): _volume(edge, graph) for edge in graph.edges}
    yield str(len(graph.tasks))
    yield "0 0 0"
    for task in graph.tasks:
        before = graph.predecessors[task.name]
        pairs = [f"{place[name]} {_number(volumes[name, task.name])}" for name in before]
        found = pairs or ["0 0"]
        yield f"{place[task.name]} {_number(_work(task))} {len(found)} {' '.join(found)}"
    exits = [f"{place[name]} 0" for name in graph.exits]
    yield f"{len(graph.tasks) + 1} 0 {len(exits)} {' '.join(exits)}"


def _work(task: GraphTask) -> Number:
    """Its work, or its least time where only times are known."""
    return task.work if task.work is not None else min(task.times.values(), default=0)


def _volume(edge: Edge, graph: TaskGraph) -> Number:
    if edge.volume is not None:
        return edge.volume
    return float(edge.ccr or 0) * float(_work(graph.by_name[edge.sender]))


def _number(value: Number) -> str:
    return repr(number(value))
