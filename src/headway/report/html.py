"""What self-contained HTML pages share: style (light, dark, phone, print), frame, tables."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from headway.report.plan.plan_tables import Table
from headway.report.svg import plain

PAGE_CSS = """
:root{color-scheme:light dark;--ink:#18212d;--muted:#566273;--page:#fff;--card:#f6f8fb;
--line:#cdd6e1;--kept:#14632f;--kept-back:#e6f6ea;--broken:#a01c15;--broken-back:#fdeaea;
--node:#9cc3f2;--bus:#b7b0ea;--gateway:#8b80d6;--source:#f0cf7c;--waiting:#d5dbe3;--on-part:#18212d}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7ecf3;--muted:#a3b0c0;--page:#10151c;
--card:#19212c;--line:#3a485a;--kept:#7fdca0;--kept-back:#10301c;--broken:#ffa9a2;
--broken-back:#3a1614;--node:#2f5f9e;--bus:#544a9e;--gateway:#7d70d0;--source:#7a5d14;
--waiting:#44505f;--on-part:#fff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem 1.25rem 3rem;max-width:90rem;background:var(--page);
color:var(--ink);font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem}
h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
.verdict{font-weight:600;margin:.2rem 0 1rem}.kept{color:var(--kept)}.broken{color:var(--broken)}
.muted{color:var(--muted)}
figure{margin:0;overflow-x:auto;border:1px solid var(--line);border-radius:8px}
figure svg{display:block;height:auto;max-width:100%;min-width:min(100%,60rem)}
@media screen and (max-width:60rem){figure svg{min-width:60rem}}
.cards{display:grid;gap:.8rem}
.card{border:1px solid var(--line);border-left:6px solid var(--muted);border-radius:8px;
padding:.7rem 1rem;background:var(--card)}
.card.is-kept{border-left-color:var(--kept)}.card.is-broken{border-left-color:var(--broken)}
.card p{margin:.25rem 0;overflow-wrap:anywhere}
.time-bar{display:block;margin:.6rem 0 .3rem;overflow:visible}
.time-bar text{font-size:12px;fill:var(--on-part)}
.time-bar .deadline-text{fill:var(--ink);font-size:11px}
.part{stroke:var(--card);stroke-width:1.5}
.deadline{stroke:var(--ink);stroke-width:2;stroke-dasharray:4 2}
.part-node{fill:var(--node)}.part-bus{fill:var(--bus)}.part-gateway{fill:var(--gateway)}
.part-source{fill:var(--source)}.part-waiting{fill:var(--waiting)}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.85rem;padding:0;
margin:.3rem 0 .8rem;list-style:none}
.key svg{vertical-align:-1px;margin-right:.35rem}
summary{cursor:pointer;color:var(--muted)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;vertical-align:top;padding:.32rem .7rem .32rem 0;
border-bottom:1px solid var(--line);
overflow-wrap:break-word}
th{font-weight:600;color:var(--muted);white-space:nowrap}
td.number,th.number{text-align:right;white-space:nowrap;padding-right:1.4rem}
table:not(.wide){max-width:46rem}
@media screen and (max-width:40rem){
.wide thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.wide,.wide tbody,.wide tr,.wide td{display:block}
.wide td:first-child{font-weight:600}
.wide tr{border:1px solid var(--line);border-radius:8px;padding:.4rem .8rem;margin:.5rem 0}
.wide td,.wide td.number{display:flex;gap:1rem;justify-content:space-between;text-align:right;
white-space:normal;overflow-wrap:anywhere;padding:.2rem 0;border:0}
.wide td::before{content:attr(data-label);color:var(--muted);text-align:left;flex:0 0 auto}}
@media print{body{max-width:none;padding:0;font-size:10.5pt}
figure{border:0;overflow:visible}figure svg{min-width:0;width:100%}
.card,tr{break-inside:avoid}h2{break-after:avoid}.scroll{overflow:visible}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
"""


WIDE = 5
"""Tables of more columns become cards on a phone."""


def escaped(text: str) -> str:
    return escape(plain(text))


def page(title: str, body: Iterable[str], css: str = "") -> str:
    """A whole document; nothing in it comes from elsewhere."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{PAGE_CSS}{css}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def cell(parts: Iterable[str]) -> str:
    """A piece of a page that is somebody else's, such as a notebook's: it brings no style that
    could reach beyond it."""
    return '<div style="overflow-x:auto">\n' + "\n".join(parts) + "\n</div>"


def section_table(table: Table) -> str:
    """A table under its title; nothing when it has no rows."""
    if not table.rows:
        return ""
    return f"<section><h2>{escaped(table.title)}</h2>\n{table_html(table)}</section>"


def table_html(table: Table) -> str:
    """ARIA roles keep it a table for screen readers where the style makes cards of its rows."""
    kinds = [' class="number"' if i in table.numeric else "" for i in range(len(table.headers))]
    head = "".join(
        f'<th scope="col" role="columnheader"{kind}>{escaped(header)}</th>'
        for header, kind in zip(table.headers, kinds, strict=True)
    )
    rows = "\n".join(
        '<tr role="row">'
        + "".join(
            f'<td role="cell"{kind} data-label="{escaped(header)}">{escaped(cell)}</td>'
            for header, cell, kind in zip(table.headers, row, kinds, strict=True)
        )
        + "</tr>"
        for row in table.rows
    )
    wide = ' class="wide"' if len(table.headers) > WIDE else ""
    return (
        f'<div class="scroll"><table role="table"{wide}><thead role="rowgroup"><tr role="row">'
        f'{head}</tr></thead>\n<tbody role="rowgroup">\n{rows}\n</tbody></table></div>'
    )
