"""The collision-warning studies: the rows of the quick run are understood."""

from __future__ import annotations

import numpy as np
from tests.studies.quick_run import QuickRun

from headway.drive.encounters import Risks
from headway_studies.aedsms import crashes, output1_latency, position_error, v2v_rates
from headway_studies.aedsms.collision_drives import THREE_NODES
from headway_studies.provenance import Origin
from headway_studies.study import Verdict


def test_grids_are_as_large_as_the_papers() -> None:
    for study in (crashes.STUDY, output1_latency.STUDY, position_error.STUDY):
        assert len([cell for cell in study.cells(False) if "drift" not in cell]) == 100
        assert len(study.cells(True)) < 10
    limits = [
        cell for cell in v2v_rates.cells(False)
        if cell["part"] == "limit"
        and (cell["vehicle"], cell["item_us"], cell["radar_objects"])
        == (THREE_NODES, None, None)
    ]  # fmt: skip
    assert len(limits) == 300


def test_crashes(quick_run: QuickRun) -> None:
    found = quick_run.findings("crashes")
    verdicts = {claim.published: claim.verdict for claim in found.claims}
    assert verdicts["every car is hit without V2V"] is Verdict.SAME
    edf = [claim for claim in found.claims if claim.published.startswith("no crash under EDF")]
    assert [claim.came.origin for claim in edf] == [Origin.ASSUMED, Origin.CHANGED]
    assert [claim.verdict for claim in edf] == [Verdict.SAME] * 2
    assert len(found.pictures) == 4


def test_the_detection_rate_is_not_cumulative() -> None:
    """Car 7 is known with 4 s and with 2 s left and not in between; car 8 with 2.7 s left only (its
    second tuple comes after the impact)."""
    risks = Risks(
        id=np.array([7, 8, 7, 9, 8]),
        produced=np.array([1, 2, 3, 9, 9]) * 1_000_000,
        ttc=np.array([4.0, 3.0, 2.0, 1.0, 0.5]),
    )
    table = crashes.detected_at(risks, {7: 5_000_000, 8: 4_700_000}, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    assert table.tolist() == [
        [False, False, True, False, True],
        [False, False, True, False, False],
    ]
