"""The contract: an expression gives the same value in Python as on Spark, whatever the row and
whatever the settings of the session."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.expressions.grammar import COLUMNS, every_node, expression, near_expression, random_row

from headway.expressions import emit
from headway.expressions.aggregates import compile_aggregates
from headway.expressions.body import NAMES
from headway.expressions.casts import CASTS
from headway.expressions.check import check
from headway.expressions.rows import compile_value
from headway.expressions.scope import Scope
from headway.expressions.spark_sql import to_spark_sql
from headway.model.expression import Sql
from headway.model.expression_tree import Typed
from headway.model.schema import DataType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = tuple[Any, ...]
SCOPE = Scope.row(COLUMNS)
# Another seed asks other questions: HEADWAY_SEED=7 pytest tests/expressions
SEED = int(os.environ.get("HEADWAY_SEED", "1"))
EXPRESSIONS, NEAR_EXPRESSIONS, ROWS, PER_JOB = 180, 50, 60, 60
ULPS = 4
_ARROW = {
    DataType.DOUBLE: pa.float64(),
    DataType.FLOAT: pa.float32(),
    DataType.INT: pa.int32(),
    DataType.BIGINT: pa.int64(),
    DataType.STRING: pa.string(),
    DataType.BOOLEAN: pa.bool_(),
    DataType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class Answer:
    """What Spark gave for one expression, row by row."""

    text: str
    typed: Typed
    values: list[Any]
    ulps: int


@pytest.fixture(scope="module")
def table() -> list[Row]:
    rng = Random(SEED)
    return [random_row(rng) for _ in range(ROWS)]


SESSIONS = {
    "Headway's": {},
    "ANSI, far from UTC": {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "America/St_Johns",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.variable.substitute": "true",
    },
}


@pytest.fixture(scope="module", params=SESSIONS)
def frame(
    request: pytest.FixtureRequest, spark: SparkSession, table: list[Row], tmp_path_factory: Any
) -> DataFrame:
    session = spark.newSession()
    for name, value in SESSIONS[request.param].items():
        session.conf.set(name, value)
    return as_frame(session, table, tmp_path_factory.mktemp("rows"))


def as_frame(spark: SparkSession, table: Sequence[Row], folder: Path) -> DataFrame:
    """The rows from a file: Spark would compute on a local list without generating code."""
    columns = {"position": pa.array(range(len(table)), pa.int32())}
    for index, field in enumerate(COLUMNS.columns):
        columns[field.name] = pa.array([row[index] for row in table], _ARROW[field.type])
    pa.parquet.write_table(pa.table(columns), folder / "rows.parquet")
    return spark.read.parquet(str(folder / "rows.parquet"))


def ask(frame: DataFrame, typed: Sequence[Typed]) -> list[list[Any]]:
    """Spark's values, one list per expression; the types are asserted on the way."""
    results: list[list[Any]] = []
    for start in range(0, len(typed), PER_JOB):
        batch = typed[start : start + PER_JOB]
        selected = frame.selectExpr(
            "position", *(f"{to_spark_sql(one)} AS x{n}" for n, one in enumerate(batch))
        )
        types = [kind.simpleString() for kind in (f.dataType for f in selected.schema.fields[1:])]
        assert types == [one.type.value for one in batch]
        plain = selected.selectExpr(
            "position",
            *(
                f"unix_micros(x{n})" if one.type is DataType.TIMESTAMP else f"x{n}"
                for n, one in enumerate(batch)
            ),
        )
        ordered = sorted(tuple(row) for row in plain.collect())
        results += [[row[n + 1] for row in ordered] for n in range(len(batch))]
    return results


@pytest.fixture(scope="module")
def answers(frame: DataFrame) -> list[Answer]:
    """Spark's answers to all the expressions."""
    rng = Random(SEED)
    exact = every_node() + [expression(rng) for _ in range(EXPRESSIONS)]
    near = [near_expression(rng) for _ in range(NEAR_EXPRESSIONS)]
    texts = {**dict.fromkeys(exact, 0), **dict.fromkeys(near, ULPS)}
    typed = [check(Sql(text), SCOPE) for text in texts]
    values = ask(frame, typed)
    return [
        Answer(text, one, column, ulps)
        for (text, ulps), one, column in zip(texts.items(), typed, values, strict=True)
    ]


