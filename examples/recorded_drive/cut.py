"""Cuts a segment of comma2k19 to what the tests and the study of the recorded drive read.

    python examples/recorded_drive/cut.py SEGMENT

SEGMENT is the folder with ``global_pose`` and ``processed_log`` of a Toyota RAV4. Writes
``segment/`` beside this file: the arrays of each folder in one compressed .npz. Signals are as long
and as exact as they were; of the CAN log only the frames that are decoded somewhere are kept.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

TARGET = Path(__file__).parent / "segment"
WHOLE = {
    "global_pose": ("frame_times", "frame_positions", "frame_velocities"),
    "processed_log/GNSS/live_gnss_ublox": ("t", "value"),
    "processed_log/CAN/speed": ("t", "value"),
    "processed_log/CAN/radar": ("t", "value"),
}
CAN_LOG = "processed_log/CAN/raw_can"
RADAR_BUS = 1
"""all of its frames are kept"""
WHEELS = (0, 0xAA)
"""bus and address of the wheel speeds"""
EVERYTHING_S = 1.0
"""so long from the begin all frames of all buses are kept: what a decoder has to leave out"""


def main(segment: Path) -> None:
    for folder, names in WHOLE.items():
        write(folder, **{name: np.load(segment / folder / name) for name in names})
    log = {name: np.load(segment / CAN_LOG / name) for name in ("t", "address", "data", "src")}
    bus, address = WHEELS
    kept = (log["src"] == RADAR_BUS) | ((log["src"] == bus) & (log["address"] == address))
    kept |= log["t"] < log["t"][0] + EVERYTHING_S
    write(
        CAN_LOG,
        t=log["t"][kept],
        address=log["address"][kept].astype(np.uint16),
        data=log["data"][kept],
        src=log["src"][kept].astype(np.uint8),
    )


def write(folder: str, **arrays: NDArray[Any]) -> None:
    path = TARGET / f"{folder}.npz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python cut.py SEGMENT")
    main(Path(sys.argv[1]))
