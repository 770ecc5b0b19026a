"""Query and vehicle files to values of the model, with a map of where everything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from headway.errors import FileError, InputError, PlacementError, Problem, QueryError, VehicleError
from headway.files.forms import Schemas, expression_model
from headway.files.operator_forms import StepForm
from headway.files.query_form import ComponentForm, Libraries, OutputForm, QueryForm, SourceForm
from headway.files.source_map import SourceMap, problem_of, validate
from headway.files.step_forms import StepChoice
from headway.files.vehicle_form import VehicleForm
from headway.model.quantities import Rate
from headway.model.query import (
    Component,
    ComponentUse,
    Criticality,
    Decide,
    LoadShedder,
    Output,
    Port,
    Query,
    Source,
    Step,
)
from headway.model.vehicle import Vehicle
from headway.yaml_tree import parse_yaml, read_text


@dataclass(frozen=True)
class LoadedQuery:
    """A query and where its parts are written."""

    query: Query
    places: SourceMap


@dataclass(frozen=True)
class LoadedVehicle:
    """A vehicle and where its parts are written."""

    vehicle: Vehicle
    places: SourceMap


def load_vehicle(path: Path | str) -> LoadedVehicle:
    """The vehicle in a YAML file; FileError with places when it is not of the form."""
    return parse_vehicle(read_text(Path(path)), str(path))


def parse_vehicle(text: str, name: str = "vehicle.yaml") -> LoadedVehicle:
    """The vehicle in YAML text; ``name`` stands for the file in messages."""
    document = parse_yaml(text, name)
    return LoadedVehicle(validate(document, VehicleForm).to_model(), SourceMap(document))


def load_query(path: Path | str) -> LoadedQuery:
    """The query in a YAML file and the libraries it uses; FileError with places."""
    return parse_query(read_text(Path(path)), str(path))


def parse_query(text: str, name: str = "query.yaml") -> LoadedQuery:
    """The query in YAML text; libraries are found relative to the folder of ``name``."""
    document = parse_yaml(text, name)
    form = validate(document, QueryForm)
    loader = Libraries()
    loader.read_all(document, form.use)
    loader.declare(document, form)
    schemas = loader.schemas
    own = {
        component: loader.components[component]
        for component in loader.components
        if component in form.components
    }
    sources = tuple(_source(name, item, schemas) for name, item in form.sources.items())
    steps = _steps(form.operators, schemas, "operators")
    components = {name: _component(name, item, schemas) for name, item in loader.components.items()}
    used = _reached(steps, components) | own.keys()
    query = Query(
        name=form.query,
        sources=sources,
        steps=steps,
        outputs=tuple(_output(name, item) for name, item in form.outputs.items()),
        components=tuple(item for name, item in components.items() if name in used),
    )
    places = SourceMap(document, loader.origins)
    if schemas.problems:
        raise FileError(places.attach_all(schemas.problems))
    return LoadedQuery(query, places)


def read_step(name: str, entry: Mapping[str, object], at: str) -> Step:
    """The operator that such an entry under ``operators`` would give; QueryError with the path
    ``at`` in front when it is not of the form."""
    schemas = Schemas()
    try:
        step = _entry_reader().validate_python(dict(entry)).to_model(name, schemas, at)
    except ValidationError as error:
        found = [problem_of(item) for item in error.errors(include_url=False)]
        raise QueryError(problem.within(at) for problem in found) from None
    if schemas.problems:
        raise QueryError(schemas.problems)
    return step


@cache
def _entry_reader() -> TypeAdapter[StepForm]:
    return TypeAdapter(StepChoice)


def _reached(steps: Iterable[Step], components: dict[str, Component]) -> set[str]:
    """The components that these steps use, directly or inside others."""
    reached: set[str] = set()
    waiting = list(steps)
    while waiting:
        step = waiting.pop()
        if isinstance(step, ComponentUse) and step.component not in reached:
            reached.add(step.component)
            if step.component in components:
                waiting += components[step.component].steps
    return reached


def _source(name: str, form: SourceForm, schemas: Schemas) -> Source:
    rate = form.rate
    shed = form.shed
    return Source(
        name=name,
        schema=schemas.resolve(form.schema_, f"sources.{name}.schema"),
        rate=Rate(rate.count, rate.period, form.jitter) if rate else None,
        offset=form.offset,
        gap=form.gap,
        delay=form.delay,
        lateness=form.lateness,
        shedder=LoadShedder(
            at_most=shed.at_most.count,
            per=shed.at_most.period,
            value=expression_model(shed.value),
            decide=Decide(shed.decide),
        )
        if shed
        else None,
    )


def _steps(forms: dict[str, StepForm], schemas: Schemas, at: str) -> tuple[Step, ...]:
    return tuple(form.to_model(name, schemas, f"{at}.{name}") for name, form in forms.items())


def _component(name: str, form: ComponentForm, schemas: Schemas) -> Component:
    at = f"components.{name}"
    return Component(
        name=name,
        inputs=tuple(
            Port(name=port, schema=schemas.resolve(choice, f"{at}.inputs.{port}"))
            for port, choice in form.inputs.items()
        ),
        steps=_steps(form.operators, schemas, f"{at}.operators"),
        outputs=tuple(form.outputs.items()),
    )


def _output(name: str, form: OutputForm) -> Output:
    return Output(
        name=name,
        stream=form.stream,
        deadline=form.deadline,
        criticality=Criticality(form.criticality),
        weight=form.weight,
        age=form.age,
        reaction=form.reaction,
        through=tuple(form.through),
    )


# ---------------------------------------------------------------- problems and their places

VEHICLE_PARTS = frozenset({"nodes", "buses", "gateways", "links", "sensors", "pins"})
"""What stands at the top of a vehicle file; nothing in a query file bears these names."""


@contextmanager
def placed(query: LoadedQuery | None, vehicle: LoadedVehicle | None = None) -> Iterator[None]:
    """Problems raised inside get their place in the query, its libraries or the vehicle, as far as
    these were read from files."""
    try:
        yield
    except InputError as error:
        of_vehicle = isinstance(error, VehicleError | PlacementError)

        def place(problem: Problem) -> Problem:
            part = problem.at.partition(".")[0]
            in_vehicle = part in VEHICLE_PARTS or (of_vehicle and not part)
            loaded = vehicle if vehicle is not None and in_vehicle else query
            return problem if loaded is None else loaded.places.attach_all([problem])[0]

        raise type(error)(place(problem) for problem in error.problems) from None
