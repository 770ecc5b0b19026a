"""Which recorded drive the benchmarks and the tests take if nobody names one."""

from __future__ import annotations

from pathlib import Path

from headway_studies.beyond.recorded_segment import segment_directory

BESIDE = Path(__file__).parents[2] / "shared" / "data" / "comma2k19" / "segment"
"""in the folder ``shared`` beside the repository"""


def named_or_beside() -> Path | None:
    """What HEADWAY_COMMA2K19 names, else the one beside the repository, if there is one."""
    return segment_directory() or (BESIDE if BESIDE.is_dir() else None)
