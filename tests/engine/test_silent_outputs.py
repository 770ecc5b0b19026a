"""A run that gives no tuple says who dropped all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.invoke import EXAMPLES, headway

from headway.engine.operator_counts import OperatorCount, added_counts

HELLO = (EXAMPLES / "hello" / "query.yaml").read_text(encoding="utf-8")


def run_of(folder: Path, query: str) -> str:
    path = folder / "query.yaml"
    path.write_text(query, encoding="utf-8")
    vehicle, recording = EXAMPLES / "hello" / "vehicle.yaml", EXAMPLES / "hello" / "recording"
    done = headway(
        "run", path, "--engine", "vehicle", "--vehicle", vehicle,
        "--input", recording, "--output", folder / "out",
    )  # fmt: skip
    assert done.code == 0, done.err
    return done.out


def test_the_operator_that_dropped_all_is_named(tmp_path: Path) -> None:
    shown = run_of(tmp_path, HELLO.replace("v > 30", "v > 3000"))
    assert "No output gave a tuple, so no deadline was put to the test." in shown
    assert "✓ No deadline" not in shown
    assert "alarm gave no tuple: filter fast took in" in shown
    assert "filtered." in shown


def test_an_output_that_gives_tuples_is_not_explained(tmp_path: Path) -> None:
    shown = run_of(tmp_path, HELLO)
    assert "✓ No deadline was missed." in shown
    assert "gave no tuple" not in shown


def test_counts_of_vehicles_are_added_operator_by_operator() -> None:
    one = OperatorCount(operator="a", consumed=3, produced=1, filtered=2)
    two = OperatorCount(operator="a", consumed=5, produced=1, late=4)
    (total,) = added_counts([[one], [two]])
    assert total == OperatorCount(operator="a", consumed=8, produced=2, filtered=2, late=4)


def test_a_module_beside_the_query_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (tmp_path / "beside_the_query.py").write_text(
        "def double(v: float) -> float:\n    return 2 * v\n", encoding="utf-8"
    )
    call = '{python: "beside_the_query:double", arguments: [v], returns: "double [m/s]"}'
    shown = run_of(tmp_path, HELLO.replace("{v: v * 3.6}", f"{{v: {call}}}"))
    assert "✓ No deadline was missed." in shown
