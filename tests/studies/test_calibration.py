"""The search for what the papers leave open: what is drawn, how it is judged, what is told."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from headway.compiler import compile_query
from headway.drive.collision_warning import example
from headway.files import load_query, load_vehicle
from headway.model.operators import Fusion
from headway.model.quantities import MILLISECOND
from headway_studies.aedsms import calibration
from headway_studies.aedsms.calibration import (
    CITY,
    ERROR_TARGETS,
    NEAR,
    NEAR_ITEMS,
    NEAR_OBJECTS,
    RATE_TARGETS,
    STUDY,
    TARGETS,
    application,
    best,
    drawn,
    error_drawn,
    fits,
    misfit,
    near_setting,
)
from headway_studies.aedsms.collision_drives import ONE_NODE, THREE_NODES
from headway_studies.provenance import Origin
from headway_studies.row_reading import number, where
from headway_studies.study import Row, Verdict

FITTING = {
    **TARGETS,
    "sent": 1500.0,
    "s_edf_crashes": 0.0,
    "fifo_crashes": 0.0,
    "silent_crashes": 1.0,
}


def rates_row(draw: int, *, part: str = "rates", city: int = CITY, **found: float) -> Row:
    inputs = drawn(draw) if part == "rates" else near_setting(draw)
    return {
        "part": part, "draw": draw, "city": city, "vehicle": inputs.vehicle,
        "item_us": inputs.item_us, "radar_objects": inputs.radar_objects,
        "decision_us": inputs.decision_us, "bus": inputs.bus, "cars": inputs.cars,
        **FITTING, **found,
    }  # fmt: skip


def errors_row(draw: int, *, city: int = CITY, raw: float = 7.3, fused: float = 2.32) -> Row:
    return {
        "part": "errors", "draw": draw, "city": city, "gps": 5.0, "drift": 1.0, "raw": raw,
        "fused": fused,
    }  # fmt: skip


def told(rows: list[Row]) -> dict[str, str]:
    return {claim.published: claim.ours for claim in STUDY.analyse(rows).claims}


def test_a_draw_is_the_same_wherever_it_is_drawn() -> None:
    assert drawn(3) == drawn(3)
    assert len({drawn(draw) for draw in range(20)}) == 20
    assert {drawn(draw).vehicle for draw in range(20)} == {ONE_NODE, THREE_NODES}
    assert all(30 <= drawn(draw).item_us <= 1000 for draw in range(200))
    assert all(1 <= drawn(draw).radar_objects <= 12 for draw in range(200))
    assert len({error_drawn(draw) for draw in range(20)}) == 20


def test_what_is_drawn_is_in_the_vehicle() -> None:
    given = next(one for one in map(drawn, range(50)) if one.vehicle == THREE_NODES and one.bus > 1)
    vehicle = application(given).vehicle
    assert {bus.bit_rate for bus in vehicle.buses} == {given.bus * 1_000_000}
    assert {node.decision_cost for node in vehicle.nodes} == {given.decision_us * 1_000}


def test_misfit_is_that_of_the_worst_target() -> None:
    assert misfit(FITTING, TARGETS) == 0.0
    assert misfit({**FITTING, "fifo_rate": 200.0}, RATE_TARGETS) == pytest.approx(1.0)
    assert misfit({**FITTING, "s_edf_rate": 200.0, "fifo_rate": 200.0}, TARGETS) == pytest.approx(2)
    assert misfit({**FITTING, "s_edf_rate": 0.0}, RATE_TARGETS) == pytest.approx(3.3219, abs=1e-3)


def test_near_is_a_factor_both_ways() -> None:
    for value, near in ((80.0, True), (79.0, False), (125.0, True), (126.0, False)):
        assert fits({"fifo_rate": value, "sent": 1000.0}, "fifo_rate", 100.0) == near
    assert NEAR == 1.25


def test_a_rate_of_all_that_was_sent_fits_nothing() -> None:
    for sent, rate, near in ((1500.0, 900.0, True), (900.0, 900.0, False), (1500.0, 1000.0, False)):
        row: Row = {"s_edf_rate": rate, "fifo_rate": 100.0, "sent": sent}
        assert fits(row, "s_edf_rate", 800.0) == near
        assert misfit(row, RATE_TARGETS) == pytest.approx(0.1699 if near else 1.0, abs=1e-3)


def test_the_grid_has_every_pair_once() -> None:
    drawn_points = [cell for cell in STUDY.cells(False) if cell["part"] == "near"]
    settings = {near_setting(number) for number in range(len(drawn_points))}
    assert len(settings) == len(drawn_points) == len(NEAR_ITEMS) * len(NEAR_OBJECTS)
    assert {(one.item_us, one.radar_objects) for one in settings} == set(
        product(NEAR_ITEMS, NEAR_OBJECTS)
    )


def test_the_best_is_by_the_city_that_chooses_and_the_first_of_equals() -> None:
    rows = [
        rates_row(4, fifo_rate=300.0),
        rates_row(2, fifo_rate=120.0),
        rates_row(1, fifo_rate=120.0),
    ]
    assert best(rows, RATE_TARGETS)["draw"] == 1


def test_what_fits_and_what_does_not_is_told() -> None:
    rows = [
        rates_row(0), rates_row(0, city=2, fifo_rate=150.0), rates_row(1, fifo_rate=400.0),
        rates_row(0, part="near"), rates_row(1, part="near", s_edf_rate=900.0, sent=900.0),
        errors_row(0), errors_row(0, city=2, fused=3.0), errors_row(1, raw=3.0),
    ]  # fmt: skip
    found = told(rows)
    both = {
        asked.split("? ")[1]: ours for asked, ours in found.items() if asked.startswith("can both")
    }
    assert both["2 settings"].startswith(
        "1 of 2 give both, 0 take all that is sent under S-EDF; S-EDF takes 2.0 to 8.0 times "
        "FIFO+'s; those have"
    )
    assert both["2 settings near one"] == (
        "1 of 2 give both, 1 take all that is sent under S-EDF; S-EDF takes 8.0 to 8.0 times "
        "FIFO+'s; those have one node, 140 to 140 µs an item, 8 to 8 radar objects"
    )
    (chosen,) = (ours for asked, ours in found.items() if "nearest to both rates" in asked)
    assert "city 1: S-EDF 800/s, FIFO+ 100/s" in chosen
    assert "city 2: S-EDF 800/s, FIFO+ 150/s" in chosen
    (gps,) = (ours for asked, ours in found.items() if asked.startswith("a GPS with which"))
    assert gps.startswith("1 of 2 settings")
    assert "city 2: 7.30 and 3.00 m" in gps


def test_what_no_setting_gives_is_told_as_such() -> None:
    found = told([rates_row(0, silent_ttc=0.3), rates_row(1, silent_ttc=0.5), errors_row(0)])
    (silent,) = (ours for asked, ours in found.items() if "without V2V" in asked and "TTC" in asked)
    assert (
        silent == "0 of 2 settings give it; all lie from 0.30 to 0.50: at no setting that was tried"
    )


def test_every_claim_is_fitted_and_says_what_was_tried() -> None:
    claims = STUDY.analyse([rates_row(0), errors_row(0)]).claims
    assert {claim.came.origin for claim in claims} == {Origin.FITTED}
    assert {claim.verdict for claim in claims} == {Verdict.BEYOND}
    assert all("1 random draws" in claim.came.tried for claim in claims)


def test_the_fitted_example_differs_only_where_it_says_so() -> None:
    given, shown = (load_query(example(name)).query for name in ("as_published.yaml", "query.yaml"))
    steps = {step.name: step for step in shown.steps}
    changed = [step for step in given.steps if step != steps[step.name]]
    assert [step.name for step in changed] == ["sdfo2"]
    (fusion,) = changed
    assert isinstance(fusion, Fusion)
    assert fusion.cost is not None
    assert fusion.cost.of(1) == 11 * MILLISECOND  # as printed
    assert not fusion.cost.between_items
    shown_fusion = steps["sdfo2"]
    assert isinstance(shown_fusion, Fusion)
    assert replace(fusion, cost=None) == replace(shown_fusion, cost=None)
    sources = [source.name for source in given.sources if source not in shown.sources]
    assert sources == ["radar"]
    assert given.outputs == shown.outputs
    plan = compile_query(given, load_vehicle(example("as_published_vehicle.yaml")).vehicle)
    assert {node for _, node in plan.placement} == {"ecu"}


def test_an_error_that_stays_is_averaged_less() -> None:
    """Runs a draw: two cells of the study's own grid."""
    short, long = (
        where(STUDY.run({"part": "errors", "draw": draw}), city=CITY)[0]
        for draw in sorted(range(8), key=lambda draw: error_drawn(draw)[1])[::7]
    )
    gain = [number(row, "raw") / number(row, "fused") for row in (short, long)]
    assert gain[0] > gain[1] > 1.0
    assert set(ERROR_TARGETS) <= set(short)


def test_rows_of_one_kind_have_the_columns_of_the_other_without_values() -> None:
    """As they are when all cells are put together: errors have no vehicle."""
    drawn: Row = {"part": "errors", "draw": 0, "vehicle": None, "item_us": None, "gps": 2.0}
    assert calibration._where([drawn]) == "; those have 2 to 2 m of GPS"
