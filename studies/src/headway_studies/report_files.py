"""What a reproduction leaves besides its page: tables of studies and verdicts for the screen,
verdicts as JSON and as Markdown, and its charts as PNG files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headway.report.chart_pages import chart_png
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table
from headway_studies.provenance import Origin
from headway_studies.run_studies import Reproduced
from headway_studies.study import Claim, Paper, Study, Verdict
from headway_studies.study_charts import Chart, Grid


def studies(listed: Sequence[Study]) -> Table:
    return Table(
        title="Studies",
        headers=["name", "paper", "shows", "takes about", "what"],
        rows=[
            [study.name, study.paper.value, figures(study), _expected(study), study.title]
            for study in listed
        ],
        numeric=(3,),
    )


def _expected(study: Study) -> str:
    return "cannot run here" if study.lacks() else duration(study.seconds)


def verdicts(found: Sequence[Reproduced]) -> Table:
    """One row for each claim."""
    rows: list[list[str]] = []
    for one in found:
        if one.findings is None:
            absent = [figures(one.study), NONE, NONE, without_findings(one), NONE]
            rows.append([one.study.name, *absent])
            continue
        rows += [
            [
                one.study.name,
                claim.figure,
                claim.published,
                claim.ours,
                claim.verdict.value,
                claim.came.origin.value,
            ]
            for claim in one.findings.claims
        ]
    headers = ["study", "where", "published", "ours", "verdict", "came about"]
    return Table(title="Claims", headers=headers, rows=rows)


def overview(found: Sequence[Reproduced]) -> Table:
    """One row for each study: how many of its claims got each verdict."""
    rows = []
    for one in found:
        counts = tally([one])
        told = [str(counts.get(verdict, "")) for verdict in Verdict]
        if one.findings is None:
            told[-1] = without_findings(one)
        rows.append([one.study.name, figures(one.study), *told])
    headers = ["study", "shows", *(verdict.value for verdict in Verdict)]
    return Table(title="Studies", headers=headers, rows=rows, numeric=tuple(range(2, 6)))


def by_origin(found: Sequence[Reproduced]) -> Table:
    """One row for each way in which what is said beside a paper came about. What no paper says
    anything about is not among them."""
    counts = tally_by_origin(found)
    against = [verdict for verdict in Verdict if verdict is not Verdict.BEYOND]
    return Table(
        title="How it came about (beside the papers)",
        headers=["came about", *(verdict.value for verdict in against), "all"],
        rows=[
            [
                origin.value,
                *(str(counts[origin, verdict] or "") for verdict in against),
                str(sum(counts[origin, verdict] for verdict in against)),
            ]
            for origin in Origin
        ],
        numeric=tuple(range(1, len(against) + 2)),
    )


def differences(found: Sequence[Reproduced]) -> Table:
    """The claims that differ, with the reason."""
    return Table(
        title="What differs, and why",
        headers=["study", "where", "published", "ours", "came about", "why"],
        rows=[
            [
                one.study.name,
                claim.figure,
                claim.published,
                claim.ours,
                claim.came.words,
                claim.why,
            ]
            for one in found
            if one.findings
            for claim in one.findings.claims
            if claim.verdict is Verdict.DIFFERS
        ],
    )


def summary(found: Sequence[Reproduced]) -> str:
    """The count of each verdict in one line."""
    broken = [one.study.name for one in found if one.failed or one.confused]
    told = counted(found)
    origins = counted_by_origin(found)
    told += f" ({origins})" if origins else ""
    told += "".join(f"; {one.study.name} not run here: {one.lacks}" for one in found if one.lacks)
    if broken:
        return f"{BROKEN} {', '.join(broken)} failed; the others: {told or NONE}"
    return f"{KEPT} {told}"


def counted(found: Sequence[Reproduced]) -> str:
    """``3 equal, 2 differ``."""
    return ", ".join(
        f"{count} {'differ' if verdict is Verdict.DIFFERS and count > 1 else verdict.value}"
        for verdict, count in tally(found).items()
    )


def without_findings(one: Reproduced) -> str:
    """Why a study has none."""
    if one.lacks:
        return "not run here"
    return "its rows could not be analysed" if one.confused else "a cell failed"


def tally(found: Sequence[Reproduced]) -> dict[Verdict, int]:
    counts = Counter(
        claim.verdict for one in found if one.findings for claim in one.findings.claims
    )
    return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}


def tally_by_origin(found: Sequence[Reproduced]) -> Counter[tuple[Origin, Verdict]]:
    """How many claims came about so and got that verdict."""
    return Counter(
        (claim.came.origin, claim.verdict)
        for one in found
        if one.findings
        for claim in one.findings.claims
    )


def counted_by_origin(found: Sequence[Reproduced]) -> str:
    """``of 5 beside the papers 3 printed, 2 assumed``; empty where there are none."""
    counts = {
        origin: sum(
            count
            for (mine, verdict), count in tally_by_origin(found).items()
            if mine is origin and verdict is not Verdict.BEYOND
        )
        for origin in Origin
    }
    told = ", ".join(f"{count} {origin.value}" for origin, count in counts.items() if count)
    return f"of {sum(counts.values())} beside the papers {told}" if told else ""


def described(study: Study) -> dict[str, Any]:
    return {
        "name": study.name,
        "paper": study.paper.value,
        "figures": list(study.figures),
        "title": study.title,
        "seconds": study.seconds,
        "seed": study.seed,
        "lacks": study.lacks(),
    }


def data(found: Sequence[Reproduced]) -> list[dict[str, Any]]:
    """Everything but the pictures; no times, so that equal runs give equal bytes."""
    return [
        {
            **described(one.study),
            "cells": one.cells,
            "lacks": one.lacks,
            "failed": [{"cell": cell.cell, "error": cell.error} for cell in one.failed],
            "confused": one.confused,
            "claims": [asdict(claim) for claim in one.findings.claims] if one.findings else None,
        }
        for one in found
    ]


def figures(study: Study) -> str:
    return ", ".join(study.figures) or NONE


def duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 90 else f"{round(seconds / 60)} min"


def pngs(found: Sequence[Reproduced]) -> dict[str, bytes]:
    """Every picture that is no table, by the name of its file."""
    return {name: chart_png(chart) for one in found for name, chart in named_charts(one).items()}


def named_charts(one: Reproduced) -> dict[str, Chart]:
    """``STUDY-1.png`` and so on, in the order of the report."""
    pictures = one.findings.pictures if one.findings else ()
    charts = [picture for picture in pictures if not isinstance(picture, Grid)]
    return {f"{one.study.name}-{place}.png": chart for place, chart in enumerate(charts, start=1)}


HEAD = "| where | published | ours | verdict | came about |\n|---|---|---|---|---|\n"


def study_markdown(found: Sequence[Reproduced], command: str, pictures: str | None = None) -> str:
    """A table for each study under its paper, and its pictures if they are in a folder; no times,
    so that equal runs give equal bytes."""
    origins = counted_by_origin(found)
    told = counted(found) + (f"; {origins}" if origins else "")
    parts = [f"# Ours beside the papers'\n\nMade by `{command}`: {told}.\n"]
    for paper in Paper:
        mine = [one for one in found if one.study.paper is paper]
        if mine:
            parts.append(f"\n## {paper.value[0].upper()}{paper.value[1:]}\n")
            parts += [_study(one) + _pictures(one, pictures) for one in mine]
    return "".join(parts)


def _study(one: Reproduced) -> str:
    seed = "" if one.study.seed is None else f", seed {one.study.seed}"
    head = (
        f"\n### {one.study.title}\n\n{figures(one.study)}; `headway reproduce {one.study.name}`"
        f"{seed}, {one.cells:,} cells\n\n"
    )
    if one.findings is None:
        return head + f"No findings: {without_findings(one)}. {one.lacks or one.confused or ''}\n"
    return head + HEAD + "".join(_row(claim) for claim in one.findings.claims)


def _pictures(one: Reproduced, folder: str | None) -> str:
    if folder is None:
        return ""
    return "".join(
        f"\n![{_cell(chart.title)}]({folder}/{name})\n\n{_cell(chart.note)}\n"
        for name, chart in named_charts(one).items()
    )


def _row(claim: Claim) -> str:
    why = f". Why: {claim.why}" if claim.why else ""
    verdict, came = f"**{claim.verdict.value}**{why}", claim.came.words
    cells = (claim.figure, claim.published, claim.ours, verdict, came)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |\n"


def _cell(text: str) -> str:
    """What would end the cell or start a tag is written out."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
