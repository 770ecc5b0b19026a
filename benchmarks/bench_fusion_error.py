"""Position error on a real drive (comma2k19), without and with type 1 fusion, in order and not.

    python benchmarks/bench_fusion_error.py [--every 1] [--seed 1] [--segment DIR]

What is measured: :mod:`headway_studies.beyond.recorded_positions`. ``--every 10`` keeps only every
tenth fix, as a common receiver would give them. The drive is examples/recorded_drive unless
$HEADWAY_COMMA2K19 or --segment names another.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from headway.fusion.state import NORMAL_95
from headway_studies.beyond.comma2k19 import Segment, load_segment
from headway_studies.beyond.recorded_positions import (
    arrivals,
    counted,
    error_lines,
    fused,
    operator,
    thinned,
)
from headway_studies.beyond.recorded_segment import SEGMENT_VARIABLE, segment_directory


def coverage(segment: Segment, seed: int) -> float:
    """How often the 95 % interval holds the reference, east and north taken separately."""
    points = counted(segment)
    states = fused(segment, arrivals(segment, 0, seed), operator())[points]
    hits: list[bool] = [
        abs(value - true) <= NORMAL_95 * variance**0.5
        for state, (east, north) in zip(
            states, segment.reference.position[points].tolist(), strict=True
        )
        if state is not None
        for value, true, variance in (
            (state.x, east, state.var_x),
            (state.y, north, state.var_y),
        )
    ]
    return sum(hits) / len(hits)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--segment", type=Path, default=segment_directory())
    parser.add_argument("--every", type=int, default=1, help="keep every n-th fix")
    parser.add_argument("--seed", type=int, default=1)
    choices = parser.parse_args()
    if not choices.segment.is_dir():
        sys.exit(
            f"no recording at {choices.segment}: name one with --segment or {SEGMENT_VARIABLE}"
        )
    segment = thinned(load_segment(choices.segment), choices.every)
    lines = error_lines(segment, choices.seed)
    print("| position error (m) | mean | RMS | 95th percentile | mean without GNSS offset |")
    print("|---|---|---|---|---|")
    for line in lines:
        numbers = (line.mean, line.rms, line.percentile95, line.less(lines[0]).mean)
        print(f"| {line.name} | {' | '.join(f'{value:.3f}' for value in numbers)} |")
    along, left = lines[0].along.mean(), lines[0].left.mean()
    delay = -along / segment.gnss.speed.mean() * 1e3
    print(f"\nGNSS offset: {along:+.2f} m along, {left:+.2f} m left of the motion;")
    print(f"the first is what a delay of {delay:.0f} ms would give.")
    print(f"95 % intervals hold the reference {100 * coverage(segment, choices.seed):.1f} %.")


if __name__ == "__main__":
    main()
