"""The report of a reproduction: one self-contained page, all verdicts at a glance first."""

from __future__ import annotations

from collections.abc import Sequence

from headway.report.chart_pages import CHART_CSS, HINT, chart_figure, chart_script
from headway.report.html import escaped, page
from headway_studies.provenance import Origin
from headway_studies.report_files import duration, figures, tally, tally_by_origin
from headway_studies.run_studies import Reproduced
from headway_studies.study import Claim, Paper, Verdict
from headway_studies.study_charts import Grid, Picture

STUDY_CSS = """
:root{--equal:#14632f;--equal-back:#e6f6ea;--same:#1d4f8f;--same-back:#e6effb;
--differs:#8a4b00;--differs-back:#fdf0dc;--beyond:#5a3f94;--beyond-back:#f0eafb;
--printed:#0f5c5c;--printed-back:#dff3f3;--assumed:#4d5563;--assumed-back:#eceef1;
--changed:#8a2f6b;--changed-back:#fae6f3;--fitted:#9a2323;--fitted-back:#fbe5e5}
@media screen and (prefers-color-scheme:dark){:root{--equal:#7fdca0;--equal-back:#10301c;
--same:#9cc5ff;--same-back:#12263f;--differs:#ffc98a;--differs-back:#3a2408;
--beyond:#cdb8ff;--beyond-back:#261b42;
--printed:#7fdada;--printed-back:#0c2f2f;--assumed:#c3cad6;--assumed-back:#262b33;
--changed:#f2a6d8;--changed-back:#3b1730;--fitted:#ff9f9f;--fitted-back:#401515}}
.equal{--tone:var(--equal);--back:var(--equal-back)}.same{--tone:var(--same);--back:var(--same-back)}
.differs{--tone:var(--differs);--back:var(--differs-back)}
.beyond{--tone:var(--beyond);--back:var(--beyond-back)}
.printed{--tone:var(--printed);--back:var(--printed-back)}
.assumed{--tone:var(--assumed);--back:var(--assumed-back)}
.changed{--tone:var(--changed);--back:var(--changed-back)}
.fitted{--tone:var(--fitted);--back:var(--fitted-back)}
.lacking{--tone:var(--muted);--back:var(--card)}
.differences li{margin:.45rem 0;max-width:80ch}
.tally{display:flex;flex-wrap:wrap;gap:.6rem;padding:0;list-style:none}
.tally li{padding:.5rem .9rem;border-radius:8px;background:var(--back);color:var(--tone)}
.tally b{font-size:1.6rem;margin-right:.35rem}
.glance table{max-width:none}.glance td,.glance th{vertical-align:middle}
.mark{display:inline-block;min-width:1.55rem;text-align:center;margin:.1rem;border-radius:5px;
background:var(--back);color:var(--tone);font-weight:700;text-decoration:none}
a{color:inherit}
.study{border-top:1px solid var(--line);padding-top:.8rem;margin-top:1.4rem;scroll-margin-top:.5rem}
.claims{display:grid;gap:.7rem;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));
margin:.8rem 0}
.claim{border:1px solid var(--line);border-left:6px solid var(--tone);border-radius:8px;
padding:.6rem .9rem;background:var(--card);scroll-margin-top:.5rem}
.claim:target{outline:3px solid var(--tone)}
.claim header{display:flex;justify-content:space-between;gap:.6rem;font-weight:600;flex-wrap:wrap}
.badge{color:var(--tone);background:var(--back);border-radius:5px;padding:0 .5rem}
.claim dl{display:grid;grid-template-columns:auto 1fr;gap:.15rem .8rem;margin:.4rem 0 0}
.claim dt{color:var(--muted)}.claim dd{margin:0;overflow-wrap:anywhere}
.came{margin:.4rem 0 0;font-size:.92rem}
.origins td,.origins th{text-align:right}.origins th:first-child{text-align:left}
.why{margin:.4rem 0 0;font-size:.92rem}
@media screen and (max-width:40rem){.glance td:nth-child(2),.glance th:nth-child(2){display:none}}
caption{text-align:left;font-weight:600;padding:.3rem 0}
.pictures .grid{align-self:start}
@media print{.claim,figure{break-inside:avoid}.glance{break-after:page}}
"""


