"""Pass 1: does the query hold together? Names, streams, ports, cycles, deadlines, costs and rates.

Types are checked by the pass ``infer``, once components are expanded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from headway.compiler.check_vehicle import vehicle_problems
from headway.compiler.compilation import Compilation
from headway.errors import Problem, QueryError, VehicleError
from headway.model.names import NAME_FORM, NAME_RULE, STREAM_RULE, TextRule
from headway.model.operators import Operator
from headway.model.quantities import Cost, format_duration
from headway.model.query import Component, ComponentUse, Query, Source, Step
from headway.model.schema import RESERVED_COLUMNS, Schema


def check(compilation: Compilation) -> Compilation:
    """Refuses a query or vehicle that does not hold together, with all its problems at once."""
    if problems := list(vehicle_problems(compilation.vehicle)):
        raise VehicleError(problems)
    if problems := list(query_problems(compilation.query, timed=compilation.timed)):
        raise QueryError(problems)
    return compilation


def query_problems(query: Query, *, timed: bool, expanded: bool = False) -> Iterator[Problem]:
    """Everything structurally wrong with a query; in an ``expanded`` one operators of components
    have the names of their uses in front."""
    components = {component.name: component for component in query.components}
    yield from _name_problems("components", [c.name for c in query.components])
    for component in query.components:
        for problem in _component_problems(component, components, timed=timed):
            yield problem.within(f"components.{component.name}")
    if recursion := list(_recursion_problems(components)):
        yield from recursion
    else:
        yield from _size_problems(query.steps, components)

    if not query.sources:
        yield Problem("the query has no source", at="sources", want="declare at least one")
    if not query.outputs:
        yield Problem("the query has no output", at="outputs", want="declare at least one")
    yield from _name_problems("sources", [source.name for source in query.sources])
    yield from _name_problems("outputs", [output.name for output in query.outputs])
    for source in query.sources:
        for problem in _source_problems(source, timed=timed):
            yield problem.within(f"sources.{source.name}")

    sources = [source.name for source in query.sources]
    taken = [output.stream for output in query.outputs]
    rule = STREAM_RULE if expanded else NAME_RULE
    yield from _step_problems(
        query.steps, sources, "sources", taken, components, timed=timed, rule=rule
    )
    streams = _streams(query.steps, sources, components)
    for output in query.outputs:
        at = f"outputs.{output.name}"
        if output.stream not in streams:
            yield _unknown("stream", output.stream, streams, f"{at}.from")
        if output.deadline is None:
            yield Problem("the output has no deadline", at=at, want="add 'deadline: 300 ms', say")
        elif output.deadline <= 0:
            yield Problem("a deadline must be longer than nothing", at=f"{at}.deadline")
        for stream in output.through:
            if stream not in streams:
                yield _unknown("stream", stream, streams, f"{at}.through")
        if not output.weight >= 0:
            yield Problem(
                "a weight must not be negative", at=f"{at}.weight", got=str(output.weight)
            )


def _source_problems(source: Source, *, timed: bool) -> Iterator[Problem]:
    yield from _schema_problems(source.schema)
    if timed and source.arrivals is None:
        yield Problem(
            "the source has no rate", want="add its worst case, such as 'rate: 10 per 1 s'"
        )
    if source.rate is not None and (
        source.rate.count < 1 or source.rate.period < 1 or source.rate.jitter < 0
    ):
        yield Problem("a rate must be a positive number of tuples per positive time", at="rate")
    if (offset := source.offset) is not None:
        period = 0 if source.rate is None else source.rate.period
        jitter = 0 if source.rate is None else source.rate.jitter
        for key, time in (("offset", offset), ("jitter", jitter)):
            if not 0 <= time < max(period, 1):
                yield Problem(
                    "tuples at an offset come once in a period of their rate",
                    at=key,
                    got=format_duration(time) if period else "no rate",
                    want=f"less than the {format_duration(period)} of the rate"
                    if period
                    else "add a 'rate', such as '1 per 20 ms'",
                )
    for field in ("delay", "lateness"):
        if getattr(source, field) < 0:
            yield Problem(f"{field} must not be negative", at=field)
    if source.gap is not None and source.gap <= 0:
        yield Problem("the longest gap must be longer than nothing", at="gap")
    if source.shedder and (source.shedder.at_most < 1 or source.shedder.per < 1):
        yield Problem("a load shedder must let something pass", at="shed.at_most")


def _component_problems(
    component: Component, components: dict[str, Component], *, timed: bool
) -> Iterator[Problem]:
    yield from _name_problems("inputs", [port.name for port in component.inputs])
    yield from _name_problems("outputs", [port for port, _ in component.outputs])
    if not component.outputs:
        yield Problem("the component has no output", at="outputs")
    for port in component.inputs:
        for problem in _schema_problems(port.schema):
            yield problem.within(f"inputs.{port.name}")
    inputs = [port.name for port in component.inputs]
    taken = [stream for _, stream in component.outputs]
    yield from _step_problems(component.steps, inputs, "inputs", taken, components, timed=timed)
    streams = _streams(component.steps, inputs, components)
    steps = {step.name for step in component.steps}
    for port_name, stream in component.outputs:
        if port_name in steps and stream != port_name:
            yield Problem(
                f"output {port_name!r} bears the name of another operator inside",
                at=f"outputs.{port_name}",
                got=f"stream {stream!r}",
                want="rename the output",
            )
        if stream not in streams:
            yield _unknown("stream", stream, streams, f"outputs.{port_name}")


def _step_problems(
    steps: Sequence[Step],
    inputs: Sequence[str],
    inputs_path: str,
    taken: Iterable[str],
    components: dict[str, Component],
    *,
    timed: bool,
    rule: TextRule = NAME_RULE,
) -> Iterator[Problem]:
    """Problems of the operators of a query or component, whose outside streams are ``inputs``."""
    yield from _name_problems("operators", [step.name for step in steps], clash=inputs, rule=rule)
    streams = _streams(steps, inputs, components)
    read = set(taken)
    for step in steps:
        at = f"operators.{step.name}"
        for port in step.inputs:
            read.add(port.stream)
            if port.stream not in streams:
                yield _unknown("stream", port.stream, streams, f"{at}.inputs.{port.port}")
        if isinstance(step, ComponentUse):
            yield from (p.within(at) for p in _use_problems(step, components))
        else:
            yield from (p.within(at) for p in _operator_problems(step, timed=timed))
    for name in inputs:
        if name not in read:
            yield Problem(
                "nothing reads this stream", at=f"{inputs_path}.{name}", want="use it or remove it"
            )
    for step in steps:
        for stream in _step_streams(step, components):
            if stream not in read:
                yield Problem(
                    f"nothing reads stream {stream!r}",
                    at=f"operators.{step.name}",
                    want="feed it to an operator or an output, or remove it",
                )
    yield from _cycle_problems(steps, components)


def _operator_problems(operator: Operator, *, timed: bool) -> Iterator[Problem]:
    several = len(operator.inputs) > 1
    if not operator.inputs:
        yield Problem("the operator reads no stream", at="inputs")
    ports = [port.port for port in operator.inputs]
    yield from _name_problems("inputs", ports)
    if operator.timeout is not None and not several:
        yield Problem(
            "a timeout needs an operator with several inputs",
            at="timeout",
            want="remove the timeout",
        )
    if operator.timeout is not None and operator.timeout < 0:
        yield Problem("a timeout must not be negative", at="timeout")
    if timed and operator.cost is None:
        yield Problem("the operator has no cost", want="add its computation time: 'cost: 100 us'")
    if operator.cost is not None and (
        min(operator.cost.base, operator.cost.per_item) < 0 or operator.cost.most_items < 1
    ):
        yield Problem("a cost must not be negative", at="cost")
    if operator.cost is not None:
        yield from _varying_problems(operator.cost)
    if not 0 <= operator.selectivity < float("inf"):
        yield Problem(
            "a selectivity must be 0 or more", at="selectivity", got=str(operator.selectivity)
        )
    most = operator.most_outputs
    if most is None and operator.has_bound and not operator.makes_pairs:
        most = 1
    if most is not None and most < operator.selectivity:
        yield Problem(
            "the most outputs of one input are below the mean",
            at="most_outputs",
            got=f"{most} with a selectivity of {operator.selectivity}",
            want="raise most_outputs or lower selectivity",
        )
    yield from operator.problems()


def _varying_problems(cost: Cost) -> Iterator[Problem]:
    if any(time < 0 for _, time in cost.kinds):
        yield Problem("a cost must not be negative", at="cost")
    if cost.kinds and cost != Cost(cost.base, kinds=cost.kinds):
        yield Problem("a cost by kinds of processors is one time for each", at="cost")
    if cost.best is None:
        if cost.mean is not None:
            yield Problem("a mean cost needs the best and the worst", at="cost", want="add 'best'")
    elif not 0 <= cost.best <= cost.base:
        yield Problem("the best case of a cost lies between nothing and its worst", at="cost")
    elif cost.mean is not None and not cost.best <= cost.mean <= cost.base:
        yield Problem("the mean of a cost lies outside best and worst", at="cost")


def _use_problems(use: ComponentUse, components: dict[str, Component]) -> Iterator[Problem]:
    component = components.get(use.component)
    if component is None:
        yield _unknown("component", use.component, components, "component")
        return
    wanted = {port.name for port in component.inputs}
    given = {port.port for port in use.inputs}
    for name in sorted(wanted - given):
        yield Problem(f"input {name!r} of component {component.name!r} is missing", at="inputs")
    for name in sorted(given - wanted):
        yield _unknown(f"input of component {component.name!r}:", name, wanted, f"inputs.{name}")


def _schema_problems(schema: Schema) -> Iterator[Problem]:
    yield from (p.within("schema") for p in _name_problems("", list(schema.names)))
    for name in schema.names:
        if name in RESERVED_COLUMNS:
            yield Problem(
                f"column {name!r} is part of every stream",
                at=f"schema.{name}",
                want="remove it from the schema",
            )


def _name_problems(
    path: str, names: Sequence[str], clash: Sequence[str] = (), rule: TextRule = NAME_RULE
) -> Iterator[Problem]:
    seen = set(clash)
    for name in names:
        at = f"{path}.{name}".lstrip(".")
        if not rule.accepts(name):
            yield Problem(f"{name!r} cannot be a name", at=at, want=f"use {NAME_FORM}")
        if name in seen:
            yield Problem(f"the name {name!r} is taken", at=at, want="choose another")
        seen.add(name)


def _step_streams(step: Step, components: dict[str, Component]) -> list[str]:
    if not isinstance(step, ComponentUse):
        return [step.name]
    component = components.get(step.component)
    return [f"{step.name}.{port}" for port, _ in component.outputs] if component else []


def _streams(
    steps: Iterable[Step], inputs: Iterable[str], components: dict[str, Component]
) -> dict[str, None]:
    """All stream names in sight, in order; a dict for look-ups that keep the order."""
    names = dict.fromkeys(inputs)
    for step in steps:
        names |= dict.fromkeys(_step_streams(step, components))
    return names


def _unknown(kind: str, name: str, known: Iterable[str], at: str) -> Problem:
    near = get_close_matches(name, list(known)[:1000], n=1)
    want = f"did you mean {near[0]!r}?" if near else ""
    return Problem(f"unknown {kind} {name!r}", at=at, want=want)


def _cycle_problems(steps: Sequence[Step], components: dict[str, Component]) -> Iterator[Problem]:
    """Names one cycle of operators, if there is one."""
    producer = {stream: step.name for step in steps for stream in _step_streams(step, components)}
    feeds = {
        step.name: [producer[p.stream] for p in step.inputs if p.stream in producer]
        for step in steps
    }
    if cycle := _find_cycle(feeds):
        yield Problem(
            "the streams form a cycle",
            at=f"operators.{cycle[0]}",
            got=" <- ".join([*cycle, cycle[0]]),
            want="a query is an acyclic graph: remove one of these inputs",
        )


def _uses(components: dict[str, Component]) -> dict[str, list[str]]:
    """The components that each uses, as often as it does."""
    return {
        name: [step.component for step in component.steps if isinstance(step, ComponentUse)]
        for name, component in components.items()
    }


def _recursion_problems(components: dict[str, Component]) -> Iterator[Problem]:
    if cycle := _find_cycle(_uses(components)):
        yield Problem(
            "a component contains itself",
            at=f"components.{cycle[0]}",
            got=" -> ".join([*cycle, cycle[0]]),
        )


MOST_OPERATORS = 20_000
MOST_LEVELS = 32
_COUNTED_TO = 10**18


def _size_problems(steps: Sequence[Step], components: dict[str, Component]) -> Iterator[Problem]:
    """Components that use others twice at each level double with each: what they would become is
    counted, not made. There is no cycle."""
    uses = _uses(components)
    counts: dict[str, int] = {}
    levels: dict[str, int] = {}
    for name in _inner_first(uses):
        own = len(components[name].steps) - len(uses[name])
        counts[name] = min(own + sum(counts.get(use, 0) for use in uses[name]), _COUNTED_TO)
        levels[name] = 1 + max((levels.get(use, 0) for use in uses[name]), default=0)
    total = 0
    for step in steps:
        component = step.component if isinstance(step, ComponentUse) else ""
        if levels.get(component, 0) > MOST_LEVELS:
            yield Problem(
                "components within components, too deeply",
                at=f"operators.{step.name}",
                got=f"{levels[component]:,} levels",
                want=f"at most {MOST_LEVELS}",
            )
            return
        total += counts.get(component, 0) if component else 1
        if total > MOST_OPERATORS:
            often = f"{total:,}" if total < _COUNTED_TO else f"at least {_COUNTED_TO:,}"
            yield Problem(
                f"with this the query would have {often} operators",
                at=f"operators.{step.name}",
                want=f"at most {MOST_OPERATORS:,}: use fewer components within components",
            )
            return


def _inner_first(uses: dict[str, list[str]]) -> list[str]:
    """Each component after those that it uses; without recursion, for deep chains."""
    order: dict[str, None] = {}
    for start in uses:
        waiting = [(start, iter(uses[start]))]
        while waiting:
            name, inner = waiting[-1]
            following = next((one for one in inner if one in uses and one not in order), None)
            if following is None:
                order[name] = None
                waiting.pop()
            else:
                waiting.append((following, iter(uses[following])))
    return list(order)


def _find_cycle(edges: dict[str, list[str]]) -> list[str]:
    """The vertices of one cycle, or nothing; without recursion, for deep graphs."""
    done: set[str] = set()
    for start in edges:
        if start in done:
            continue
        path: list[str] = [start]
        on_path = {start}
        iterators = [iter(edges[start])]
        while path:
            following = next(iterators[-1], None)
            if following is None:
                done.add(path[-1])
                on_path.discard(path.pop())
                iterators.pop()
            elif following in on_path:
                return path[path.index(following) :]
            elif following not in done and following in edges:
                path.append(following)
                on_path.add(following)
                iterators.append(iter(edges[following]))
    return []
