"""Writes recording/speed.csv: ten seconds of a car that speeds up, and brakes hard at the end.

    python make_recording.py

Seeded, so that the file is the same each time. Put a recording of your own in its place: a column
`timestamp` (sensed, in microseconds), the fields of the source, and `arrived_at` if you know it.
"""

import csv
import random
from pathlib import Path

BEGIN = 1_767_225_600_000_000  # 2026-01-01 00:00:00 UTC


def speed_at(seconds: float) -> float:
    """26 m/s, then 1 m/s more each second, and from the eighth second on 8 m/s less each second."""
    return 26 + min(seconds, 8) - 8 * max(seconds - 8, 0)


def main() -> None:
    noise = random.Random(1)
    file = Path(__file__).parent / "recording" / "speed.csv"
    file.parent.mkdir(exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["timestamp", "v", "arrived_at"])
        for number in range(1_000):
            sensed = BEGIN + number * 10_000
            v = speed_at(number / 100) + noise.gauss(0, 0.05)
            writer.writerow([sensed, round(v, 3), sensed + 800])


if __name__ == "__main__":
    main()
