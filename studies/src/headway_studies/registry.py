"""The studies of the papers, and beyond: a new one is a file of this package and a line here.

A package of its own may bring more through the entry point group ``headway.studies``, each a
:class:`~headway_studies.study.Study`.
"""

from __future__ import annotations

from importlib.metadata import entry_points

from headway.errors import InputError
from headway_studies.aedsms import (
    aedsms_tasks,
    crashes,
    fusion_latency,
    output1_latency,
    position_error,
    tracking,
    v2v_rates,
)
from headway_studies.beyond import (
    across_nodes,
    automatic_batches,
    cores,
    exact_alpha,
    never_failing,
    optimum_gap,
    recorded_drive,
)
from headway_studies.hvlb_cc import (
    communication,
    data_precision,
    hvlb_schedules,
    hvlb_tables,
    queue_failures,
    schedule_lengths,
)
from headway_studies.rop_edf import admission, er_edf_example, hard_tasks, overload_methods
from headway_studies.s_edf import sedf_basic, sedf_example
from headway_studies.study import Study

ENTRY_POINTS = "headway.studies"
OURS: dict[str, Study] = {
    study.name: study
    for study in (
        # S-EDF
        sedf_example.STUDY,
        sedf_basic.STUDY,
        # AEDSMS
        aedsms_tasks.STUDY,
        fusion_latency.STUDY,
        output1_latency.STUDY,
        v2v_rates.STUDY,
        crashes.STUDY,
        tracking.STUDY,
        position_error.STUDY,
        # ROP-EDF
        er_edf_example.STUDY,
        admission.STUDY,
        hard_tasks.STUDY,
        overload_methods.STUDY,
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
    )
}
"""by name, in the order of the report"""


def brought_studies() -> dict[str, Study]:
    """Those of other packages; InputError for what is no study or takes a name that is taken."""
    found = {}
    for entry in entry_points(group=ENTRY_POINTS):
        study = entry.load()
        if not isinstance(study, Study):
            raise InputError(
                f"the entry point `{entry.name}` of the group {ENTRY_POINTS} is no study",
                got=f"{entry.value}, a {type(study).__name__}",
                want="name a headway_studies.study.Study",
            )
        if study.name in OURS or study.name in found:
            raise InputError(
                f"there are two studies `{study.name}`",
                got=entry.value,
                want="give the study of that package another name",
            )
        found[study.name] = study
    return found


STUDIES: dict[str, Study] = OURS | brought_studies()
"""ours, then those that other packages bring"""


def study_named(name: str) -> Study:
    """The study; InputError for a name there is none of."""
    if name not in STUDIES:
        raise InputError(f"there is no study `{name}`", want=f"choose among {', '.join(STUDIES)}")
    return STUDIES[name]
