"""What self-contained HTML pages share: the frame, escaped text, tables."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from headway.report.page_style import PAGE_CSS
from headway.report.plan_tables import Table
from headway.report.text import plain

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
