"""Task set files to the model, with places for what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from headway.errors import TaskSetError
from headway.files.nodes import Document
from headway.files.parse import parse_yaml
from headway.files.reading import read_text
from headway.files.taskset_form import TaskSetForm
from headway.files.validate import place_of, validate
from headway.model.taskset import TaskSet, check_task_set

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
