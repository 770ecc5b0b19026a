"""What ``hw.run`` gives: tables of the outputs and of what left its way, the run in numbers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

from headway.engine.results import RunSummary
from headway.errors import EnvironmentMissing
from headway.front_door.interruptions import Interruption
from headway.model.plan import Plan
from headway.model.quantities import format_duration
from headway.report.html import cell, escaped, table_html
from headway.report.plan.plan_tables import NONE, Table
from headway.report.tables import run_tables
from headway.spark.spark_results import SparkRun


class Tables(Mapping[str, Any]):
    """Arrow tables by name, each made when it is first asked for."""

    def __init__(self, what: str, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._what = what
        self._makers = dict(makers)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._makers:
            known = ", ".join(self._makers) or "none"
            raise KeyError(f"there is no {self._what} {name!r}; there are: {known}")
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __repr__(self) -> str:
        return f"<{self._what}s: {', '.join(self)}>"


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """Of a run over one vehicle's data or a fleet's (then every table has a column ``vehicle``).

    ``tables`` and ``side_tables`` are Arrow's, which know NULL; :attr:`outputs` and :attr:`side`
    are the same for pandas. A vehicle engine's output tuple comes with its ``deadline``, when it
    was ``completed``, its ``latency`` (ns) and whether it ``missed``; Spark's, computed long after,
    without. On Spark nothing is computed before it is asked for: ``dataframes`` are Spark's own.
    """

    plan: Plan
    engine: str
    tables: Mapping[str, Any]
    """by output"""
    side_tables: Mapping[str, Any]
    """late, failed, rejected, shed: where, when and why a tuple left its way"""
    dataframes: Mapping[str, Any] = field(default_factory=dict)
    """on Spark: outputs that nothing has computed yet"""
    trace: Any = None
    """with ``trace=True``: every decision of the scheduler as an Arrow table"""
    note: str = ""
    """what was not asked for but should be known: which costs the operators had"""
    interrupted: Interruption | None = None
    """of a run by the wall clock that Ctrl-C ended: the tables are what was complete until then,
    and this is what was not"""
    summarise: Callable[[], RunSummary | SparkRun] = field(repr=False)
    release: Callable[[], None] = field(repr=False, default=lambda: None)

    @cached_property
    def outputs(self) -> Mapping[str, Any]:
        """pandas DataFrames by output; asking for one is EnvironmentMissing without pandas."""
        return _as_pandas("output", self.tables)

    @cached_property
    def side(self) -> Mapping[str, Any]:
        """pandas DataFrames of late, failed, rejected and shed tuples."""
        return _as_pandas("side output", self.side_tables)

    @cached_property
    def summary(self) -> RunSummary | SparkRun:
        """Tuples, misses and latencies of each output, and what left its way; on Spark this
        computes all outputs."""
        return self.summarise()

    def close(self) -> None:
        """On Spark: lets go of what it keeps for several outputs. Or use ``with``."""
        self.release()

    def __enter__(self) -> QueryResult:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self.plan.query.name
        if self._computed:
            told = ", ".join(f"{o.output} {o.tuples:,} tuples" for o in self.summary.outputs)
        else:
            told = f"{', '.join(self.tables)}, not computed yet"
        if self.interrupted is not None:
            told = f"interrupted, only {told}"
        return f"<QueryResult of {name} on the {self.engine} engine: {told}>"

    def _repr_html_(self) -> str:
        """The table of outputs; on Spark without numbers, unless they were computed before."""
        heading = f"<p><b>{escaped(self.plan.query.name)}</b>, {escaped(self.engine)} engine</p>"
        if self.interrupted is not None:
            heading += f"<p><b>Interrupted</b>, a part only: {escaped(str(self.interrupted))}</p>"
        if not self._computed:
            return cell([heading, table_html(self._promised())])
        summary = self.summary
        if isinstance(summary, SparkRun):
            shown = run_tables.spark_outputs(summary.outputs)
            verdict = run_tables.spark_verdict(summary)
        else:
            shown = run_tables.outputs(summary.outputs)
            verdict = run_tables.verdict(summary)
        return cell([heading, table_html(shown), f"<p>{escaped(verdict)}</p>"])

    @property
    def _computed(self) -> bool:
        return not self.dataframes or "summary" in self.__dict__

    def _promised(self) -> Table:
        schemas = dict(self.plan.schemas)
        rows = [
            [
                output.name,
                schemas[output.stream].describe(),
                format_duration(output.deadline) if output.deadline else NONE,
            ]
            for output in self.plan.query.outputs
        ]
        headers = ["Output", "Columns besides timestamp", "Deadline"]
        return Table(title="Outputs", headers=headers, rows=rows, numeric=(2,))


def _as_pandas(what: str, tables: Mapping[str, Any]) -> Tables:
    return Tables(what, {name: partial(_to_pandas, tables, name) for name in tables})


def _to_pandas(tables: Mapping[str, Any], name: str) -> Any:
    """EnvironmentMissing without pandas, which Headway itself does not need."""
    if find_spec("pandas") is None:
        raise EnvironmentMissing(
            f"Results as DataFrames need pandas, not installed for {sys.executable}. Use "
            "result.tables and result.side_tables (Arrow), or install it with: "
            "pip install 'headway[spark]'"
        )
    return tables[name].to_pandas()
