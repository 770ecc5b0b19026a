"""What a running stream tells after each micro-batch: deadlines, misses, late and shed tuples.

It is for people who watch pipelines: a function of the user, a file of JSON lines, the live view.
Numbers are sums since the run began, and differences to the micro-batch before, so that whoever
comes later or misses a line loses nothing. Names begin with ``headway.``, beside Spark's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.engine.operators.operator_base import DropKind
from headway.errors import FileError, Place
from headway.model.query import Output
from headway.spark.accounting import now
from headway.spark.tallies import Tally

PREFIX = "headway."
_OF_SPARK = ("id", "runId", "batchDuration", "inputRowsPerSecond", "processedRowsPerSecond")


@dataclass(frozen=True, slots=True)
class OutputMetrics:
    """Of one output since the run began; ``judged`` are the tuples that could have been in time.
    ``new_tuples`` and ``new_misses`` came since the last time."""

    output: str
    hard: bool
    deadline_ms: float
    tuples: int
    judged: int
    misses: int
    new_tuples: int
    new_misses: int
    latency_p50_ms: float
    latency_p99_ms: float
    lag_s: float | None
    """how far behind the clock the newest tuple was sensed"""


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """``at`` is microseconds; ``dropped`` are the tuples that left their way, by kind;
    ``spark`` is what Spark itself says of the micro-batch."""

    query: str
    part: str
    """the streaming query of Spark, named after its outputs"""
    batch: int
    at: int
    outputs: tuple[OutputMetrics, ...]
    dropped: Mapping[str, int]
    counts: Mapping[str, int]
    """vehicles with a state, tuples held, and so on, where a state is kept"""
    spark: Mapping[str, Any]

    def data(self) -> dict[str, Any]:
        """Plain, for JSON and for tools that want one level of names."""
        found: dict[str, Any] = {
            f"{PREFIX}query": self.query,
            f"{PREFIX}part": self.part,
            f"{PREFIX}batch": self.batch,
            f"{PREFIX}at": self.at,
        }
        for one in self.outputs:
            for name in OutputMetrics.__slots__:
                if name != "output":
                    found[f"{PREFIX}{one.output}.{name}"] = getattr(one, name)
        found |= {f"{PREFIX}{kind}": count for kind, count in self.dropped.items()}
        found |= {f"{PREFIX}{name}": count for name, count in self.counts.items()}
        return found | {f"spark.{name}": value for name, value in self.spark.items()}


OnMetrics = Callable[[BatchMetrics], None]
Done = tuple[int, int]
"""the last micro-batch, and the last step: one may take several, and the end of the input is one"""


class QueryMetrics:
    """Of one streaming query of Spark: :meth:`told` is asked once after each micro-batch."""

    def __init__(self, query: str, part: str, outputs: tuple[Output, ...], hard: bool) -> None:
        self._query, self._part, self._outputs, self._hard = query, part, outputs, hard
        self._told: Done | None = None
        self._before: dict[str, tuple[int, int]] = {}

    def begin(self, done: Done, tallies: Mapping[str, Tally]) -> None:
        """What earlier processes of the run have done is not new."""
        self._told = done
        self._before = {name: (one.tuples, one.misses) for name, one in tallies.items()}

    def has_news(self, done: Done) -> bool:
        """Whether something was done since the last time."""
        return done != self._told

    def told(
        self,
        done: Done,
        tallies: Mapping[str, Tally],
        dropped: Mapping[tuple[str, str], int],
        counts: Mapping[str, int],
        progress: Mapping[str, Any],
    ) -> BatchMetrics:
        """What there is to tell now."""
        self._told = done
        at = now()
        kinds = {kind.value: 0 for kind in (DropKind.LATE, DropKind.SHED, DropKind.FAILED)}
        for (kind, _), count in dropped.items():
            kinds[kind] = kinds.get(kind, 0) + count
        return BatchMetrics(
            query=self._query,
            part=self._part,
            batch=done[0],
            at=at,
            outputs=tuple(
                self._of(one, tallies.get(one.name, Tally()), at) for one in self._outputs
            ),
            dropped=kinds,
            counts=dict(counts),
            spark={name: _plain(progress[name]) for name in _OF_SPARK if name in progress},
        )

    def _of(self, output: Output, tally: Tally, at: int) -> OutputMetrics:
        tuples, misses = self._before.get(output.name, (0, 0))
        self._before[output.name] = (tally.tuples, tally.misses)
        return OutputMetrics(
            output=output.name,
            hard=self._hard,
            deadline_ms=(output.deadline or 0) / 1e6,
            tuples=tally.tuples,
            judged=tally.tuples - tally.replayed,
            misses=tally.misses,
            new_tuples=tally.tuples - tuples,
            new_misses=tally.misses - misses,
            latency_p50_ms=tally.percentile(0.5) / 1e3,
            latency_p99_ms=tally.percentile(0.99) / 1e3,
            lag_s=(at - tally.newest) / 1e6 if tally.newest else None,
        )


def _plain(value: Any) -> int | float | str:
    """What JSON has; Spark's names of queries are objects."""
    return value if isinstance(value, int | float) else str(value)


class MetricsLines:
    """Writes a line for each micro-batch to the end of a file."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise FileError(
                f"cannot write here: {error.strerror or error}",
                place=Place(str(path)),
                want="name a file that can be written to",
            ) from None

    def __call__(self, metrics: BatchMetrics) -> None:
        self._file.write(json.dumps(metrics.data()) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()
