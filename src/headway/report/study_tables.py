"""Studies and their verdicts as tables and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headway.experiments.findings import Verdict
from headway.experiments.reproduce import Reproduced
from headway.experiments.study import Study
from headway.report.plan_tables import Table
from headway.report.words import BROKEN, KEPT, NONE


def studies(listed: Sequence[Study]) -> Table:
    return Table(
        title="Studies",
        headers=["name", "paper", "shows", "takes about", "what"],
        rows=[
            [study.name, study.paper.value, figures(study), duration(study.seconds), study.title]
            for study in listed
        ],
        numeric=(3,),
    )


def verdicts(found: Sequence[Reproduced]) -> Table:
    """One row for each claim."""
    rows: list[list[str]] = []
    for one in found:
        if one.findings is None:
            rows.append([one.study.name, figures(one.study), NONE, NONE, "a cell failed"])
            continue
        rows += [
            [one.study.name, claim.figure, claim.published, claim.ours, claim.verdict.value]
            for claim in one.findings.claims
        ]
    headers = ["study", "where", "published", "ours", "verdict"]
    return Table(title="Claims", headers=headers, rows=rows)


def summary(found: Sequence[Reproduced]) -> str:
    """The count of each verdict in one line."""
    counts = tally(found)
    failed = sum(one.findings is None for one in found)
    told = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
    if failed:
        return f"{BROKEN} {failed} studies have cells that failed; the others: {told or NONE}"
    return f"{KEPT} {told}"


def tally(found: Sequence[Reproduced]) -> dict[Verdict, int]:
    counts = Counter(
        claim.verdict for one in found if one.findings for claim in one.findings.claims
    )
    return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}


def described(study: Study) -> dict[str, Any]:
    return {
        "name": study.name,
        "paper": study.paper.value,
        "figures": list(study.figures),
        "title": study.title,
        "seconds": study.seconds,
        "seed": study.seed,
    }


def data(found: Sequence[Reproduced]) -> list[dict[str, Any]]:
    """Everything but the pictures; no times, so that equal runs give equal bytes."""
    return [
        {
            **described(one.study),
            "cells": one.cells,
            "failed": [asdict(cell) for cell in one.failed],
            "claims": [asdict(claim) for claim in one.findings.claims] if one.findings else None,
        }
        for one in found
    ]


def figures(study: Study) -> str:
    return ", ".join(study.figures) or NONE


def duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"
