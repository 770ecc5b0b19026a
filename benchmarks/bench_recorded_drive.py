"""The car ahead on a real drive (comma2k19): radar tracks and own vehicle to time to collision.

    python benchmarks/bench_recorded_drive.py [--segment DIR]

Runs ``examples/collision_warning/car_ahead.yaml`` over it on the vehicle engine (S-EDF, virtual
time) and compares the car ahead with what the radar says by itself. Costs and variances are not
fitted to this drive, which is examples/recorded_drive unless $HEADWAY_COMMA2K19 or --segment
names another. ``headway reproduce recorded-drive`` draws it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from headway.compiler import compile_query
from headway.model.quantities import MILLISECOND
from headway_studies.beyond.recorded_segment import (
    SEGMENT_VARIABLE,
    agreement,
    car_ahead,
    car_ahead_application,
    drive,
    radar_alone,
    recorded,
    segment_directory,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--segment", type=Path, default=segment_directory())
    chosen = parser.parse_args()
    if not chosen.segment.is_dir():
        sys.exit(f"no recording at {chosen.segment}: name one with --segment or {SEGMENT_VARIABLE}")
    application = car_ahead_application()
    plan = compile_query(application.query, application.vehicle)
    result = drive(recorded(chosen.segment, plan.query.sources), plan)
    for name, record in result.outputs.items():
        late = record.latencies / MILLISECOND
        print(
            f"{name}: {len(record):,} tuples, latency median {np.median(late):.1f} ms, "
            f"longest {late.max():.1f} ms, {record.misses} missed"
        )
    ours, radar = car_ahead(result), radar_alone(chosen.segment)
    found = agreement(ours, radar)
    print(
        f"moments with a car ahead: {found.moments}, {found.both} by the radar alone, too\n"
        f"distance: median difference {found.distance_median:.2f} m, "
        f"95 % within {found.distance_95:.2f} m, another car {found.another_car:.1%}\n"
        f"relative speed: median difference {found.speed_median:.2f} m/s, "
        f"95 % within {found.speed_95:.2f} m/s"
    )
    for name, one in (("fused", ours), ("radar alone", radar)):
        least = int(np.nanargmin(one.ttc))
        when = one.time[least] - radar.time[0]
        print(
            f"{name}: shortest TTC {one.ttc[least]:.1f} s at {when:.1f} s "
            f"({one.distance[least]:.1f} m, {one.opening[least]:.1f} m/s)"
        )


if __name__ == "__main__":
    main()
