"""The forms of task graph and network files (YAML or JSON), and the graph or network they mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from headway.files.forms import TAG, Form
from headway.files.graph_draft import PINNED, Amount, Label, NotNegative, State
from headway.model.static_network import NetworkLink, Processor, ProcessorNetwork, Switch, Switching
from headway.model.taskgraph import Edge, GraphTask, Memory, TaskGraph

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