MARKS = {
    Verdict.EQUAL: ("=", "equal"),
    Verdict.SAME: ("≈", "same"),
    Verdict.DIFFERS: ("≠", "differs"),
    Verdict.BEYOND: ("+", "beyond"),
}
"""the sign and the class of a verdict: never colour alone"""
MEANT = {
    Origin.PRINTED: "all inputs and the algorithm are in the paper",
    Origin.ASSUMED: "an input that the paper leaves open was chosen beforehand",
    Origin.CHANGED: "our algorithm is not the printed one",
    Origin.FITTED: "something was chosen because the claim then holds",
}
TITLES = {
    Paper.S_EDF: "S-EDF: scheduling with deadlines at run time",
    Paper.AEDSMS: "AEDSMS: the whole system, on the road",
    Paper.ROP_EDF: "ROP-EDF: when more is asked for than there is",
    Paper.HVLB_CC: "HVLB_CC: placing tasks before the car drives",
    Paper.NONE: "Beyond the papers",
}


def study_page(found: Sequence[Reproduced], command: str, *, quick: bool) -> str:
    """The whole document."""
    title = "The papers' figures, run again"
    body = [
        f"<h1>{title}</h1>",
        f'<p class="muted">Made by <code>{escaped(command)}</code>'
        + (": small grids, so spreads are wide." if quick else ".")
        + "</p>",
        _tally(found),
        _origins(found),
        _glance(found),
        _differences(found),
        HINT,
        *(_paper(paper, [one for one in found if one.study.paper is paper]) for paper in Paper),
        chart_script(),
    ]
    return page(title, body, css=CHART_CSS + STUDY_CSS)


def _tally(found: Sequence[Reproduced]) -> str:
    counts = "".join(
        f'<li class="{MARKS[verdict][1]}"><b>{count}</b> {escaped(verdict.value)}</li>'
        for verdict, count in tally(found).items()
    )
    failed = sum(bool(one.failed or one.confused) for one in found)
    broken = f'<li class="differs"><b>{failed}</b> failed</li>' if failed else ""
    lacking = sum(one.lacks is not None for one in found)
    absent = f'<li class="lacking"><b>{lacking}</b> not run here</li>' if lacking else ""
    return f'<ul class="tally">{counts}{broken}{absent}</ul>'


def _origins(found: Sequence[Reproduced]) -> str:
    """How what is said beside the papers came about, and how it then stands."""
    counts = tally_by_origin(found)
    verdicts = list(Verdict)
    heads = "".join(f'<th scope="col">{escaped(verdict.value)}</th>' for verdict in verdicts)
    lines = "".join(
        f'<tr><th scope="row">{_came_badge(origin)} {escaped(meant)}</th>'
        + "".join(f"<td>{counts[origin, verdict] or '–'}</td>" for verdict in verdicts)
        + "</tr>"
        for origin, meant in MEANT.items()
    )
    return (
        '<div class="scroll origins"><table><caption>How it came about</caption><thead><tr>'
        f'<th scope="col">ours are</th>{heads}</tr></thead><tbody>{lines}</tbody></table></div>'
    )


def _came_badge(origin: Origin) -> str:
    """The class of an origin is its word, and the word stands there: never colour alone."""
    return f'<span class="badge {origin.value}">{origin.value}</span>'


def _glance(found: Sequence[Reproduced]) -> str:
    """Every claim as a small mark under its study, each a link."""
    lines = []
    for one in found:
        marks = (
            "".join(
                f'<a class="mark {MARKS[claim.verdict][1]}" href="#{one.study.name}-{place}" '
                f'title="{escaped(claim.figure)}, {claim.came.origin.value}: '
                f'{escaped(claim.published)}">'
                f"{MARKS[claim.verdict][0]}</a>"
                for place, claim in enumerate(one.findings.claims)
            )
            if one.findings
            else f'<a class="mark {"lacking" if one.lacks else "differs"}" '
            f'href="#{one.study.name}">{"not run here" if one.lacks else "!"}</a>'
        )
        lines.append(
            f'<tr><th scope="row"><a href="#{one.study.name}">{escaped(one.study.name)}</a></th>'
            f"<td>{escaped(figures(one.study))}</td><td>{marks}</td></tr>"
        )
    return (
        '<nav class="glance" id="all" aria-label="all verdicts"><table><thead><tr><th>study</th>'
        f"<th>shows</th><th>verdicts</th></tr></thead><tbody>{''.join(lines)}</tbody></table></nav>"
    )


