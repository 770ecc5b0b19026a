"""Task set files: their form, the task set it means, and places for what is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from headway.errors import TaskSetError
from headway.files.forms import TAG, Form, refusal
from headway.files.graph_draft import Label
from headway.files.source_map import place_of, validate
from headway.model.quantities import DURATION_FORM, parse_duration
from headway.model.taskset import (
    FULL,
    Constant,
    Distribution,
    OverloadTask,
    Range,
    Recorded,
    TaskKind,
    TaskSet,
    Utilisation,
    check_task_set,
)
from headway.yaml_tree import Document, parse_yaml, read_text

# ---------------------------------------------------------------- the form

_PERCENT = re.compile(r"\s*(-?[0-9]{1,6}(?:\.[0-9]{1,4})?)\s*%\s*")
LARGEST = 1000
SHARE_FORM = "a number such as 0.25, or '25 %'"


def _duration(value: Any) -> int:
    if isinstance(value, str) and value.strip().startswith("-"):
        raise refusal("the time is negative", "write a time above 0")
    if not isinstance(value, str):
        raise refusal("a duration is wanted", DURATION_FORM)
    try:
        found = parse_duration(value)
    except ValueError:
        raise refusal("not a duration", f"write {DURATION_FORM}") from None
    if found <= 0:
        raise refusal("the time is not above 0", "write a time above 0")
    return found


def _share(value: Any) -> int:
    """A utilisation in millionths of a processor."""
    if isinstance(value, str) and (match := _PERCENT.fullmatch(value)):
        share = Decimal(match[1]) / 100
    elif isinstance(value, int | float) and not isinstance(value, bool):
        share = Decimal(repr(value))
    else:
        raise refusal("a utilisation is wanted", f"write {SHARE_FORM}")
    if not 0 <= share <= LARGEST:
        raise refusal("the utilisation is out of range", f"between 0 and {LARGEST}")
    found = share * FULL
    if found != int(found):
        raise refusal("the utilisation is too fine", "use at most six decimals")
    return int(found)


Time = Annotated[int, BeforeValidator(_duration), WithJsonSchema({"type": "string"})]
Share = Annotated[
    int, BeforeValidator(_share), WithJsonSchema({"type": ["string", "number"]})
]  # fmt: skip


class RangeForm(Form):
    """Utilisations drawn between two ends."""

    low: Share = Field(description="the least")
    high: Share = Field(description="the most: the paper's ψ")
    mean: Share | None = Field(default=None, description="without it the middle: the paper's θ")
    distribution: Literal["gaussian", "uniform"] = Field(
        default="gaussian", description="gaussian: six standard deviations wide, cut at the ends"
    )

    def to_model(self) -> Range:
        mean = (self.low + self.high) // 2 if self.mean is None else self.mean
        return Range(self.low, self.high, mean, Distribution(self.distribution))


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"{TAG}mapping"
    return f"{TAG}list" if isinstance(value, list) else f"{TAG}scalar"


UtilisationChoice = Annotated[
    Annotated[RangeForm, Tag(f"{TAG}mapping")]
    | Annotated[list[Share], Tag(f"{TAG}list")]
    | Annotated[Share, Tag(f"{TAG}scalar")],
    Discriminator(_kind),
]


class TaskForm(Form):
    """A task of the set: periodic, or sporadic with a least gap between releases."""

    kind: Literal["hard", "soft"] = Field(description="hard: never missed; soft: rarely")
    period: Time | None = Field(default=None, description="time between releases")
    gap: Time | None = Field(default=None, description="instead: the least time between releases")
    mean_gap: Time | None = Field(
        default=None, description="with a gap: the average one; without it the least"
    )
    deadline: Time | None = Field(default=None, description="from release; else the period or gap")
    utilisation: UtilisationChoice = Field(
        description="C/D: a number, {low, high, mean, distribution}, or a list of measured values"
    )

    def to_model(self, name: str) -> OverloadTask:
        between = self.period or self.gap or 0
        return OverloadTask(
            name=name,
            kind=TaskKind(self.kind),
            period=between,
            deadline=self.deadline or between,
            utilisation=_utilisation(self.utilisation),
            sporadic=self.gap is not None,
            mean_gap=self.mean_gap,
        )


def _one_interval(value: Any) -> Any:
    if isinstance(value, dict):
        if ("period" in value) == ("gap" in value):
            raise refusal("a task has either a period or a gap", "write one of them", got="")
        if "mean_gap" in value and "gap" not in value:
            raise refusal("a mean gap needs a gap", "add the gap", got="", key="mean_gap")
    return value


TaskEntry = Annotated[TaskForm, BeforeValidator(_one_interval)]


def _utilisation(choice: int | list[int] | RangeForm) -> Utilisation:
    if isinstance(choice, RangeForm):
        return choice.to_model()
    return Recorded(tuple(choice)) if isinstance(choice, list) else Constant(choice)


class TaskSetForm(Form):
    """Hard and soft tasks of one processor, for `headway loadtest`."""

    taskset: Label = Field(description="the set's name")
    overhead: Share = Field(
        default=0, description="the share that scheduling and switching take: the paper's α"
    )
    tasks: dict[Label, TaskEntry] = Field(description="name: task")

    def to_model(self) -> TaskSet:
        tasks = tuple(form.to_model(name) for name, form in self.tasks.items())
        return TaskSet(name=self.taskset, tasks=tasks, overhead=self.overhead)


# ---------------------------------------------------------------- the file


KEY = "taskset"
"""what the first key of such a file is"""


@dataclass(frozen=True)
class LoadedTaskSet:
    """A checked task set and the document it stands in."""

    task_set: TaskSet
    _document: Document = field(repr=False)

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Problems of the set raised inside get their place in the file."""
        with _placed(self._document):
            yield


def load_task_set(path: Path | str) -> LoadedTaskSet:
    """The task set in a YAML file; FileError or TaskSetError with places when it is wrong."""
    return parse_task_set(read_text(Path(path)), str(path))


def parse_task_set(text: str, name: str = "taskset.yaml") -> LoadedTaskSet:
    """The task set in YAML text; ``name`` stands for the file in messages."""
    document = parse_yaml(text, name)
    task_set = validate(document, TaskSetForm).to_model()
    with _placed(document):
        check_task_set(task_set)
    return LoadedTaskSet(task_set, document)


def is_task_set(path: Path) -> bool:
    """Whether the file calls itself a task set (and not a query)."""
    return KEY in parse_yaml(read_text(path), str(path)).root.entries


@contextmanager
def _placed(document: Document) -> Iterator[None]:
    try:
        yield
    except TaskSetError as error:
        raise TaskSetError(
            problem
            if problem.place
            else replace(problem, place=place_of(document, list(problem.at.split("."))))
            for problem in error.problems
        ) from None
