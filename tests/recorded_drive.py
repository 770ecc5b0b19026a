"""The recorded drive in tests: Headway's own cut of a segment, or the one that is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from headway_studies.beyond.comma2k19 import packed_in
from headway_studies.beyond.recorded_segment import (
    CAN_LOG,
    DBC,
    FILES,
    recording,
    segment_directory,
)

CUT, WHOLE = "fed5917d214b7b35", "60737c0f3f54e741"
"""the drive whose numbers are in docs/ and in tests, as ``recording()`` tells it: as it is part of
Headway, and with all of its CAN log"""
FOUND = recording()
SEGMENT = segment_directory()

needs_the_documented_drive = pytest.mark.skipif(
    FOUND not in (CUT, WHOLE),
    reason=f"the numbers are of recording {CUT} or {WHOLE}; {SEGMENT} has recording {FOUND}",
)


def frames() -> int:
    """Of the CAN log."""
    packed = packed_in(SEGMENT / CAN_LOG)
    if packed.is_file():
        with np.load(packed) as arrays:
            return len(arrays["t"])
    return len(np.load(SEGMENT / CAN_LOG / "t"))


def unpacked(folder: Path) -> Path:
    """The drive in the data set's own layout, an array a file, in this folder."""
    for name in FILES:
        source, target = SEGMENT / name, folder / name
        if name == DBC:
            source, target = (one.parent / Path(name).name for one in (SEGMENT, folder))
        target.parent.mkdir(parents=True, exist_ok=True)
        packed = packed_in(source.parent)
        if packed.is_file():
            with np.load(packed) as arrays, target.open("wb") as file:
                np.save(file, arrays[source.name])
        else:
            shutil.copyfile(source, target)
    return folder
