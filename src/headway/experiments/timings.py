"""How long the cells of a folder took: apart from the rows, which know no clock."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from headway.errors import FileError, Place, Problem
from headway.experiments.cell_store import TIMINGS, write_whole
from headway.experiments.reproduce import Reproduced


def add_timings(folder: Path, found: Sequence[Reproduced]) -> None:
    """Seconds of computing by study: what was computed now, on top of what the file says."""
    path = folder / TIMINGS
    try:
        before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for one in found:
            if one.computed:
                known = before.get(one.study.name, {"cells": 0, "seconds": 0.0})
                before[one.study.name] = {
                    "cells": known["cells"] + one.computed,
                    "seconds": round(known["seconds"] + one.seconds, 2),
                }
        write_whole(path, json.dumps(before, indent=2).encode() + b"\n")
    except (OSError, ValueError, AttributeError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(
            Problem(
                f"cannot be renewed: {reason}",
                place=Place(str(path)),
                want="delete it: it only says how long cells took",
            )
        ) from None
