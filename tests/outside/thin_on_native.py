"""Runs the cases of ``thin`` as compiled code, in a process in which a package offers it."""

from __future__ import annotations

import random

from tests.contract.cases import SOURCES, merged
from tests.contract.native import both, differences
from tests.contract.random_queries import random_recording
from tests.outside.thin_cases import CASES

from headway.compiler import compile_query


def main() -> None:
    query = merged(list(CASES.items()), SOURCES["plain"])
    plan = compile_query(query)
    for _, expected, got in both(plan, random_recording(random.Random(5), query, most=40)):
        assert any(expected.outputs.values())
        assert differences(expected, got) == []


if __name__ == "__main__":
    main()
