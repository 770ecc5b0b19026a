"""The page of ``headway watch``, and its numbers as Prometheus reads them.

The page is one document without anything from elsewhere; it gets a state with each server-sent
event (``/events``) and draws it. Latencies are drawn against deadline and bound, and the plan's
picture bears what each operator takes in a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files

from headway.engine.live_state import LiveState
from headway.model.plan import Plan
from headway.report.html import escaped, page
from headway.report.plan.plan_picture import plan_svg


def _asset(name: str) -> str:
    return (files("headway.report") / "assets" / name).read_text(encoding="utf-8")


def watch_html(title: str, plan: Plan | None) -> str:
    """``plan`` where it is known; its texts are escaped, as on the page of a plan."""
    picture = "" if plan is None else f'<figure id="plan">{plan_svg(plan)}</figure>'
    body = [
        f"<h1>{escaped(title)}</h1>",
        '<p id="status" class="verdict" role="status">waiting for the run</p>',
        '<section><h2>Outputs</h2><div id="outputs" class="tiles"></div></section>',
        '<section id="nodes-part" hidden><h2>Nodes and buses</h2>'
        '<div id="nodes" class="tiles"></div></section>',
        f'<section id="plan-part"><h2>Plan</h2>{picture}</section>' if picture else "",
        '<section id="operators-part" hidden><h2>Operators</h2><div class="scroll">'
        '<table id="operators"></table></div></section>',
        '<section><h2>Events</h2><ol id="events" class="log"></ol></section>',
        f"<script>{_asset('watch.js')}</script>",
    ]
    return page(f"{title}: live", body, css=_asset("watch.css"))


# ---------------------------------------------------------------- /metrics


def prometheus(state: LiveState) -> str:
    """The text format 0.0.4 of Prometheus; times in seconds."""
    return "\n".join(_lines(state)) + "\n"


def _lines(state: LiveState) -> Iterator[str]:
    yield from _metric("headway_up", "gauge", "1 while the run goes on", [({}, int(state.running))])
    per_output = {
        "headway_output_tuples_total": ("counter", "tuples of an output", "tuples", 1.0),
        "headway_output_misses_total": ("counter", "tuples after their deadline", "missed", 1.0),
        "headway_output_deadline_seconds": ("gauge", "end-to-end deadline", "deadline", 1e-9),
        "headway_output_bound_seconds": ("gauge", "promised bound", "bound", 1e-9),
    }
    for name, (kind, text, key, scale) in per_output.items():
        values = [
            ({"output": one.output}, value * scale)
            for one in state.outputs
            if (value := getattr(one, key)) is not None
        ]
        yield from _metric(name, kind, text, values)
    quantiles = {"0.5": "latency_median", "0.99": "latency_99", "1": "latency_max"}
    yield from _metric(
        "headway_output_latency_seconds",
        "gauge",
        "latency of the last tuples, from sensing to output",
        [
            ({"output": one.output, "quantile": quantile}, value * 1e-9)
            for one in state.outputs
            for quantile, key in quantiles.items()
            if (value := getattr(one, key)) is not None
        ],
    )
    for key, text in {
        "taken": "tuples taken in",
        "given": "tuples given",
        "late": "late tuples",
        "shed": "tuples shed or refused",
        "failed": "tuples that failed",
    }.items():
        values = [
            ({"operator": one.operator, "node": one.node}, float(getattr(one, key)))
            for one in state.operators
        ]
        yield from _metric(f"headway_operator_{key}_total", "counter", text, values)
    yield from _metric(
        "headway_operator_waiting",
        "gauge",
        "jobs in the queue",
        [
            ({"operator": one.operator, "node": one.node}, float(one.waiting))
            for one in state.operators
        ],
    )
    yield from _metric(
        "headway_node_load_ratio",
        "gauge",
        "share of the node that the last tuples need at declared costs",
        [({"node": one.node}, one.load) for one in state.nodes if one.load is not None],
    )
    yield from _metric(
        "headway_medium_load_ratio",
        "gauge",
        "share of the bus or link",
        [({"medium": one.medium}, one.load) for one in state.media],
    )
    yield from _metric(
        "headway_node_up",
        "gauge",
        "1 while the node runs",
        [({"node": one.node}, float(one.state == "running")) for one in state.nodes],
    )
    for name, count in state.counts.items():
        metric = f"headway_{name.replace(' ', '_')}_total"
        yield from _metric(metric, "counter", name, [({}, float(count))])


def _metric(
    name: str, kind: str, text: str, values: list[tuple[dict[str, str], float]]
) -> Iterator[str]:
    if not values:
        return
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        inside = ",".join(f'{key}="{_quoted(label)}"' for key, label in labels.items())
        yield f"{name}{{{inside}}} {value:.10g}" if inside else f"{name} {value:.10g}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
