"""The studies of the papers, and beyond: a new one is a file of this package and a line here.

A package of its own may bring more through the entry point group ``headway.studies``, each a
:class:`~headway_studies.study.Study`, by the rules of :mod:`headway.extensions`.
"""

from __future__ import annotations

from headway.errors import InputError
from headway.extensions import ExtensionObjects
from headway_studies.aedsms import (
    aedsms_tasks,
    calibration,
    cities,
    crashes,
    fusion_latency,
    output1_latency,
    position_error,
    tracking,
    v2v_rates,
    waiting_messages,
)
from headway_studies.beyond import (
    across_nodes,
    automatic_batches,
    braking,
    connected_cars,
    cores,
    exact_alpha,
    never_failing,
    optimum_gap,
    recorded_drive,
    whole_car,
)
from headway_studies.hvlb_cc import (
    communication,
    data_precision,
    hvlb_schedules,
    hvlb_tables,
    queue_failures,
    schedule_lengths,
)
from headway_studies.rop_edf import (
    admission,
    er_edf_example,
    hard_tasks,
    overload_methods,
    two_deadlines,
)
from headway_studies.s_edf import basic_costs, old_and_new, sedf_basic, sedf_example
from headway_studies.study import Study

OURS: dict[str, Study] = {
    study.name: study
    for study in (
        # S-EDF
        old_and_new.STUDY,
        sedf_example.STUDY,
        sedf_basic.STUDY,
        basic_costs.STUDY,
        # AEDSMS
        waiting_messages.STUDY,
        aedsms_tasks.STUDY,
        fusion_latency.STUDY,
        output1_latency.STUDY,
        v2v_rates.STUDY,
        crashes.STUDY,
        tracking.STUDY,
        position_error.STUDY,
        cities.STUDY,
        calibration.STUDY,
        # ROP-EDF
        er_edf_example.STUDY,
        admission.STUDY,
        hard_tasks.STUDY,
        overload_methods.STUDY,
        two_deadlines.STUDY,
        # HVLB_CC
        hvlb_tables.STUDY,
        hvlb_schedules.STUDY,
        schedule_lengths.STUDY,
        communication.STUDY,
        queue_failures.STUDY,
        data_precision.STUDY,
        # beyond the papers
        exact_alpha.STUDY,
        optimum_gap.STUDY,
        never_failing.STUDY,
        across_nodes.STUDY,
        cores.STUDY,
        automatic_batches.STUDY,
        recorded_drive.STUDY,
        connected_cars.STUDY,
        braking.STUDY,
        whole_car.STUDY,
    )
}
"""by name, in the order of the report"""


STUDIES: ExtensionObjects[Study] = ExtensionObjects(
    "headway.studies", base="headway_studies.study:Study", own=OURS, what="study"
)
"""ours, then those that other packages bring"""


def study_named(name: str) -> Study:
    """The study, by its name or that of a figure it shows; InputError for a name there is none of,
    or of one that cannot be used."""
    found = STUDIES.get(name)
    if found is None:
        shown = [study for study in STUDIES.values() if name in study.figures]
        if len(shown) > 1:
            names = ", ".join(study.name for study in shown)
            raise InputError(f"several studies show {name}", want=f"choose among {names}")
        if not shown:
            want = f"choose among {', '.join(STUDIES)}, or name a figure: 'figure 18'"
            raise InputError(f"there is no study `{name}`", want=want)
        (found,) = shown
    return found
