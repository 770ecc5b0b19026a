"""Files that a command writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.cli.screen import write_problem
from headway.errors import EnvironmentMissing, FileError, Place, Problem
from headway.report.chart_pages import chart_files
from headway.report.charts import Chart


def write_files(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Writes the files, making the folder where needed; FileError when that cannot be done."""
    return write_bytes(folder, {name: text.encode() for name, text in contents.items()})


def write_bytes(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    """The same for files that are no text."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = folder / name
            path.write_bytes(content)
            written.append(path)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            Problem(
                f"cannot write here: {reason}",
                place=Place(str(folder)),
                want="name a folder that can be written to",
            )
        ) from None
    return written


def charts_or_note(name: str, charts: Sequence[Chart], title: str) -> dict[str, str]:
    """The files of the charts; where nothing is installed that draws them, a note instead."""
    try:
        return chart_files(name, charts, title)
    except EnvironmentMissing as missing:
        write_problem(f"note: {name}.html and {name}.svg are not written. {missing}")
        return {}
