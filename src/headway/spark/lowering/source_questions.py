"""Whether a source has tuples of some kind at all, asked before work that only they need.

Late tuples, tuples that do not fit, tuples young enough to be judged: nearly always there are none.
So all that is asked of a source is first asked at once, as one filter that stops at the first tuple
it finds; only where there is one, each question is asked alone. Where files keep the least and the
greatest value of a column, Spark answers from these and reads nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


@dataclass
class SourceQuestions:
    """``data``: the sources by name. A job runs when the first answer is wanted, for all that was
    asked until then."""

    data: Mapping[str, DataFrame]
    _asked: dict[tuple[str, str], Column] = field(default_factory=dict)
    _answers: dict[tuple[str, str], bool] = field(default_factory=dict)

    def ask(self, source: str, what: str, condition: Column) -> None:
        self._asked[source, what] = condition

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
        return {
            row["name"] for row in reduce(lambda one, other: one.union(other), firsts).collect()
        }
