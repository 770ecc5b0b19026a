"""Whether a source has tuples of some kind at all, asked before work that only they need.

Late tuples, tuples that do not fit, tuples young enough to be judged: nearly always there are none.
So all that is asked of a source is first asked at once, as one filter that stops at the first tuple
it finds; only where there is one, each question is asked alone. What the footers of the files say
needs no job at all: planning one and waiting for it takes longer than reading some million rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headway.model.query import Source


@dataclass(frozen=True, slots=True)
class KnownTuples:
    """Of all tuples of a source, before any is read."""

    rows: int
    timed: bool | None = None
    """every tuple has a timestamp"""
    newest: int | None = None
    """timestamp, in microseconds"""
    delayed: bool = True
    """some may have arrived at another time than they were sensed"""

    def misfits(self, source: Source) -> bool | None:
        """Whether some do not fit; None where only the tuples tell. Nobody keeps how long the
        longest text is."""
        if self.timed is None or any(field.length is not None for field in source.schema.fields):
            return None
        return not self.timed

    def any_since(self, moment: int) -> bool | None:
        """Whether one was sensed then or later."""
        if not self.rows:
            return False
        return None if self.newest is None else self.newest >= moment

    def late(self) -> bool | None:
        """Whether one may be."""
        return None if self.delayed else False


_UNKNOWN = KnownTuples(rows=1)


@dataclass
class SourceQuestions:
    """``data``: the sources by name; ``known``: what is known of some. A job runs when the first
    answer is wanted that is not known, for all such that were asked until then."""

    data: Mapping[str, DataFrame]
    known: Mapping[str, KnownTuples] = field(default_factory=dict)
    _asked: dict[tuple[str, str], Column] = field(default_factory=dict)
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict)

    def known_of(self, source: str) -> KnownTuples:
        return self.known.get(source, _UNKNOWN)

    def ask(self, source: str, what: str, condition: Column, answer: bool | None = None) -> None:
        """Whether a tuple meets the condition, where the answer is not there already."""
        if answer is None:
            self._asked[source, what] = condition
        else:
            self._answers[source, what] = answer

    def any(self, source: str, what: str) -> bool:
        """Whether a tuple of the source meets the condition; False if nothing was asked."""
        if (source, what) in self._asked:
            self._find()
        return self._answers.get((source, what), False)

    def _find(self) -> None:
        asked, self._asked = self._asked, {}
        together: dict[str, list[Column]] = {}
        for (source, _), condition in asked.items():
            together.setdefault(source, []).append(condition)
        found = self._with_any(
            {source: (source, reduce(or_, all_)) for source, all_ in together.items()}
        )
        if any(len(together[source]) > 1 for source in found):
            single = {f"{s} {what}": (s, condition) for (s, what), condition in asked.items()}
            alone = self._with_any(single)
        else:
            alone = {f"{source} {what}" for source, what in asked if source in found}
        self._answers |= {(source, what): f"{source} {what}" in alone for source, what in asked}

    def _with_any(self, asked: Mapping[str, tuple[str, Column]]) -> set[str]:
        """The names of (source, condition) for which there is a tuple; one job for all."""
        firsts = [
            self.data[source].where(condition).select(F.lit(name).alias("name")).limit(1)
            for name, (source, condition) in asked.items()
        ]
        found = reduce(lambda one, other: one.union(other), firsts)
        # A limit alone is looked for in one partition after the other, below something else in
        # all at once.
        return {row["name"] for row in found.distinct().collect()}
