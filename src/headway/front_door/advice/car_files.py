"""The two files that a plan was compiled from, and what they would be with a few values changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from headway.compiler.check_query import check
from headway.compiler.compilation import Compilation
from headway.compiler.deadlines import deadlines
from headway.compiler.front_end import FRONT_END
from headway.compiler.latency.verdict import judge, judged_within
from headway.compiler.node_queries import split
from headway.compiler.placement.placement_problem import lay_out, problem_of
from headway.compiler.placement.promised_placement import Targets
from headway.compiler.trains import trains
from headway.compiler.utilisation import rates
from headway.errors import InputError
from headway.files import LoadedQuery, LoadedVehicle, parse_query, parse_vehicle
from headway.files.write_yaml import query_to_yaml, vehicle_to_yaml
from headway.files.yaml_edits import YamlEdit, can_edit, changed_lines, edited
from headway.model.plan import Asked, ChangedLine, Requirement
from headway.model.query import Query
from headway.model.vehicle import Vehicle

Placement = dict[str, str]


@dataclass(frozen=True)
class CarFiles:
    """A query and a vehicle with their YAML; of values made in Python, YAML that gives them."""

    query: LoadedQuery
    vehicle: LoadedVehicle
    _typed: list[Compilation] = field(default_factory=list, repr=False, compare=False)
    """the query after the front end, once that has run; files with the same query share it"""

    @classmethod
    def of(
        cls,
        query: Query,
        vehicle: Vehicle,
        loaded_query: LoadedQuery | None,
        loaded_vehicle: LoadedVehicle | None,
    ) -> CarFiles:
        return cls(
            loaded_query or parse_query(query_to_yaml(query), "query.yaml"),
            loaded_vehicle or parse_vehicle(vehicle_to_yaml(vehicle), "vehicle.yaml"),
        )

    @property
    def texts(self) -> dict[str, str]:
        """file -> what stands in it"""
        documents = (self.query.places.document, self.vehicle.places.document)
        return {document.file: document.text for document in documents}

    def can_edit(self, at: str, *, vehicle: bool = False) -> bool:
        """Whether what stands there stands in one of the two files, and not in a library."""
        return can_edit((self.vehicle if vehicle else self.query).places, at)

    def changed(
        self, query: Iterable[YamlEdit] = (), vehicle: Iterable[YamlEdit] = ()
    ) -> CarFiles | None:
        """The files with these values, read again; None where that gives no query or vehicle."""
        try:
            new_query, new_vehicle = self.query, self.vehicle
            if edits := tuple(query):
                text = edited(self.query.places, edits)
                new_query = parse_query(text, self.query.places.document.file)
            if edits := tuple(vehicle):
                text = edited(self.vehicle.places, edits)
                new_vehicle = parse_vehicle(text, self.vehicle.places.document.file)
        except (InputError, LookupError):
            return None
        typed = self._typed if new_query is self.query else []
        return CarFiles(new_query, new_vehicle, typed)

    def lines_since(self, before: CarFiles) -> Iterator[ChangedLine]:
        """What is written otherwise than before."""
        for (file, old), new in zip(before.texts.items(), self.texts.values(), strict=True):
            for number, line in changed_lines(old, new):
                yield ChangedLine(file=file, line=number, text=line)

    # ------------------------------------------------------------ judged where operators are

    def placed(self, placement: Placement) -> Compilation | None:
        """Compiled up to the verdict, with every operator on the node named; None where that is no
        placement. Much quicker than to place them anew."""
        try:
            compilation = rates(self._front_end())
            problem = problem_of(compilation)
            layout = lay_out(problem, placement)
            if layout is None:
                return None
            compilation = replace(compilation, placement=layout.placement, routes=layout.routes)
            for run_pass in (split, trains, deadlines):
                compilation = run_pass(compilation)
        except InputError:
            return None
        return compilation

    def _front_end(self) -> Compilation:
        vehicle = self.vehicle.vehicle
        if self._typed:
            check(Compilation(query=self.query.query, vehicle=vehicle, timed=True))
            return replace(self._typed[0], vehicle=vehicle)
        compilation = Compilation(query=self.query.query, vehicle=vehicle, timed=True)
        for run_pass in FRONT_END:
            compilation = run_pass(compilation)
        self._typed.append(compilation)
        return compilation

    def holds(self, placement: Placement, wanted: Targets) -> bool:
        """Whether what is wanted can be promised there."""
        compilation = self.placed(placement)
        if compilation is None:
            return False
        due = {
            output.name: output.deadline or 0
            for output in compilation.query.outputs
            if (output.name, Asked.DEADLINE) in wanted
        }
        judged = judged_within(compilation, due)
        if judged is None or judged.verdict is None:
            return False
        return all(one.kept for one in judged.verdict.requirements if one.key in wanted)

    def requirements(self, placement: Placement) -> tuple[Requirement, ...]:
        """What is asked, and what can be promised of it there; nothing where that is no
        placement."""
        compilation = self.placed(placement)
        verdict = judge(compilation).verdict if compilation is not None else None
        return verdict.requirements if verdict is not None else ()
