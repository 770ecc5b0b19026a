"""An imported model's chains beside a second opinion that reads the model by itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, headway
from tests.compiler.model_opinion import (
    ModelTask,
    activations,
    busy_period,
    compared,
    read_model,
)

MODEL = EXAMPLES / "engine_control" / "model.amxmi"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example imported, compiled and run."""
    made = tmp_path_factory.mktemp("model")
    query, vehicle = made / "query.yaml", made / "vehicle.yaml"
    assert headway("import", MODEL, "--out", made, "--seconds", "0.3").code == 0
    assert headway("compile", query, "--vehicle", vehicle, "--out", made / "plan").code == 0
    recorded = ("--input", made / "recording", "--engine", "vehicle")
    run = headway("run", query, "--vehicle", vehicle, *recorded, "--output", made / "results")
    assert run.code == 0, run.err
    return made


def test_no_bound_is_looser_than_the_opinion_and_no_run_exceeds_either(folder: Path) -> None:
    plan = json.loads((folder / "plan" / "plan.json").read_text())
    summary = json.loads((folder / "results" / "summary.json").read_text())
    rows = compared(read_model(MODEL), plan, summary)
    assert len(rows) == 6
    for chain, question, seen, bound, opinion in rows:
        assert seen is not None, (chain, question)
        assert bound is not None, (chain, question)
        assert 0 < seen <= bound <= opinion, (chain, question)
        assert opinion <= 1.03 * bound, (chain, question)


def test_a_busy_period_by_hand() -> None:
    """2 every 5 and 3 every 10: all is done after 5, as the second activation of the first comes
    at 5; with a jitter of 1 it comes at 4 and belongs to it."""
    one, other = ModelTask("a", "c", 2, 5, 5), ModelTask("b", "c", 3, 10, 10)
    assert busy_period([one, other]) == 5
    one.jitter = 1
    assert activations(one, 10) == [0, 4, 9]
    assert busy_period([one, other]) == 7
