"""Plain text as words that know where they stand, for the formats of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from headway.errors import FileError, Place, Problem

LONGEST_NAME = 120
_WORD = re.compile(r"[{}]|[^\s{}]+")


@dataclass(frozen=True, slots=True)
class Word:
    text: str
    place: Place

    def whole(self, what: str, least: int = 0) -> int:
        """The word as a whole number."""
        if re.fullmatch(r"\+?[0-9]{1,15}", self.text) and int(self.text) >= least:
            return int(self.text)
        raise self.refusal(f"not {what}", f"write a whole number of at least {least}")

    def number(self, what: str) -> float:
        """The word as a number that is finite and not negative."""
        try:
            value = float(self.text)
        except ValueError:
            value = math.nan
        if "_" in self.text or not math.isfinite(value) or value < 0:
            raise self.refusal(f"not {what}", "write a number of at least 0")
        return value

    def refusal(self, what: str, want: str) -> FileError:
        return FileError(Problem(what, place=self.place, got=repr(self.text[:60]), want=want))


def lines_of_words(text: str, file: str) -> Iterator[list[Word]]:
    """The words of each line that has some; braces stand alone, '#' starts a comment."""
    for number, line in enumerate(text.splitlines(), start=1):
        found = [
            Word(match[0], Place(file, number, match.start() + 1))
            for match in _WORD.finditer(line.partition("#")[0])
        ]
        if found:
            yield found


def checked_name(word: Word) -> str:
    if len(word.text) > LONGEST_NAME or not word.text.isprintable():
        raise word.refusal("not a name", f"use at most {LONGEST_NAME} printable characters")
    return word.text
