"""The form of task graph files (YAML or JSON), and the graph it means."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from headway.files.forms import TAG, Form
from headway.files.graphs.fields import PINNED, Amount, Label, NotNegative, State
from headway.model.task_memory import Memory
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
        default=None, description="of an exit: by when it must have finished, from its release"
    )
    state: State | None = Field(
        default=None,
        description="volume of state that moves with the task between its executions, or 'pinned'",
    )
    window: NotNegative | None = Field(
        default=None, description="reads all inputs released within this time, not only the latest"
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

    @property
    def memories(self) -> dict[str, Memory]:
        """What tasks keep between executions, where they keep anything."""
        found = {
            name: form.memory for name, form in self.tasks.items() if isinstance(form, TaskForm)
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
