"""The form of task graph files (YAML or JSON), and the graph it means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from headway.files.forms import TAG, Form
from headway.files.graphs.fields import Amount, Label
from headway.model.taskgraph import Edge, Task, TaskGraph


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"{TAG}mapping"
    return f"{TAG}list" if isinstance(value, list) else f"{TAG}scalar"


def _mapping_or_scalar(value: Any) -> str:
    return f"{TAG}mapping" if isinstance(value, dict) else f"{TAG}scalar"


class TaskForm(Form):
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
        default=None, description="of an exit: by when it must have finished"
    )

    def to_model(self, name: str) -> Task:
        return Task(
            name=name,
            work=self.work,
            times=dict(self.times),
            processors=tuple(self.on),
            imprecise=self.imprecise,
            release=self.release,
            period=self.period,
            deadline=self.deadline,
        )


class MessageForm(Form):
    """A message that is more than its volume."""

    volume: Amount | None = Field(default=None, description="what is sent")
    ccr: Amount | None = Field(
        default=None, description="volume in units of the sender's computation time, instead"
    )
    times: dict[Label, Amount] = Field(default={}, description="link: time on it, outright")


TaskChoice = Annotated[
    Annotated[TaskForm, Tag(f"{TAG}mapping")] | Annotated[Amount, Tag(f"{TAG}scalar")],
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
                form.to_model(name) if isinstance(form, TaskForm) else Task(name=name, work=form)
                for name, form in self.tasks.items()
            ),
            edges=tuple(self._edges()),
            period=self.period,
        )

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


def graph_plain(graph: TaskGraph) -> dict[str, Any]:
    """What a person would write for that graph."""
    messages: dict[str, dict[str, Any]] = {}
    for edge in graph.edges:
        messages.setdefault(edge.sender, {})[edge.receiver] = _edge_plain(edge)
    result: dict[str, Any] = {"graph": graph.name}
    if graph.period is not None:
        result["period"] = float(graph.period)
    result["tasks"] = {task.name: _task_plain(task) for task in graph.tasks}
    if messages:
        result["messages"] = messages
    return result


def _task_plain(task: Task) -> Any:
    plain: dict[str, Any] = {
        "work": None if task.work is None else float(task.work),
        "times": {name: float(time) for name, time in task.times.items()},
        "on": list(task.processors),
        "imprecise": task.imprecise,
        "release": float(task.release),
        "period": None if task.period is None else float(task.period),
        "deadline": None if task.deadline is None else float(task.deadline),
    }
    written = {key: value for key, value in plain.items() if value not in (None, {}, [], False)}
    if not task.release:
        written.pop("release", None)
    return written["work"] if written.keys() == {"work"} else written


def _edge_plain(edge: Edge) -> Any:
    if edge.ccr is None and not edge.times and edge.volume is not None:
        return float(edge.volume)
    plain = {
        "volume": None if edge.volume is None else float(edge.volume),
        "ccr": None if edge.ccr is None else float(edge.ccr),
        "times": {name: float(time) for name, time in edge.times.items()},
    }
    return {key: value for key, value in plain.items() if value not in (None, {})}