def _differences(found: Sequence[Reproduced]) -> str:
    """What differs is what a reader asks for first: all of it in one place, with the reasons."""
    lines = "".join(
        f'<li><a href="#{one.study.name}-{place}">{escaped(one.study.name)}, '
        f"{escaped(claim.figure)}</a>: published {escaped(claim.published)}; ours "
        f"{escaped(claim.ours)}. <em>Why:</em> {escaped(claim.why.rstrip('.'))}.</li>"
        for one in found
        if one.findings
        for place, claim in enumerate(one.findings.claims)
        if claim.verdict is Verdict.DIFFERS
    )
    if not lines:
        return ""
    title = "Where ours differ, and why"
    return f'<section class="differences"><h2>{title}</h2><ol>{lines}</ol></section>'


def _paper(paper: Paper, found: Sequence[Reproduced]) -> str:
    if not found:
        return ""
    return f"<h2>{escaped(TITLES[paper])}</h2>" + "".join(_study(one) for one in found)


def _study(one: Reproduced) -> str:
    study = one.study
    seed = "nothing is random" if study.seed is None else f"seed {study.seed}"
    head = (
        f'<section class="study" id="{study.name}"><h3>{escaped(study.title)}</h3>'
        f'<p class="muted">{escaped(figures(study))} · <code>headway reproduce {study.name}</code>'
        f" · {seed} · {one.cells:,} cells · about {duration(study.seconds)} · "
        '<a href="#all">all verdicts</a></p>'
    )
    if one.lacks:
        return f'{head}<p class="lacking">Not run here: {escaped(one.lacks)}</p></section>'
    if one.confused:
        told = escaped(one.confused)
        return f'{head}<p class="differs">Its rows could not be analysed: {told}</p></section>'
    if one.findings is None:
        told = "".join(
            f"<li><code>{escaped(cell.cell)}</code>: {escaped(cell.error)}</li>"
            for cell in one.failed[:5]
        )
        return (
            f'{head}<p class="differs">{len(one.failed)} cells failed:</p><ul>{told}</ul></section>'
        )
    claims = "".join(_claim(study.name, place, c) for place, c in enumerate(one.findings.claims))
    pictures = "".join(_picture(picture) for picture in one.findings.pictures)
    return (
        f'{head}<div class="claims">{claims}</div><div class="pictures">{pictures}</div></section>'
    )


def _claim(study: str, place: int, claim: Claim) -> str:
    sign, kind = MARKS[claim.verdict]
    why = f'<p class="why">{escaped(claim.why)}</p>' if claim.why else ""
    published = (
        f"<dt>published</dt><dd>{escaped(claim.published)}</dd>"
        if claim.verdict is not Verdict.BEYOND
        else f"<dt>asked</dt><dd>{escaped(claim.published)}</dd>"
    )
    return (
        f'<article class="claim {kind}" id="{study}-{place}"><header>{escaped(claim.figure)} '
        f'<span class="badge"><span aria-hidden="true">{sign}</span> '
        f"{escaped(claim.verdict.value)}</span></header>"
        f"<dl>{published}<dt>ours</dt><dd>{escaped(claim.ours)}</dd></dl>{_came(claim)}{why}"
        "</article>"
    )


def _came(claim: Claim) -> str:
    told = f" {escaped(claim.came.told)}" if claim.came.told else ""
    tried = f" Tried: {escaped(claim.came.tried)}." if claim.came.tried else ""
    return f'<p class="came">{_came_badge(claim.came.origin)}{told}{tried}</p>'


def _picture(picture: Picture) -> str:
    return _grid(picture) if isinstance(picture, Grid) else chart_figure(picture)


def _grid(grid: Grid) -> str:
    head = "".join(f'<th scope="col">{escaped(header)}</th>' for header in grid.headers)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in grid.rows
    )
    return (
        f'<div class="scroll grid"><table><caption>{escaped(grid.title)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
