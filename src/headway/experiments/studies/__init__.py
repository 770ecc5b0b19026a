"""The studies of the papers, and beyond. A new one is a file here and a line in ``STUDIES``."""

from __future__ import annotations

from headway.errors import InputError, Problem
from headway.experiments.studies import basic
from headway.experiments.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        basic.STUDY,
    )
}  # fmt: skip
"""by name, in the order of the report"""


def study_named(name: str) -> Study:
    """The study; InputError for a name there is none of."""
    if name not in STUDIES:
        raise InputError(
            Problem(f"there is no study `{name}`", want=f"choose among {', '.join(STUDIES)}")
        )
    return STUDIES[name]
