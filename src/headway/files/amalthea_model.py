"""What an Amalthea model says, as far as Headway has a counterpart: cores, tasks with stimuli,
runnables with their execution needs and labels, event chains and their limits.

The element names are those of APP4MC 0.7 (the WATERS challenge of 2017) to 2.x; where versions
differ both are read. What is used is taken; the rest stays untaken, to be told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation

from headway.errors import FileError
from headway.files.amalthea_tree import Element

_TIMES = {
    "ps": Decimal("0.001"),
    "ns": Decimal(1),
    "us": Decimal(10**3),
    "ms": Decimal(10**6),
    "s": Decimal(10**9),
}
_HERTZ = {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}


@dataclass(frozen=True)
class Core:
    """``kind`` is its definition; ``per_cycle`` the instructions of a cycle."""

    name: str
    kind: str
    hertz: Decimal
    per_cycle: Decimal = Decimal(1)


@dataclass(frozen=True)
class Need:
    """Cycles of one execution, at least and at most."""

    best: Decimal
    worst: Decimal


@dataclass
class RunnableModel:
    """``needs``: by the kind of the core; under ``""`` that of all others."""

    name: str
    needs: dict[str, Need] = field(default_factory=dict)
    reads: dict[str, None] = field(default_factory=dict)
    writes: dict[str, None] = field(default_factory=dict)


@dataclass(frozen=True)
class Stimulus:
    """When a task is activated (ns): every ``period``, or at least ``least`` and at most ``most``
    apart; ``by_task`` where another task does it."""

    name: str
    period: int | None = None
    offset: int = 0
    jitter: int = 0
    least: int | None = None
    most: int | None = None
    by_task: bool = False


@dataclass
class TaskModel:
    """``calls``: its runnables in order; ``triggers``: the stimuli it gives."""

    name: str
    line: int
    stimuli: tuple[str, ...]
    calls: tuple[str, ...]
    triggers: tuple[str, ...] = ()
    core: str = ""
    deadline: int | None = None


@dataclass(frozen=True)
class EventChainModel:
    """``events``: runnables, tasks or labels on the way, each with its kind of event."""

    name: str
    events: tuple[tuple[str, str], ...]
    age: int | None = None
    reaction: int | None = None


@dataclass
class AmaltheaModel:
    """A model; ``remarks`` say what was assumed or could not be read."""

    cores: dict[str, Core] = field(default_factory=dict)
    stimuli: dict[str, Stimulus] = field(default_factory=dict)
    runnables: dict[str, RunnableModel] = field(default_factory=dict)
    tasks: dict[str, TaskModel] = field(default_factory=dict)
    labels: int = 0
    chains: list[EventChainModel] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def model_of(root: Element, name: str) -> AmaltheaModel:
    """The model in a tree; FileError if it has no task or no core."""
    root.take()
    model = AmaltheaModel()
    for part in root.all("hwModel"):
        _hardware(part, model)
    for part in root.all("stimuliModel"):
        for one in part.all("stimuli"):
            _stimulus(one, model)
    for part in root.all("swModel"):
        _software(part, model)
    for part in root.all("mappingModel"):
        _mapping(part, model)
    events: dict[str, tuple[str, str]] = {}
    for part in root.all("eventModel"):
        for one in part.all("events"):
            if entity := one.reference("entity"):
                one.take_all()
                events[one.name] = (one.type, entity)
            else:
                one.taken = False
    for part in root.all("constraintsModel"):
        _constraints(part, events, model)
    if not model.tasks or not model.cores:
        what = "task" if not model.tasks else "core"
        raise FileError(f"the model has no {what}", at=name, want="import the whole model")
    return model


# ---------------------------------------------------------------- numbers


def _number(text: str | None) -> Decimal | None:
    try:
        found = Decimal(text or "")
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _time(element: Element | None) -> int | None:
    """Nanoseconds of ``value`` and ``unit``, rounded up."""
    if element is None:
        return None
    value = _number(element.attributes.get("value"))
    unit = _TIMES.get(element.attributes.get("unit", ""))
    return None if value is None or unit is None else -int(-value * unit // 1)


# ---------------------------------------------------------------- hardware


def _hardware(part: Element, model: AmaltheaModel) -> None:
    kinds: dict[str, Decimal] = {}
    hertz: dict[str, Decimal] = {}
    for one in part.inner():
        if one.tag == "coreTypes" or one.type == "ProcessingUnitDefinition":
            one.take()
            kinds[one.name] = _number(one.attributes.get("instructionsPerCycle")) or Decimal(1)
        elif one.tag == "quartzes" or one.type == "FrequencyDomain":
            given = one.take().first("frequency", "defaultValue")
            value = _number(given.attributes.get("value")) if given is not None else None
            unit = _HERTZ.get(given.attributes.get("unit", "")) if given is not None else None
            if value is not None and unit is not None:
                hertz[one.name] = value * unit
        elif one.tag in ("system", "ecus", "microcontrollers", "structures"):
            one.take()
    for one in part.inner():
        if one.tag != "cores" and one.type != "ProcessingUnit":
            continue
        one.take()
        ratio = Decimal(1)
        clock = one.reference("frequencyDomain")
        if (prescaler := one.first("prescaler")) is not None:
            ratio = _number(prescaler.attributes.get("clockRatio")) or Decimal(1)
            clock = prescaler.reference("quartz")
        kind = one.reference("definition", "coreType")
        if clock not in hertz:
            model.remarks.append(f"core {one.name} has no frequency: it is left out")
            one.taken = False
            continue
        speed, per_cycle = hertz[clock] * ratio, kinds.get(kind, Decimal(1))
        model.cores[one.name] = Core(one.name, kind or "core", speed, per_cycle)


# ---------------------------------------------------------------- stimuli


def _stimulus(one: Element, model: AmaltheaModel) -> None:
    period = _time(one.first("recurrence"))
    offset = _time(one.first("offset")) or 0
    jitter = 0
    least = most = None
    if (spread := one.first("jitter")) is not None:
        jitter = _bounds(spread)[1] or 0
    if (
        apart := one.first("stimulusDeviation", "occurrenceDeviation", "nextOccurrence")
    ) is not None:
        least, most = _bounds(apart)
    one.take_all()
    if one.type.startswith("InterProcess"):
        model.stimuli[one.name] = Stimulus(one.name, by_task=True)
    elif period:
        model.stimuli[one.name] = Stimulus(one.name, period, offset, jitter)
    elif least:
        model.stimuli[one.name] = Stimulus(one.name, least=least, most=most)
    else:
        one.taken = False
        model.remarks.append(
            f"stimulus {one.name} ({one.type}) has no period and no least distance"
        )


def _bounds(one: Element) -> tuple[int | None, int | None]:
    """The lower and upper bound of a deviation or distribution of times."""
    lower, upper = one.first("lowerBound"), one.first("upperBound")
    return _time(lower), _time(upper)


# ---------------------------------------------------------------- software


def _software(part: Element, model: AmaltheaModel) -> None:
    for label in part.all("labels"):
        label.take_all()
        model.labels += 1
    calls: dict[str, list[str]] = {}
    for one in part.all("runnables"):
        model.runnables[one.name] = _runnable(one, calls, model)
    _with_called(calls, model)
    for one in part.all("tasks", "isrs"):
        found, triggers = [], []
        for inner in one.inner():
            if (called := inner.reference("runnable")) and inner.type.endswith("RunnableCall"):
                inner.take()
                found.append(called)
            elif inner.type == "InterProcessTrigger" and inner.reference("stimulus"):
                triggers.append(inner.take().reference("stimulus"))
            elif inner.tag in ("callGraph", "activityGraph") or inner.type in _SEQUENCES:
                inner.take()
        stimuli = tuple(one.references("stimuli"))
        model.tasks[one.name] = TaskModel(
            one.name, one.line, stimuli, tuple(found), tuple(triggers)
        )


_SEQUENCES = ("CallSequence", "Group")


def _runnable(one: Element, calls: dict[str, list[str]], model: AmaltheaModel) -> RunnableModel:
    found = RunnableModel(one.name)
    for item in one.inner():
        if item.tag in ("callGraph", "activityGraph") or item.type in _SEQUENCES:
            item.take()
        elif item.type == "LabelAccess" and (label := item.reference("data")):
            item.take_all()
            access = item.attributes.get("access", "")
            if access in ("read", "readwrite"):
                found.reads[label] = None
            if access in ("write", "readwrite"):
                found.writes[label] = None
        elif item.type == "RunnableCall" and (called := item.reference("runnable")):
            item.take()
            calls.setdefault(one.name, []).append(called)
        elif item.type in ("Ticks", "RunnableInstructions", "ExecutionNeed"):
            given = dict(_needs(item.take(), model))
            if not given:
                item.taken = False
                model.remarks.append(f"an execution need of runnable {one.name} has no upper bound")
            found.needs = _added(found.needs, given)
    return found


def _added(one: Mapping[str, Need], other: Mapping[str, Need]) -> dict[str, Need]:
    """Both, kind by kind; what is given for all others counts where a kind is missing."""
    nothing = Need(Decimal(0), Decimal(0))
    found = {}
    for kind in dict.fromkeys((*one, *other)):
        mine, more = (needs.get(kind) or needs.get("") or nothing for needs in (one, other))
        found[kind] = Need(mine.best + more.best, mine.worst + more.worst)
    return found


def _needs(item: Element, model: AmaltheaModel) -> Iterator[tuple[str, Need]]:
    """(kind of core, or nothing for all others; cycles)"""
    for one in item.all("default", "extended", "needs"):
        need = _need(one)
        kind = one.reference("key") if one.tag == "extended" else ""
        if need is not None:
            one.take_all()
            yield kind, need


def _need(one: Element) -> Need | None:
    worst = _number(one.attributes.get("upperBound"))
    if worst is not None:
        return Need(_number(one.attributes.get("lowerBound")) or Decimal(0), worst)
    if (constant := _number(one.attributes.get("value"))) is not None:
        return Need(constant, constant)
    for inner in one.children:
        if inner.tag == "deviation":
            bounds = {c.tag: _number(c.attributes.get("value")) for c in inner.children}
            if (most := bounds.get("upperBound")) is not None:
                return Need(bounds.get("lowerBound") or Decimal(0), most)
        elif inner.tag in ("value", "default"):
            return _need(inner)
    return None


def _with_called(calls: Mapping[str, list[str]], model: AmaltheaModel) -> None:
    """A runnable that calls others takes their time and accesses their labels, too."""

    def whole(name: str, above: tuple[str, ...]) -> Iterator[RunnableModel]:
        for called in calls.get(name, ()):
            if called in above or called not in model.runnables:
                model.remarks.append(f"the call of {called} in runnable {name} is left out")
                continue
            yield model.runnables[called]
            yield from whole(called, (*above, called))

    added = {name: list(whole(name, (name,))) for name in calls}
    needs = {name: dict(one.needs) for name, one in model.runnables.items()}
    for name, others in added.items():
        mine = model.runnables[name]
        for other in others:
            mine.reads |= other.reads
            mine.writes |= other.writes
            mine.needs = _added(mine.needs, needs[other.name])


# ---------------------------------------------------------------- mapping


def _mapping(part: Element, model: AmaltheaModel) -> None:
    cores_of: dict[str, list[str]] = {}
    for one in part.all("schedulerAllocation", "coreAllocation"):
        cores = one.references("responsibility", "core", "executingPU", "executingCore")
        for scheduler in one.references("scheduler"):
            cores_of.setdefault(scheduler, []).extend(cores)
    for one in part.all("taskAllocation", "isrAllocation", "processAllocation"):
        name = one.reference("task", "isr", "process")
        task = model.tasks.get(name)
        cores = one.references("affinity")
        for scheduler in one.references("scheduler", "controller"):
            cores += cores_of.get(scheduler, [])
        known = [core for core in dict.fromkeys(cores) if core in model.cores]
        if task is None or not known:
            one.taken = False
            continue
        task.core = known[0]
        if len(known) > 1:
            model.remarks.append(f"task {name} may run on {', '.join(known)}: put on {known[0]}")


# ---------------------------------------------------------------- constraints


def _constraints(
    part: Element, events: Mapping[str, tuple[str, str]], model: AmaltheaModel
) -> None:
    limits: dict[str, dict[str, int]] = {}
    for one in part.all("timingConstraints", "requirements"):
        limit = _time(one.first("maximum"))
        if one.type == "EventChainLatencyConstraint" and limit is not None:
            kind = one.attributes.get("type", "Reaction").lower()
            limits.setdefault(one.reference("scope"), {})[kind] = limit
        elif one.type == "ProcessRequirement" and (task := one.reference("process")) in model.tasks:
            given = one.first("limit")
            upper = given is not None and given.attributes.get("limitType") == "UpperLimit"
            response = given is not None and given.attributes.get("metric") == "ResponseTime"
            value = _time(given.first("limitValue")) if given is not None else None
            if upper and response and value:
                model.tasks[task].deadline = value
            else:
                one.taken = False
        else:
            one.taken = False
    for one in part.all("eventChains"):
        way = [events[name] for name in _events_of(one) if name in events]
        age, reaction = (limits.get(one.name, {}).get(kind) for kind in ("age", "reaction"))
        model.chains.append(EventChainModel(one.name, tuple(way), age, reaction))


def _events_of(chain: Element) -> list[str]:
    """The events of a chain in order: its stimulus, those of its parts, its response."""
    found = chain.references("stimulus")
    for part in chain.all("segments", "items"):
        for inner in (
            *part.all("eventChain"),
            *([part] if part.attributes.get("stimulus") else []),
        ):
            found += _events_of(inner)
    return [*found, *chain.references("response")]
