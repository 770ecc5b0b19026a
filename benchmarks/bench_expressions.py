"""How fast expressions are checked and run, beside the same thing written by hand.

    python benchmarks/bench_expressions.py

A chain of filter, map, filter and map over rows of eight columns; the hand-written function does
what SQL asks for (NULL, NaN) as one would write it, and a second one forgets about both.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headway.engine.operators.fused import Fused
from headway.expressions.check import check
from headway.expressions.rows import compile_condition
from headway.expressions.scope import Scope
from headway.model.expression import Column, Sql
from headway.model.operators import Filter, Input, Map
from headway.model.schema import schema

ROWS, REPEATS = 200_000, 5
FIRST = schema(
    x="double [m]", y="double [m]", vx="double [m/s]", vy="double [m/s]", id="int", quality="int",
    lane="int", label="string",
)  # fmt: skip
SECOND = schema(distance="double [m]", closing="double [m/s]", id="int")
Row = tuple[Any, ...]


def rows() -> list[Row]:
    rng = random.Random(1)

    def number() -> float | None:
        return None if rng.random() < 0.02 else rng.uniform(-100, 100)

    return [
        (n, number(), number(), number(), number(), n % 50, rng.randrange(10), n % 3, "car")
        for n in range(ROWS)
    ]


def generated() -> Callable[[Row], Row | None]:
    """The function that the engine makes of a train."""
    first, second = Scope.row(FIRST), Scope.row(SECOND)

    def column(name: str, text: str, scope: Scope) -> Column:
        return Column(name, _checked(text, scope))

    train = [
        Filter(name="seen", inputs=_after("s"), where=_checked("quality >= 3 AND x > 0", first)),
        Map(
            name="distances",
            inputs=_after("seen"),
            columns=(
                column("distance", "sqrt(x * x + y * y)", first),
                column("closing", "-vx", first),
                column("id", "id", first),
            ),
        ),
        Filter(name="closer", inputs=_after("distances"), where=_checked("closing > 1.0", second)),
        Map(
            name="times",
            inputs=_after("closer"),
            columns=(
                column("id", "id", second),
                column("seconds", "distance / closing", second),
            ),
        ),
    ]
    return Fused(train, {"s": FIRST, "seen": FIRST, "distances": SECOND, "closer": SECOND}).run


def _checked(text: str, scope: Scope) -> Sql:
    return replace(Sql(text), typed=check(Sql(text), scope))


def _after(stream: str) -> tuple[Input, ...]:
    return (Input("input", stream),)


def by_hand(row: Row) -> Row | None:
    x, y, vx, quality = row[1], row[2], row[3], row[6]
    if quality is None or quality < 3 or x is None or x <= 0.0:
        return None
    if vx is None or -vx <= 1.0:
        return None
    distance = None if y is None else math.sqrt(x * x + y * y)
    return (row[0], row[5], None if distance is None else distance / -vx)


def careless(row: Row) -> Row | None:
    try:
        if row[6] < 3 or row[1] <= 0.0 or -row[3] <= 1.0:
            return None
        return (row[0], row[5], math.sqrt(row[1] * row[1] + row[2] * row[2]) / -row[3])
    except TypeError:
        return None


def rate(function: Callable[[Row], Any], data: list[Row]) -> float:
    """Rows per second, the median of a few runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        for row in data:
            function(row)
        seconds.append(time.perf_counter() - start)
    return len(data) / statistics.median(seconds)


def main() -> None:
    data = rows()
    chain = generated()
    assert [chain(row) for row in data[:5000]] == [by_hand(row) for row in data[:5000]]
    condition = compile_condition(
        check(Sql("quality >= 3 AND x > 0"), Scope.row(FIRST)), Scope.row(FIRST)
    ).function
    print(f"filter, map, filter, map: generated   {rate(chain, data) / 1e6:6.2f} M rows/s")
    print(f"                          by hand     {rate(by_hand, data) / 1e6:6.2f} M rows/s")
    print(f"                          no NULL/NaN {rate(careless, data) / 1e6:6.2f} M rows/s")
    print(f"filter alone:             generated   {rate(condition, data) / 1e6:6.2f} M rows/s")

    text = Sql("sqrt(x * x + y * y) / greatest(-vx, 0.1) < 3.0 AND quality >= 3")
    start = time.perf_counter()
    for _ in range(200):
        check(text, Scope.row(FIRST))
    print(f"check:                    {(time.perf_counter() - start) / 200 * 1e3:.2f} ms")
    typed = check(text, Scope.row(FIRST))
    start = time.perf_counter()
    for _ in range(200):
        compile_condition(typed, Scope.row(FIRST))
    print(f"compile:                  {(time.perf_counter() - start) / 200 * 1e3:.2f} ms")


if __name__ == "__main__":
    main()
