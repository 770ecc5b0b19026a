"""What must hold in every run, whatever befell it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.model.quantities import MICROSECOND, milliseconds
from headway.simulation.degrading import degrading, late_without_cause
from headway.simulation.expected import ExpectedOutput, text_of, time_of
from headway.simulation.fault_plan import FaultKind
from headway.simulation.reasons import (
    Covered,
    clock_error,
    crossed_links,
    given_again,
    last_of,
    loss_reasons,
)
from headway.simulation.simulated_car import CarRun, CarSetting
from headway.simulation.violations import Violation, some


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """``missing``: reason -> tuples of outputs that it explains."""

    violations: tuple[Violation, ...]
    missing: dict[str, int] = field(default_factory=dict)
    tuples: int = 0


def judge(setting: CarSetting, expected: Mapping[str, ExpectedOutput], run: CarRun) -> Judgement:
    """Holds a run against all properties."""
    found = [*_ended(run)]
    missing: Counter[str] = Counter()
    if not run.stuck:
        found += _outputs(setting, expected, run, missing)
        found += _links(setting, run)
        found += _reports(run)
        found += _lines(setting, run)
        found += _promises(expected, run)
        found += late_without_cause(setting, expected, run)
        found += degrading(setting, expected, run)
    return Judgement(
        violations=tuple(found),
        missing=dict(sorted(missing.items())),
        tuples=sum(map(len, run.lines.values())),
    )


# -------------------------------------------------------------------- it comes to an end


def _ended(run: CarRun) -> Iterator[Violation]:
    if run.stuck:
        yield Violation("the run comes to an end", "all nodes", run.stuck)
    full = {f.nodes[0] for _, f in run.struck if f.kind is FaultKind.FULL_DISK}
    for one in run.processes:
        if one.code is None or one.code in (0, 3) or one.code == -9:
            continue
        if one.code == 2 and one.node in full:
            continue
        what = f"exit code {one.code}: {one.error}"
        yield Violation("no node fails of itself", one.node, what)


# -------------------------------------------------------------------- tuples of the outputs


def _outputs(
    setting: CarSetting,
    expected: Mapping[str, ExpectedOutput],
    run: CarRun,
    missing: Counter[str],
) -> Iterator[Violation]:
    reasons = loss_reasons(setting.plan, run)
    for name, meant in expected.items():
        if not meant.exact:
            continue
        found = Counter(text_of(tuple(line["row"].values())) for line in run.lines[name])
        covered = Covered(setting.plan, meant, reasons)
        lost = list((meant.rows - found).elements())
        unexplained = []
        for text in lost:
            why = covered.reason(time_of(text))
            if why is None:
                unexplained.append(text)
            else:
                missing[why] += 1
        if unexplained:
            what = f"{len(unexplained)} without a reason: {some(unexplained)}"
            yield Violation("every missing tuple has a reason", name, what)
        yield from _extra(name, meant, found, covered)


def _extra(
    name: str, meant: ExpectedOutput, found: Counter[str], covered: Covered
) -> Iterator[Violation]:
    more = found - meant.rows
    doubled = [text for text in more if text in meant.rows]
    if meant.key_places is not None:
        keys = Counter[str]()
        for text in found:
            keys[_key(text, meant)] += found[text]
        doubled += [key for key, count in keys.items() if count > 1 and key not in doubled]
    doubled = [text for text in doubled if not covered.by_a_death(time_of(text))]
    if doubled:
        what = f"{len(doubled)} more than once: {some(doubled)}"
        yield Violation("no tuple twice", name, what)
    new = [
        text
        for text in more
        if text not in meant.rows
        and not (meant.values_change and covered.reason(time_of(text)) is not None)
    ]
    if new:
        what = f"{len(new)} that no undisturbed run gives: {some(new)}"
        yield Violation("no tuple that should not be", name, what)


def _key(text: str, meant: ExpectedOutput) -> str:
    row = json.loads(text)
    assert meant.key_places is not None
    return text_of([row[place] for place in meant.key_places])


# -------------------------------------------------------------------- between nodes


def _links(setting: CarSetting, run: CarRun) -> Iterator[Violation]:
    lost: Counter[str] = Counter()
    for link in crossed_links(setting.plan, run):
        where = f"{link.stream} from {link.sender} to {link.receiver}"
        if link.doubled:
            what = f"{link.doubled.total()} tuples taken twice by one process"
            yield Violation("no tuple twice", where, what)
        if link.lost_by_the_living:
            lost[link.sender] += link.lost_by_the_living
    for sender, count in lost.items():
        report = last_of(run, sender).report or {}
        again = given_again(setting.plan, run, sender)
        named = report["overflowed"] + report["undelivered"] + again
        if count > named:
            what = f"{count} tuples did not arrive, {named} are named"
            yield Violation("every missing tuple has a reason", f"sent by {sender}", what)


# -------------------------------------------------------------------- counts


def _reports(run: CarRun) -> Iterator[Violation]:
    rule = "counts add up"
    for one in run.processes:
        report = one.report
        if report is None:
            continue
        if not one.taken_up:  # the others tell of all processes of their node, which saw parts
            dropped = Counter(drop.kind.value for drop in one.drops)
            if report["dropped"] != dict(dropped):
                what = f"report {report['dropped']}, seen {dict(dropped)}"
                yield Violation(rule, f"{one.node}: dropped", what)
            for key, seen in (("sent", len(one.sent)), ("received", len(one.received))):
                if report[key] != seen:
                    what = f"report {report[key]}, seen {seen}"
                    yield Violation(rule, f"{one.node}: {key}", what)
        lives = [other for other in run.processes if other.node == one.node]
        if all(other.taken_up for other in lives[1:]):
            yield from _whole(run, one.node, report)


def _whole(run: CarRun, node: str, report: Mapping[str, Any]) -> Iterator[Violation]:
    """Of a node that never forgot what it had been."""
    rule = "counts add up"
    outputs = report["outputs"]
    for name, counts in outputs.items():
        written = len(run.lines[name])
        if counts["tuples"] != written:
            what = f"report {counts['tuples']}, in the file {written}"
            yield Violation(rule, f"{node}: output {name}", what)
        missed = sum(line["missed"] for line in run.lines[name])
        if counts["missed"] != missed:
            what = f"report {counts['missed']}, in the file {missed}"
            yield Violation(rule, f"{node}: missed of {name}", what)
    if report["arrived"] + report["missed_while_down"] != run.recorded[node]:
        missed = f"{report['missed_while_down']} missed while down"
        what = f"report {report['arrived']} and {missed}, recorded {run.recorded[node]}"
        yield Violation(rule, f"{node}: arrived", what)


def _lines(setting: CarSetting, run: CarRun) -> Iterator[Violation]:
    """Of an output of a node that came to its end, however often it was killed before."""
    for output in setting.plan.query.outputs:
        node = dict(setting.plan.placement)[output.stream]
        if run.torn[output.name] and last_of(run, node).code in (0, 3):
            what = f"{run.torn[output.name]} lines are no JSON"
            yield Violation("every line of an output is whole", output.name, what)


# -------------------------------------------------------------------- promises


def _promises(expected: Mapping[str, ExpectedOutput], run: CarRun) -> Iterator[Violation]:
    """Outputs that no fault touches, nor any node that feeds one of theirs, are in time."""
    touched = {node for _, fault in run.struck for node in fault.nodes}
    isolated = any(fault.kind is FaultKind.ISOLATION for _, fault in run.struck)
    error = clock_error(run)
    for name, meant in expected.items():
        if not meant.promised or (run.faults.rough and (len(meant.nodes) > 1 or meant.feeding)):
            continue
        if touched & (meant.nodes | meant.feeding) or (isolated and len(meant.nodes) > 1):
            continue
        for line in run.lines[name]:
            over = line["completed"] - line["deadline"]
            if over > error:
                at = line["completed"] - next(iter(line["row"].values())) * MICROSECOND
                what = f"a tuple took {milliseconds(at)} ms, {milliseconds(over)} ms too long"
                yield Violation("what is promised is kept", name, what)
                break
