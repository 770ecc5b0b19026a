"""The form of query files and of the libraries of schemas and components they use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from headway.errors import FileError, Place, Problem
from headway.files.forms import (
    Columns,
    Duration,
    ExpressionChoice,
    Form,
    Name,
    PositiveDuration,
    PositiveNumber,
    RateText,
    SchemaChoice,
    Schemas,
    StreamName,
    refusal,
)
from headway.files.source_map import place_of, validate
from headway.files.step_forms import StepChoice
from headway.model.quantities import parse_duration
from headway.model.schema import schema
from headway.yaml_tree import Document, parse_yaml, read_text


class ShedderForm(Form):
    """A load shedder: the least valuable tuples beyond a limit are dropped."""

    at_most: RateText = Field(description="the limit, such as '20 per 100 ms' of arrival time")
    value: ExpressionChoice = Field(description="a tuple's value; the lowest values are dropped")
    decide: Literal["arrival", "window_end"] = Field(
        default="arrival",
        description="arrival: at once, by values learnt so far; window_end: exact, but later",
    )


class SourceForm(Form):
    """An input stream. Every tuple also carries its sensing time, the column timestamp."""

    schema_: SchemaChoice = Field(
        alias="schema", description="a declared schema's name, or the columns"
    )
    rate: RateText | None = Field(
        default=None, description="the most tuples in any interval, such as '10 per 100 ms'"
    )
    jitter: Duration = Field(
        default=0, description="how much each tuple of that rate may be delayed"
    )
    offset: Duration | None = Field(
        default=None,
        description="its tuples arrive so long after a multiple of the rate's period since the "
        "epoch, at most the jitter later; bounds know then that sources do not all come at once",
    )
    gap: PositiveDuration | None = Field(
        default=None, description="the longest silence, where one is promised"
    )
    delay: Duration = Field(default=0, description="the longest time from sensing to arrival")
    lateness: Duration = Field(
        default=0, description="how far behind the newest timestamp a tuple may be and still count"
    )
    shed: ShedderForm | None = Field(default=None, description="a load shedder on this stream")

    @model_validator(mode="after")
    def _jitter_needs_rate(self) -> SourceForm:
        if self.jitter and self.rate is None:
            raise refusal("a jitter without a rate", "add 'rate'", got="", key="jitter")
        return self


def _deadline(value: Any) -> int | None:
    if value == "none":
        return None
    try:
        return parse_duration(value)
    except (TypeError, ValueError):
        raise refusal(
            "not a deadline", "write a duration such as '30 ms', or none for an output without one"
        ) from None


Deadline = Annotated[
    int | None,
    BeforeValidator(_deadline),
    WithJsonSchema({"type": "string", "description": "a duration, or none"}),
]


class OutputForm(Form):
    """An output stream and how soon its tuples must be there."""

    stream: StreamName = Field(alias="from", description="the stream that goes out")
    deadline: Deadline = Field(
        description="from sensing to output, end to end, such as '30 ms'; none for no deadline"
    )
    criticality: Literal["hard", "soft"] = Field(
        default="hard", description="hard: must never be missed; soft: as rarely as possible"
    )
    weight: PositiveNumber = Field(
        default=1.0, description="this output's share in the weighted miss ratio"
    )
    age: PositiveDuration | None = Field(
        default=None, description="the greatest data age allowed, from each source before it"
    )
    reaction: PositiveDuration | None = Field(
        default=None,
        description="the longest allowed from a change at a source to the first output that "
        "shows it; its sources declare their 'gap'",
    )
    through: list[StreamName] = Field(
        default=[],
        description="ask 'age' and 'reaction' only of ways through these streams, one right "
        "after the other",
    )


Steps = Annotated[
    dict[Name, StepChoice],
    Field(description="operators and uses of components, by the name of the stream they produce"),
]


class ComponentForm(Form):
    """A stream processing component (SPC): a named, typed part of a query, to be reused."""

    inputs: dict[Name, SchemaChoice] = Field(
        default={}, description="the streams that enter, with their schemas"
    )
    operators: Steps = Field(default={})
    outputs: dict[Name, StreamName] = Field(description="the streams that leave: the one inside")


SharedSchemas = Annotated[
    dict[Name, Columns], Field(description="schemas that streams share, by name")
]
Components = Annotated[dict[Name, ComponentForm], Field(description="components, by name")]
Use = Annotated[
    list[str], Field(description="libraries of schemas and components: paths relative to this file")
]


class LibraryForm(Form):
    """A file of schemas and components that queries use."""

    use: Use = Field(default=[])
    schemas: SharedSchemas = Field(default={})
    components: Components = Field(default={})


class QueryForm(Form):
    """A query: what to compute from which sources, and how soon. It names no ECU."""

    query: Name = Field(description="the query's name")
    use: Use = Field(default=[])
    schemas: SharedSchemas = Field(default={})
    sources: dict[Name, SourceForm] = Field(description="the input streams, by name")
    components: Components = Field(default={})
    operators: Steps = Field(default={})
    outputs: dict[Name, OutputForm] = Field(description="the output streams, by name")


# ---------------------------------------------------------------- libraries


MOST_LIBRARIES = 100


@dataclass
class Libraries:
    """Schemas and components of all files in reach, each name declared once."""

    schemas: Schemas = field(default_factory=Schemas)
    components: dict[str, ComponentForm] = field(default_factory=dict)
    origins: dict[tuple[str, str], Document] = field(default_factory=dict)
    seen: set[Path] = field(default_factory=set)

    def read_all(self, user: Document, paths: list[str]) -> None:
        """Reads the libraries that ``user`` names, those that they name first; each once."""
        waiting = [(user, index, path) for index, path in enumerate(paths)]
        found: list[tuple[Document, LibraryForm]] = []
        while waiting:
            document, index, path = waiting.pop(0)
            place = place_of(document, ["use", index])
            file = Path(document.file).parent / path
            resolved = self._resolve(file, place)
            if resolved in self.seen:
                continue
            self.seen.add(resolved)
            if len(self.seen) > MOST_LIBRARIES:
                raise FileError(f"more than {MOST_LIBRARIES} libraries", at="use", place=place)
            library = parse_yaml(_library_text(file, path, place), str(file))
            form = validate(library, LibraryForm)
            found.append((library, form))
            waiting += [(library, number, more) for number, more in enumerate(form.use)]
        for library, form in found:
            self.declare(library, form)

    @staticmethod
    def _resolve(file: Path, place: Place) -> Path:
        try:
            return file.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise FileError(
                f"not a path: {error}", at="use", place=place, want="name a YAML file"
            ) from None

    def declare(self, document: Document, form: LibraryForm | QueryForm) -> None:
        """Adds a file's schemas and components; the same name from two files is a FileError."""
        problems = []
        for kind, names in (("schemas", form.schemas), ("components", form.components)):
            for name in names:
                first = self.origins.setdefault((kind, name), document)
                if first is not document:
                    other = place_of(first, [kind, name], on_key=True)
                    problems.append(
                        Problem(
                            f"'{name}' is declared in two files",
                            at=f"{kind}.{name}",
                            want=f"rename one; the other is at {other}",
                            place=place_of(document, [kind, name], on_key=True),
                        )
                    )
        if problems:
            raise FileError(problems)
        self.schemas.named |= {name: schema(columns) for name, columns in form.schemas.items()}
        self.components |= form.components


def _library_text(file: Path, path: str, place: Place) -> str:
    try:
        return read_text(file)
    except FileError as error:
        if file.is_file():
            raise  # its own place says more
        problem = error.problems[0]
        what = f"the library cannot be used: {problem.what}"
        raise FileError(
            what, at="use", got=repr(path), want="paths are relative to this file", place=place
        ) from None
