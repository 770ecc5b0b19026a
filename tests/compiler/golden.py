"""The published facts under tests/golden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "golden"
EXAMPLE = Path(__file__).parents[2] / "examples" / "collision_warning"


def golden(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))