def same(ours: Any, theirs: Any, ulps: int) -> bool:
    if type(ours) is not type(theirs):
        return False
    if ours == theirs:  # of 0.0 and -0.0, Spark's least and greatest give either
        return True
    if not (isinstance(ours, float) and isinstance(theirs, float)):
        return False
    if math.isnan(ours) or math.isnan(theirs) or math.isinf(ours) or math.isinf(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return abs(ours - theirs) <= ulps * max(math.ulp(ours), math.ulp(theirs))


def disagreements(answers: Sequence[Answer], table: Sequence[Row]) -> Iterator[str]:
    for answer in answers:
        function = compile_value(answer.typed, SCOPE)
        for tuple_, theirs in zip(table, answer.values, strict=True):
            ours = function(tuple_)
            if not same(ours, theirs, answer.ulps):
                names = dict(zip((f.name for f in COLUMNS.columns), tuple_, strict=True))
                yield (
                    f"{answer.text}\n  python {ours!r}, spark {theirs!r}\n  {names}\n"
                    f"  {to_spark_sql(answer.typed)}\n{function.source}"
                )
                break


def test_python_and_spark_agree(answers: list[Answer], table: list[Row]) -> None:
    wrong = list(disagreements(answers, table))
    assert not wrong, f"{len(wrong)} of {len(answers)}:\n\n" + "\n\n".join(wrong[:5])


def wrong_nan(patch: pytest.MonkeyPatch) -> None:
    """Python's comparisons, for which NaN is neither equal nor greater."""
    patch.setattr(emit, "_maybe_nan", lambda node: False)


def wrong_remainder(patch: pytest.MonkeyPatch) -> None:
    """Python's %, with the sign of the divisor."""
    patch.setitem(NAMES, "int_remainder", lambda a, b: a % b if b else None)


def wrong_overflow(patch: pytest.MonkeyPatch) -> None:
    """Whole numbers that never wrap around."""
    patch.setitem(NAMES, "wrap32", lambda value: value)


def wrong_cast(patch: pytest.MonkeyPatch) -> None:
    """A cast that rounds in place of cutting off."""
    patch.setitem(CASTS, (DataType.DOUBLE, DataType.INT), "int(round_half_up(clamp32($0) + 0.0))")


def wrong_division(patch: pytest.MonkeyPatch) -> None:
    """Division by zero as floating point has it, infinite."""
    infinite = "($0 / $1 if @1 != 0.0 else INF)"
    patch.setattr(emit, "_division_template", lambda node: infinite)


@pytest.mark.parametrize(
    "spoil", [wrong_nan, wrong_remainder, wrong_overflow, wrong_cast, wrong_division]
)
def test_a_wrong_rule_is_caught(
    spoil: Callable[[pytest.MonkeyPatch], None],
    answers: list[Answer],
    table: list[Row],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoil(monkeypatch)
    assert any(True for _ in disagreements(answers, table))


AGGREGATES = """
    count(*) | count(d) | count(s) | count_if(d > 0.5) | count_if(b)
    max(d) | min(d) | max(f) | min(f) | max(i) - min(i) | max(l) | min(s) | max(s) | max(w) | min(b)
    sum(i) | sum(l) | sum(i + j) | sum(l) div 2 | bool_or(b) | bool_and(c)
    sum(i % 100 / 8.0) | avg(i % 100 / 8.0) | avg(i) | avg(l % 1000) | sum(CAST(i % 100 AS float))
    IF(count(*) > 3, max(d) - min(e), NULL) | coalesce(max(d), 0) | max(abs(d)) > 1 | max(timestamp)
    CAST(c AS int) + count(*) | IF(c, max(s), min(s)) | sum(NULL) | max(least(i, j))
    """


def test_aggregates_agree(frame: DataFrame, table: list[Row]) -> None:
    texts = [text.strip() for text in AGGREGATES.replace("\n", "|").split("|") if text.strip()]
    scope = Scope.aggregate(COLUMNS)
    typed = [check(Sql(text), scope, aggregates=True, grouping=("c",)) for text in texts]
    from pyspark.sql.functions import expr

    columns = [
        expr(f"unix_micros({sql})" if one.type is DataType.TIMESTAMP else sql)
        for one, sql in ((one, to_spark_sql(one)) for one in typed)
    ]
    theirs = {row[0]: tuple(row)[1:] for row in frame.groupBy("c").agg(*columns).collect()}

    functions = compile_aggregates(typed, scope, ("c",))
    place = [field.name for field in COLUMNS.columns].index("c")
    groups: dict[Any, list[Any]] = {}
    for row in table:
        state = groups.setdefault(row[place], functions.new())
        functions.add(state, row)
    assert set(groups) == set(theirs) == {True, False, None}
    for key, state in groups.items():
        ours = functions.result(state, (key,), 0, 0)
        for text, mine, other in zip(texts, ours, theirs[key], strict=True):
            assert same(mine, other, 64), f"{text} for {key}: python {mine!r}, spark {other!r}"
