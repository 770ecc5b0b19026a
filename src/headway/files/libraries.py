"""The libraries a query uses: files of schemas and components, which may use others."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from headway.errors import FileError, Place, Problem
from headway.files.nodes import Document
from headway.files.parse import parse_yaml
from headway.files.query_form import ComponentForm, LibraryForm, QueryForm
from headway.files.reading import read_text
from headway.files.validate import place_of, validate
from headway.files.values import Schemas
from headway.model.schema import schema

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
                raise FileError(
                    Problem(f"more than {MOST_LIBRARIES} libraries", at="use", place=place)
                )
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
                Problem(f"not a path: {error}", at="use", place=place, want="name a YAML file")
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
            Problem(
                what, at="use", got=repr(path), want="paths are relative to this file", place=place
            )
        ) from None
