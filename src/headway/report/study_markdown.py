"""The verdicts of a reproduction as Markdown, for documentation and reviews."""

from __future__ import annotations

from collections.abc import Sequence

from headway.experiments.findings import Claim
from headway.experiments.reproduce import Reproduced
from headway.experiments.study import Paper
from headway.report.study_pictures import named_charts
from headway.report.study_tables import counted, figures, without_findings

HEAD = "| where | published | ours | verdict |\n|---|---|---|---|\n"


def study_markdown(found: Sequence[Reproduced], command: str, pictures: str | None = None) -> str:
    """A table for each study under its paper, and its pictures if they are in a folder; no times,
    so that equal runs give equal bytes."""
    parts = [f"# Ours beside the papers'\n\nMade by `{command}`: {counted(found)}.\n"]
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
    cells = (claim.figure, claim.published, claim.ours, f"**{claim.verdict.value}**{why}")
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |\n"


def _cell(text: str) -> str:
    """What would end the cell or start a tag is written out."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
