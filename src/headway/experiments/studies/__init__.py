"""The studies of the papers, and beyond. A new one is a file here and a line in ``STUDIES``."""

from __future__ import annotations

from headway.errors import InputError, Problem
from headway.experiments.studies import (
    across_nodes,
    admission,
    automatic_batches,
    basic,
    communication,
    cores,
    crashes,
    er_edf_example,
    exact_alpha,
    fusion,
    hard_tasks,
    hvlb_example,
    hvlb_tables,
    methods,
    never_failing,
    optimum,
    output1_latency,
    position_error,
    precision,
    queue_failures,
    recorded_drive,
    schedule_lengths,
    sedf_example,
    tasks,
    tracking,
    v2v_rates,
)
from headway.experiments.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        # S-EDF
        sedf_example.STUDY,
        basic.STUDY,
        # AEDSMS
        tasks.STUDY,
        fusion.STUDY,
        output1_latency.STUDY,
        v2v_rates.STUDY,
        crashes.STUDY,
        tracking.STUDY,
        position_error.STUDY,
        # ROP-EDF
        er_edf_example.STUDY,
        admission.STUDY,
        hard_tasks.STUDY,
        methods.STUDY,
        # HVLB_CC
        hvlb_tables.STUDY,
        hvlb_example.STUDY,
        schedule_lengths.STUDY,
        communication.STUDY,
        queue_failures.STUDY,
        precision.STUDY,
        # beyond the papers
        exact_alpha.STUDY,
        optimum.STUDY,
        never_failing.STUDY,
        across_nodes.STUDY,
        cores.STUDY,
        automatic_batches.STUDY,
        recorded_drive.STUDY,
    )
}
"""by name, in the order of the report"""


def study_named(name: str) -> Study:
    """The study; InputError for a name there is none of."""
    if name not in STUDIES:
        raise InputError(
            Problem(f"there is no study `{name}`", want=f"choose among {', '.join(STUDIES)}")
        )
    return STUDIES[name]
