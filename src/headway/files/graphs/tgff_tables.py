"""The tables of a TGFF file: how long each type of task or arc takes.

A table's columns are named by the comment above its rows. Tables of arcs (``@COMMUN``,
``@COMMUN_QUANT``, ``@WIRING`` and the like) are told from those of processors by their name: TGFF
itself does not tell them apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headway.files.graphs.words import Word

_ARC_TABLES = ("COMM", "WIR", "LINK", "TRANS", "ARC", "BUS", "EDGE", "NET")
_TIMES = ("exec_time", "task_time", "time", "wcet", "quantity", "volume", "bytes", "size")


@dataclass
class Table:
    """``rows``: type -> column -> value."""

    name: str
    columns: list[str] = field(default_factory=list)
    rows: dict[int, dict[str, float]] = field(default_factory=dict)

    @property
    def of_arcs(self) -> bool:
        return self.name.startswith(_ARC_TABLES)

    def head(self, comment: str) -> None:
        """Takes the names of the columns from a comment such as ``# type exec_time``."""
        words = comment.strip("#- \t").replace("|", " ").split()
        if words and words[0].lower() == "type":
            self.columns = [word.lower() for word in words]

    def add(self, line: list[Word]) -> None:
        """A row; the one line of a processor's own attributes, before the header, is left out."""
        quantities = not self.columns and self.of_arcs and len(line) == 2
        if not self.columns and not quantities:
            return
        columns = self.columns or ["type", "quantity"]
        values = [word.number("a number of a table") for word in line]
        if len(values) < 2 or len(values) > len(columns):
            raise line[0].refusal(
                f"a row of {len(values)} numbers under {len(columns)} columns",
                f"write {' '.join(columns)}",
            )
        row = dict(zip(columns, values, strict=False))
        if row.get("valid", 1.0):
            self.rows[line[0].whole("a type")] = row

    def value(self, kind: int) -> float | None:
        """The time (or quantity) of a type; None where the table has none."""
        row = self.rows.get(kind)
        if row is None:
            return None
        named = next((row[column] for column in _TIMES if column in row), None)
        return named if named is not None else list(row.values())[1]
