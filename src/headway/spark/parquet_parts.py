"""Parquet files that appear under their names when they are complete."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def write_part(rows: Any, folder: Path, name: str) -> None:
    """Replaces a file of that name. Several processes may write the same one."""
    part = folder / f".{name}.{os.getpid()}.part"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, part)
        part.replace(folder / name)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        raise
