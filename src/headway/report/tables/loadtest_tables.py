"""A load test as tables and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headway.report.plan.plan_tables import Table, sign
from headway.schedule.overload.load_trials import LoadCell


def misses(cells: Sequence[LoadCell]) -> Table:
    """Miss ratios (%) with their spread: a row per load and task, a column per policy."""
    policies = list(dict.fromkeys(cell.policy for cell in cells))
    rows: dict[tuple[int, str, bool], dict[str, str]] = {}
    for cell in cells:
        text = f"{100 * cell.mean:.1f} ± {100 * cell.deviation:.1f}"
        rows.setdefault((cell.load, cell.task, cell.hard), {})[cell.policy] = text
    return Table(
        title="Deadline miss ratio in % (mean ± standard deviation over the trials)",
        headers=["Load", "Task", "Kind", *policies],
        rows=[
            [f"{load} %", task, "hard" if hard else "soft", *(found[p] for p in policies)]
            for (load, task, hard), found in sorted(rows.items(), key=lambda item: item[0][0])
        ],
        numeric=(0, *range(3, 3 + len(policies))),
    )


def verdict(cells: Sequence[LoadCell]) -> list[str]:
    """A line per policy: whether hard tasks missed, and from which load on."""
    lines = []
    for policy in dict.fromkeys(cell.policy for cell in cells):
        mine = [cell for cell in cells if cell.policy == policy and cell.hard]
        missed = sorted({cell.load for cell in mine if cell.most > 0})
        if not mine:
            lines.append(f"{policy}: there are no hard tasks")
        elif missed:
            lines.append(f"{sign(False)} {policy}: hard tasks miss at {missed[0]} % and above")
        else:
            lines.append(f"{sign(True)} {policy}: no hard task missed a deadline at any load")
    return lines


def plain(cells: Sequence[LoadCell], about: dict[str, Any]) -> dict[str, Any]:
    """For programs; ratios rounded, so that it reads well and stays the same."""
    return {
        **about,
        "misses": [
            {
                key: round(value, 6) if isinstance(value, float) else value
                for key, value in asdict(cell).items()
            }
            for cell in cells
        ],
    }
