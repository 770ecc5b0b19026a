"""Micro-batches of a partition: cut anywhere, they give what one run over the whole gives."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from tests.contract.random_queries import ALL, Shape, random_query, random_recording
from tests.exploring import examples
from tests.spark.state.steps import cut_up, uncut

from headway.compiler import compile_query
from headway.spark.state.vehicle_steps import vehicle_steps

SEEDS = st.integers(0, 2**32)


@examples(60)
@given(SEEDS)
def test_where_it_is_cut_changes_nothing(seed: int) -> None:
    draw = random.Random(seed)
    plan = compile_query(random_query(draw, Shape(ALL)))
    recording = random_recording(draw, plan.query, vehicles=3)
    steps = [vehicle_steps(plan)]
    assert cut_up(steps, plan, recording, draw) == uncut(plan, recording)
