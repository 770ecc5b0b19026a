"""A drive as one self-contained HTML page to play, scrub and look into; nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from string import Template

from headway.report.html import escaped, page
from headway.report.replay import Encounter, Fact, Replay, ReplayRun
from headway.report.replay_check import check_replay
from headway.report.replay_pack import pack

SCRIPTS = (
    "replay_data.js",
    "replay_scene.js",
    "replay_map.js",
    "replay_marks.js",
    "replay_strips.js",
    "replay_player.js",
    "replay_tip.js",
    "replay_controls.js",
)
BEFORE_DETECTION = 500_000
"""µs: a jump to a car goes this far before its detection."""


def replay_page(replay: Replay) -> str:
    """The page; DataError when the parts of the replay do not fit together."""
    check_replay(replay)
    header, columns = pack(replay)
    body = Template(_asset("replay.html")).substitute(
        title=escaped(replay.title),
        facts=_facts(replay.facts),
        runs_hidden="" if len(replay.runs) > 1 else " hidden",
        runs="".join(_choice(run, number) for number, run in enumerate(replay.runs)),
        summaries="\n".join(_summary(run, number) for number, run in enumerate(replay.runs)),
        # no text of the user's may end the script element
        header=json.dumps(header, separators=(",", ":")).replace("<", "\\u003c"),
        columns=columns,
        script="\n".join(_asset(name) for name in SCRIPTS),
    )
    return page(replay.title, [body], _asset("replay.css"))


def _asset(name: str) -> str:
    return files("headway.report").joinpath("assets", name).read_text(encoding="utf-8")


def _choice(run: ReplayRun, number: int) -> str:
    checked = " checked" if number == 0 else ""
    choice = f'<input type="radio" name="run" value="{number}"{checked}>'
    return f"<label>{choice}{escaped(run.name)}</label>"


def _facts(facts: Sequence[Fact]) -> str:
    bad = ' class="broken"'
    return "".join(
        f"<div><dt>{escaped(fact.label)}</dt>"
        f"<dd{bad if fact.bad else ''}>{escaped(fact.value)}</dd></div>"
        for fact in facts
    )


def _summary(run: ReplayRun, number: int) -> str:
    parts = [f'<section data-run="{number}"><h2>{escaped(run.name)}</h2>']
    if run.facts:
        parts.append(f'<dl class="facts stacked">{_facts(run.facts)}</dl>')
    if run.encounters:
        rows = "\n".join(_encounter(one) for one in sorted(run.encounters, key=lambda e: e.impact))
        parts.append(
            "<h3>Cars on collision course</h3>\n<table><thead><tr>"
            '<th scope="col">Car</th><th scope="col" class="number">TTC when detected</th>'
            '<th scope="col">Outcome</th><td></td></tr></thead>\n'
            f"<tbody>{rows}</tbody></table>"
        )
    return "\n".join(parts) + "</section>"


def _encounter(one: Encounter) -> str:
    ttc = "never" if one.ttc is None else f"{one.ttc:.1f} s"
    outcome = '<td class="broken">crash</td>' if one.crash else '<td class="kept">in time</td>'
    jump = max(0, (one.impact if one.detected is None else one.detected) - BEFORE_DETECTION)
    return (
        f'<tr><td>{one.id}</td><td class="number">{ttc}</td>{outcome}<td>'
        f'<button type="button" class="jump" data-jump="{jump}" '
        f'aria-label="Show car {one.id}">show</button></td></tr>'
    )
