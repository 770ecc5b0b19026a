"""What came of the mutants: a table by subject, the survivors as differences, all of it as JSON."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.trying import Tried, Verdict


def table(tried: Sequence[Tried], subjects: Mapping[str, str]) -> str:
    """One line a subject: mutants, killed, of these by their time, survived."""
    rows = [("subject", "mutants", "killed", "by time", "survived", "killed of all")]
    groups: dict[str, list[Tried]] = {}
    for one in tried:
        groups.setdefault(subjects[one.mutant.path], []).append(one)
    ordered = [(name, groups[name]) for name in dict.fromkeys(subjects.values()) if name in groups]
    for name, group in [*ordered, ("all", list(tried))]:
        dead = sum(one.verdict.dead for one in group)
        late = sum(one.verdict is Verdict.TIMED_OUT for one in group)
        share = f"{100 * dead / len(group):.1f} %" if group else "-"
        rows.append((name, str(len(group)), str(dead), str(late), str(len(group) - dead), share))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def difference(root: Path, mutant: Mutant) -> str:
    """The mutant as a difference of its module."""
    source = (root / mutant.path).read_bytes()
    before, after = source.decode().splitlines(), mutant.applied(source).decode().splitlines()
    lines = difflib.unified_diff(before, after, mutant.path, mutant.kind, n=2, lineterm="")
    return "\n".join(lines)


def as_json(tried: Sequence[Tried], subjects: Mapping[str, str], seed: int) -> str:
    dead = sum(one.verdict.dead for one in tried)
    return json.dumps(
        {
            "seed": seed,
            "mutants": len(tried),
            "killed": dead,
            "survived": len(tried) - dead,
            "tried": [
                {
                    "subject": subjects[one.mutant.path],
                    "module": one.mutant.path,
                    "line": one.mutant.line,
                    "function": one.mutant.within,
                    "kind": one.mutant.kind,
                    "before": one.mutant.before,
                    "after": one.mutant.after,
                    "verdict": one.verdict.value,
                    "by": one.by,
                    "tests": one.tests,
                }
                for one in tried
            ],
        },
        indent=2,
    )
