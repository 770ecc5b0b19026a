"""The examples that come with Headway: found in a wheel and in a source tree, copied for a user.

Each is a folder; its README begins with a heading and a sentence that say what it shows.
``starter`` is what ``headway new`` makes a project from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headway.errors import FileError, InputError, Place, Problem
from headway.model.names import NAME_RULE

README = "README.md"
STARTER = "starter"
_PACKAGE = Path(__file__).parents[1]
_NOT_SOURCES = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}


@dataclass(frozen=True, slots=True)
class ShippedExample:
    """An example's folder, its heading and the first sentence of its README."""

    name: str
    title: str
    summary: str
    folder: Path


def examples_folder() -> Path:
    """Where the examples are: in the package when it is installed from a wheel, else in the source
    tree."""
    installed, in_tree = _PACKAGE / "examples", _PACKAGE.parents[1] / "examples"
    for folder in (installed, in_tree):
        if (folder / STARTER / README).is_file():
            return folder
    raise FileError(
        "the examples are not installed",
        place=Place(str(installed)),
        want="install Headway from a wheel or a source tree",
    )


def example_folder(name: str) -> Path:
    """The folder of one example; an error names those that there are."""
    folder = examples_folder() / name
    if not NAME_RULE.accepts(name) or not folder.is_dir():
        there = ", ".join(example.name for example in shipped_examples())
        raise InputError("there is no such example", got=name, want=f"choose from {there}")
    return folder


def shipped_examples() -> list[ShippedExample]:
    """All that have a README, in order of name."""
    return [
        _described(folder)
        for folder in sorted(examples_folder().iterdir())
        if (folder / README).is_file()
    ]


def _described(folder: Path) -> ShippedExample:
    heading, _, text = (folder / README).read_text(encoding="utf-8").partition("\n")
    paragraph = " ".join(text.strip().partition("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return ShippedExample(folder.name, heading.lstrip("# "), sentence + stop.strip(), folder)


def example_files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file of an example by its path in it, in order of path."""
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        if path.is_file() and not _NOT_SOURCES.intersection(below.parts):
            yield below, path.read_bytes()


def check_free(folders: Iterable[Path]) -> None:
    """Nothing that is there already is written over."""
    problems = [
        Problem(
            "there is something of this name already",
            place=Place(str(folder)),
            want="choose another name, or move it away",
        )
        for folder in folders
        if folder.exists() or folder.is_symlink()
    ]
    if problems:
        raise FileError(problems)


def starter_files(name: str) -> dict[Path, bytes]:
    """The files of a project named ``name``: the starter's, its query called so."""
    if not NAME_RULE.accepts(name):
        raise InputError(NAME_RULE.what, got=repr(name), want=NAME_RULE.want)
    files = dict(example_files(example_folder(STARTER)))
    query = Path("query.yaml")
    files[query] = files[query].replace(b"query: starter\n", f"query: {name}\n".encode())
    readme = Path(README)
    files[readme] = files[readme].replace(b"# A first query\n", f"# {name}\n".encode())
    return files
