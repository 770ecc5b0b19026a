"""``headway live``: a query in the car's own networks, fed by messages, answering by messages."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headway.cli import terminal
from headway.cli.named_plan import runnable_plan
from headway.engine.live_run import LiveRun
from headway.engine.output_sinks import sink_named
from headway.engine.run_folder import RunFolder
from headway.engine.waiting_room import WhenFull
from headway.errors import InputError, Problem
from headway.gateway.gateway_base import GATEWAYS
from headway.gateway.live_query import Links, LiveOutcome, LiveQuery
from headway.gateway.payloads import proto_text
from headway.model.plan import Plan
from headway.model.quantities import DURATION_FORM, SECOND, duration_option, milliseconds
from headway.report.plan.plan_tables import BROKEN, KEPT, NONE, Table

if TYPE_CHECKING:
    from rich.console import RenderableType


def live(
    query: terminal.QueryArgument,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="SOURCE=ADDRESS", help="where the messages of a source come from"),
    ] = None,
    sink: Annotated[
        list[str] | None,
        typer.Option(metavar="OUTPUT=ADDRESS", help="where the tuples of an output go, too"),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="where outputs, what left its way and the summary go"),
    ] = None,
    vehicle: terminal.VehicleOption = None,
    policy: Annotated[str, typer.Option(metavar="NAME", help="see `headway policies`")] = "s-edf",
    stop_after: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"stop then, such as {DURATION_FORM}")
    ] = None,
    most_waiting: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="jobs that may wait until some are dropped"),
    ] = None,
    when_full: Annotated[
        WhenFull, typer.Option(help="which are dropped then: the least worth, oldest, or the new")
    ] = WhenFull.SHED,
    format: Annotated[
        str, typer.Option(metavar="NAME", help="of the outputs' files: parquet, csv, jsonl")
    ] = "parquet",
    proto: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="print the .proto file of a source or output, and end"),
    ] = None,
    force: terminal.ForceOption = False,
    json: terminal.JsonOption = False,
    no_python: terminal.NoPythonOption = False,
) -> None:
    """Run a query on live messages: MQTT, Zenoh, Kafka or a CAN bus, in and out.

    \b
    Example:
      headway live query.yaml --vehicle vehicle.yaml \\
          --source speed=mqtt://localhost/car/speed \\
          --source 'gps=zenoh://localhost/car/gps?payload=cbor' \\
          --sink warning=mqtt://localhost/car/warning --output results

    \b
    Addresses are SCHEME://HOST[:PORT]/PLACE[?OPTION=VALUE&…]:
      mqtt:// mqtts://    HOST is the broker, PLACE the topic; qos, once, client, keep_alive
      zenoh://            HOST is a router or peer, PLACE the key; mode, keep
      kafka://            HOST is a broker, PLACE the topic; begin, client, tls
      can://              HOST is python-can's interface, PLACE the channel; file=NAME.can

    \b
    A message is a tuple: an object with the columns by name and the sensing time `timestamp`
    (microseconds since the epoch, or ISO 8601), as
      payload=json (default), payload=cbor, or payload=protobuf (--proto NAME prints its file).
    stamp=arrival stamps messages that have no sensing time. columns=v:Vehicle.Speed says what
    messages call a column; with vss=PATH a VSS catalogue checks its type and unit.

    What is no tuple is counted by reason, and the first thousand are kept in _quarantine. Over a
    lost connection sources and outputs go on when it is back. `headway watch DIR` shows the run.
    Ctrl-C takes no more messages and finishes what is inside; a second one ends at once.

    Exit code: 0 fine, 1 a hard deadline was missed or an output broke, 2 bad input.
    """
    prepared = runnable_plan(query, vehicle, zero_cost=False, python=not no_python)
    if proto is not None:
        terminal.write(_proto(prepared.plan, proto))
        return
    if output is None:
        raise InputError("no folder for the results", at="--output", want="name one")
    links = Links.of(prepared.plan, _pairs("--source", source), _pairs("--sink", sink))
    limit = None if stop_after is None else duration_option("--stop-after", stop_after) / SECOND
    with prepared.placing(), RunFolder(output, force=force) as folder:
        with LiveRun(prepared.plan, folder.folder) as watched:
            run = LiveQuery(
                plan=prepared.plan,
                links=links,
                folder=folder,
                policy=policy,
                most_waiting=most_waiting,
                when_full=when_full,
                sink=sink_named(format),
                watch=watched,
                on_event=lambda where, what: terminal.write_problem(f"{where}: {what}"),
            )
            with _stopping(run):
                outcome = run.run(limit)
        data = _summary(prepared.plan, policy, outcome)
        text = folder.write_summary(data)
    if json:
        terminal.write(text)
    else:
        terminal.show(_explained(prepared.plan, outcome, output))
    if outcome.hard_misses(prepared.plan) or any(o.error for o in outcome.outputs.values()):
        raise typer.Exit(int(terminal.ExitCode.NOT_PROMISED))


def _pairs(option: str, given: Iterable[str] | None) -> dict[str, str]:
    """InputError for what is not NAME=ADDRESS, and for a name twice."""
    found: dict[str, str] = {}
    problems = []
    for text in given or ():
        name, equals, address = text.partition("=")
        if not equals or not name or not address:
            want = f"write NAME=ADDRESS; schemes: {', '.join(GATEWAYS)}"
            problems.append(Problem("no name and address", at=option, got=text, want=want))
        elif name in found:
            problems.append(Problem(f"{name} has two addresses", at=option, got=text))
        else:
            found[name] = address
    if problems:
        raise InputError(problems)
    return found


def _proto(plan: Plan, name: str) -> str:
    schemas = dict(plan.schemas)
    known = {source.name: source.schema for source in plan.query.sources}
    known |= {one.name: schemas[one.stream] for one in plan.query.outputs}
    if name not in known:
        want = f"one of {', '.join(known)}"
        raise InputError("no such source or output", at="--proto", got=name, want=want)
    return proto_text(known[name].columns)


@contextmanager
def _stopping(run: LiveQuery) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM lets the run finish what is inside, the second ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    caught: list[int] = []

    def take(number: int, frame: object) -> None:
        caught.append(number)
        if len(caught) == 1:
            run.stop()
        else:
            run.interrupt()

    for one in before:
        signal.signal(one, take)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


# ---------------------------------------------------------------- how it went


def _summary(plan: Plan, policy: str, outcome: LiveOutcome) -> dict[str, Any]:
    return {
        "query": plan.query.name,
        "vehicle": plan.vehicle.name,
        "engine": "vehicle",
        "clock": "wall",
        "policy": policy,
        **outcome.data(),
    }


def _explained(plan: Plan, outcome: LiveOutcome, output: Path) -> Iterator[RenderableType]:
    yield terminal.heading(f"{plan.query.name} on {plan.vehicle.name}, live")
    rows = [
        [
            name,
            f"{one.taken:,}",
            f"{sum(one.refused.values()):,}" if one.refused else NONE,
            f"{one.again:,}" if one.again else NONE,
        ]
        for name, one in outcome.sources.items()
    ]
    headers = ["Source", "Tuples", "Quarantined", "Came again"]
    yield terminal.table(Table(title="Messages in", headers=headers, rows=rows, numeric=(1, 2, 3)))
    rows = [
        [
            name,
            f"{one.tuples:,}",
            f"{one.missed:,}",
            milliseconds(one.latency_max) if one.tuples else NONE,
            *(
                [f"{one.spoken.given:,}", f"{one.spoken.acknowledged:,}", f"{one.spoken.refused:,}"]
                if one.spoken is not None
                else [NONE, NONE, NONE]
            ),
        ]
        for name, one in outcome.outputs.items()
    ]
    headers = ["Output", "Tuples", "Missed", "Max (ms)", "Sent", "Acknowledged", "Refused"]
    yield terminal.table(
        Table(title="Messages out", headers=headers, rows=rows, numeric=tuple(range(1, 7)))
    )
    for name, one in outcome.sources.items():
        for reason, count in sorted(one.refused.items()):
            yield terminal.sentence(f"{name}: {count:,} messages were no tuples: {reason}.")
    for kind, at in outcome.dropped.items():
        told = ", ".join(f"{count:,} at {where}" for where, count in at.items())
        yield terminal.sentence(f"Tuples {kind}: {told}.")
    for name, counts in outcome.outputs.items():
        if counts.error:
            yield terminal.sentence(f"{BROKEN} output {name} broke: {counts.error}")
        if counts.spoken is not None and counts.spoken.refused:
            yield terminal.sentence(
                f"{BROKEN} {counts.spoken.refused:,} messages of {name} were refused, the last one "
                f"because: {counts.spoken.why}"
            )
        if counts.unspoken:
            yield terminal.sentence(
                f"{BROKEN} {counts.unspoken:,} tuples of {name} came faster than they could be sent"
            )
    if missed := outcome.hard_misses(plan):
        yield terminal.sentence(
            f"{BROKEN} Deadlines of hard outputs were missed: {', '.join(missed)}."
        )
    elif outcome.interrupted:
        yield terminal.sentence("The run was ended at once: what was inside is lost.")
    else:
        yield terminal.sentence(f"{KEPT} No hard deadline was missed.")
    yield f"wrote {output}"
