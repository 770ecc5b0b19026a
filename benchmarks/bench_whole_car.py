"""How long a car of 70 to 100 ECUs takes to compile, pass by pass, and its picture.

    python benchmarks/bench_whole_car.py [ECUS:APPLICATIONS ...] [--seed 1] [--page FILE]

The cars are those of the study `whole-car` (headway_studies.beyond.whole_car): drawn from a seed,
everything about them assumed. Times are processor time of one compilation, so that neighbours on
the machine count little; `--page` writes the page of the last plan.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import process_time

from headway.compiler.compilation import Compilation, plan_of
from headway.compiler.passes import PASSES
from headway.model.codec import plan_to_json
from headway.report.plan.plan_page import plan_html
from headway.report.plan.plan_picture import plan_svg
from headway_studies.beyond.whole_car import draw_car, told

SIZES = ("20:15", "40:30", "80:60", "100:60", "100:120")
SHOWN = 0.05
"""seconds: passes that take less are not told apart"""


def measure(ecus: int, applications: int, seed: int) -> str:
    """Prints one line, and gives the page."""
    car = draw_car(ecus, applications, seed)
    compilation = Compilation(query=car.query, vehicle=car.vehicle, timed=True)
    times: dict[str, float] = {}
    for run_pass in PASSES:
        start = process_time()
        compilation = run_pass(compilation)
        times[run_pass.__name__] = process_time() - start
    plan = plan_of(compilation)
    facts = told(plan)
    drawn: dict[str, float] = {}
    start = process_time()
    plan_to_json(plan)
    drawn["json"] = process_time() - start
    start = process_time()
    plan_svg(plan)
    drawn["picture"] = process_time() - start
    start = process_time()
    page = plan_html(plan)
    drawn["page"] = process_time() - start
    long = "  ".join(f"{name} {time:.2f}" for name, time in times.items() if time >= SHOWN)
    print(
        f"{ecus:>4} ECUs, {facts['buses']} buses, {applications} applications, "
        f"{facts['operators']} operators: {sum(times.values()):6.2f} s ({long}); "
        f"{facts['kept']} of {facts['outputs']} promised; "
        + ", ".join(f"{name} {time:.2f} s" for name, time in drawn.items()),
        flush=True,
    )
    return page


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sizes", nargs="*", default=SIZES, metavar="ECUS:APPLICATIONS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args(arguments)
    page = ""
    for size in given.sizes:
        ecus, _, applications = size.partition(":")
        page = measure(int(ecus), int(applications), given.seed)
    if given.page is not None:
        given.page.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
