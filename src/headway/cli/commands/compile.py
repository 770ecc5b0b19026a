"""``headway compile``: a query and a vehicle to a plan, for people and for programs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli import terminal
from headway.errors import InputError
from headway.front_door.advice.advising import Advice, advise
from headway.front_door.compiling import LEAST_TRAFFIC, CompiledQuery, compile
from headway.model.plan import Plan
from headway.report.plan import plan_advice, plan_tables

if TYPE_CHECKING:
    from rich.console import RenderableType


def compile_(
    query: Annotated[Path, typer.Argument(metavar="QUERY.yaml", help="the query")],
    vehicle: Annotated[
        Path | None,
        typer.Option(
            metavar="VEHICLE.yaml",
            help="the vehicle to compile for; without it there is one node and no verdict",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="write plan.json, plan.html and plan.svg into this folder"
        ),
    ] = None,
    placement: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help=f"'{LEAST_TRAFFIC}', or a static schedule's: hvlb-cc, heft, … (headway schedule)",
        ),
    ] = LEAST_TRAFFIC,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="rop-edf-1 or rop-edf-2: also say what is left for soft tasks"
        ),
    ] = None,
    fix: Annotated[
        str | None,
        typer.Option(
            metavar="N",
            help="write the N-th change that would help into the files; N:MARK, as printed, only "
            "if they are still those it was shown for",
        ),
    ] = None,
    no_advice: Annotated[
        bool, typer.Option("--no-advice", help="do not look for changes that would help")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print the plan as JSON instead of tables")
    ] = False,
    no_python: terminal.NoPythonOption = False,
) -> None:
    """Compile a query for a vehicle: where each operator runs, by when, and what can be promised.

    \b
    Example:
      headway compile examples/hello/query.yaml --vehicle examples/hello/vehicle.yaml
      headway compile query.yaml --vehicle vehicle.yaml --fix 1

    For every output the plan holds a bound on the time from sensing to output that no run within
    the declared rates and costs exceeds. Where a bound is beyond its deadline, changes of the two
    files are looked for with which all deadlines hold: other pins, even rates, shorter times,
    other buses, faster nodes, fewer tuples, later deadlines. At most three are shown, the cheapest
    first, each tried by compiling it; --fix writes one, comments and order of the file kept.

    Exit code: 0 every deadline is promised (or there is no vehicle), 1 one cannot be, 2 bad input.
    """

    written: list[Path] = []
    advice: Advice | None = None
    with terminal.working(shown=not json) as tell:

        def compiled_now() -> CompiledQuery:
            return compile(
                query, vehicle, placement=placement, policy=policy, python=not no_python, tell=tell
            )

        compiled = compiled_now()
        if fix is not None and compiled.safe:
            raise InputError("there is nothing to fix: no deadline is known to be broken")
        if not compiled.safe and (fix is not None or not no_advice):
            advice = advise(compiled, tell)
            compiled = advice.compiled
        if fix is not None and advice is not None:
            number, mark = _number_of(fix)
            written = advice.write(number, mark)
            compiled, advice = compiled_now(), None
    plan, plan_json = compiled.plan, compiled.to_json()
    for problem in compiled.unused_pins():
        terminal.write_problem(f"note: {problem}")
    if out is not None:
        contents = {
            "plan.json": plan_json,
            "plan.html": compiled.to_html(),
            "plan.svg": compiled.to_svg(),
        }
        written += terminal.write_files(out, contents)
    if json:
        terminal.write(plan_json)
    else:
        terminal.show(
            [
                *_explained(plan, written),
                *(terminal.sentence(line) for line in compiled.reservations),
                *_advised(plan, advice, query, vehicle),
            ]
        )
    if not compiled.safe:
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _number_of(text: str) -> tuple[int, str]:
    """``2`` or ``2:1f3a9c``"""
    number, _, mark = text.partition(":")
    if not number.isascii() or not number.isdigit() or len(number) > 4:
        want = "write a number, or a number and a mark as they were printed, such as 1:0a1b2c"
        raise InputError("--fix names no change", got=repr(text), want=want)
    return int(number), mark


def _advised(
    plan: Plan, advice: Advice | None, query: Path, vehicle: Path | None
) -> Iterator[RenderableType]:
    """What is broken, and what would help, in lines that fit a narrow terminal."""
    for said in plan_advice.broken_promises(plan):
        yield terminal.paragraph(said)
    if advice is None:
        return
    if not advice.fixes:
        yield terminal.paragraph(
            "None of the changes that were tried keeps all promises: other pins, even rates, "
            "shorter times in operators, other buses, faster nodes, fewer tuples, later deadlines."
        )
        return
    yield terminal.paragraph("What would help; each was tried by compiling it:")
    for number, fix in enumerate(advice.fixes, start=1):
        title, bounds = plan_advice.fix_title(fix), plan_advice.bounds_text(fix)
        yield terminal.paragraph(f"{title} {bounds}", first=f"{number}. ")
        for line in plan_advice.changed_text(fix):
            yield f"   {line}"
    command = shlex.join(["headway", "compile", str(query), "--vehicle", str(vehicle)])
    way = advice.compiled.way
    if way != LEAST_TRAFFIC:
        command += f" --placement {way}"
    yield terminal.paragraph("This writes the first:")
    yield f"   {command} --fix 1:{advice.mark}"


def _explained(plan: Plan, written: list[Path]) -> Iterator[RenderableType]:
    """The whole plan in words; the verdict last, where the eye is when the command ends."""
    on = f" on {plan.vehicle.name}" if plan.verdict is not None else ""
    yield terminal.heading(f"{plan.query.name}{on}")
    tables = (
        plan_tables.placement(plan),
        plan_tables.tasks(plan),
        plan_tables.crossings(plan),
        plan_tables.loads(plan),
        *plan_tables.derivations(plan),
        *plan_tables.chain_derivations(plan),
        plan_tables.chains(plan),
        plan_tables.promises(plan),
    )
    for content in tables:
        if content.rows:
            yield terminal.table(content)
    yield terminal.sentence(plan_tables.summary(plan))
    for path in written:
        yield f"wrote {path}"
