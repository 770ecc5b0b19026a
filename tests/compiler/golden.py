"""The published facts under tests/golden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"
SHARED = Path(__file__).parents[3] / "shared" / "golden"
"""Where the facts were taken from, on the machines that have it."""

EXAMPLE = Path(__file__).parents[2] / "examples" / "collision_warning"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def same_as_shared(name: str, *keys: str) -> None:
    """Compares parts of a fixture with the file it was copied from."""
    if not (SHARED / name).is_file():
        pytest.skip(f"{name}: the collection of facts it was copied from is not on this machine")
    original = json.loads((SHARED / name).read_text(encoding="utf-8"))
    copied = golden(name)
    for key in keys:
        expected = original[key]
        if isinstance(expected, dict):
            expected = {k: v for k, v in expected.items() if k != "source"}
        assert copied[key] == expected, key
