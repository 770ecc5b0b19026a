"""The car ahead on a real drive (comma2k19): radar tracks and own vehicle to time to collision.

    python benchmarks/bench_recorded_drive.py [--segment DIR] [--plot FILE.svg]

Runs ``examples/collision_warning/car_ahead.yaml`` over it on the vehicle engine (S-EDF, virtual
time) and compares the car ahead with what the radar says by itself. Costs and variances are not
fitted to this drive, which is examples/recorded_drive unless $HEADWAY_COMMA2K19 or --segment
names another.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from headway.compile import compile_query
from headway.experiments.recorded.car_ahead import agreement, car_ahead, radar_alone
from headway.experiments.recorded.drive import car_ahead_application, drive, recorded
from headway.experiments.recorded.segment import SEGMENT_VARIABLE, segment_directory
from headway.model.time import MILLISECOND
from headway.report.recorded_drive_chart import recorded_drive_svg

TITLE = "A minute behind real cars, through the collision warning"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--segment", type=Path, default=segment_directory())
    parser.add_argument("--plot", type=Path, default=None)
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
    if chosen.plot is not None:
        chosen.plot.write_text(recorded_drive_svg(TITLE, radar, ours), encoding="utf-8")


if __name__ == "__main__":
    main()
